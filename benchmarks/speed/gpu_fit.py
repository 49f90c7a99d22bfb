"""A whole fit of rows that are a float32 tensor on an accelerator: seconds after loading, passes, peak memory.

python -m benchmarks.speed.gpu_fit [--rows 100000000] [--device cuda] [--repeats 2] [--save]

Rows x 20 columns are drawn on the device in pieces, with a target of three units and noise, and with labels drawn by
the same units. The clock runs from the tensors to the verdict: their check, the search and every pass. The first of
the repeats includes what libraries load with their first use; the best of them counts.
"""

from __future__ import annotations

import argparse
import time
import warnings

import numpy as np
import torch

import gradsift as gs
from benchmarks.record import save

D, K = 20, 3
PIECE = 2**22  # rows drawn at once
NOISE = 0.3


def teacher(labels: bool, seed: int) -> gs.SigmoidCombination:
    """Three units; for labels with weights that add up to one."""
    model = gs.simulate.random_combination(D, K, slope=3.0, rng=np.random.default_rng([seed, 1]))
    weights = np.abs(model.weights) / np.abs(model.weights).sum() if labels else model.weights
    return gs.SigmoidCombination(model.units, weights, slopes=model.slopes)


def rows(n: int, labels: bool, seed: int, device: str) -> tuple[torch.Tensor, torch.Tensor]:
    """Return X (n, 20) and y (n,) in float32; teacher and rows have separate streams."""
    model, stream = teacher(labels, seed), torch.Generator(device).manual_seed(seed + 2 + labels)
    A, u = (torch.tensor(part, device=device) for part in (model.units * model.slopes[:, None], model.weights))
    X, y = torch.empty((n, D), device=device), torch.empty(n, device=device)
    for start in range(0, n, PIECE):
        x = X[start : start + PIECE]
        x.normal_(generator=stream)
        value = torch.tanh(x.double() @ A.T) @ u
        draw = torch.empty(len(x), device=device)
        if labels:
            y[start : start + PIECE] = torch.where(2 * draw.uniform_(generator=stream) - 1 < value, 1.0, -1.0)
        else:
            y[start : start + PIECE] = value + NOISE * draw.normal_(generator=stream)
    return X, y


def waited(device: str) -> float:
    """Return the time once the device is idle."""
    if device.startswith("cuda"):
        torch.cuda.synchronize()
    return time.perf_counter()


def measure(n: int, labels: bool, seed: int, device: str, repeats: int) -> dict:
    """Fit the same rows `repeats` times."""
    X, y = rows(n, labels, seed, device)
    taken, card = [], device.startswith("cuda")
    if card:
        torch.cuda.reset_peak_memory_stats()
    options = {"labels": True} if labels else {}
    for _ in range(repeats):
        start = waited(device)
        source = gs.sources.tensors(X, y)
        found = gs.recover(source, K, random_state=seed, **options)
        taken.append(waited(device) - start)
    return {
        "rows": n,
        "columns": D,
        "labels": labels,
        "device": torch.cuda.get_device_name() if card else f"torch {device}",
        "seconds": taken,
        "passes": source.n_passes,
        "direction_error": gs.match_units(found.model.units, teacher(labels, seed).units).max_error,
        "certified": found.certified,
        "verdict": found.verdict,
        "gigabytes_of_rows": (X.nbytes + y.nbytes) / 1e9,
        "peak_gigabytes_of_device": torch.cuda.max_memory_allocated() / 1e9 if card else None,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=100_000_000)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--seed", type=int, default=2026)
    parser.add_argument("--save", action="store_true", help="write results/gpu_fit.json")
    options = parser.parse_args()
    warnings.simplefilter("ignore", gs.errors.UncertifiedWarning)  # the verdict is in the row
    found = []
    for labels in (False, True):
        row = measure(options.rows, labels, options.seed, options.device, options.repeats)
        taken, kind = row["seconds"], "labels" if labels else "values"
        print(
            f"{row['rows']} rows x {D} on {row['device']}, {kind}: {min(taken):.2f} s after loading (asked 10; all: "
            f"{', '.join(f'{seconds:.2f}' for seconds in taken)}), {row['passes']:g} passes, "
            f"direction error {row['direction_error']:.1e}, {'certified' if row['certified'] else 'not certified'}",
            flush=True,
        )
        found.append(row)
        if options.save:
            save("gpu_fit", {"rows": found})


if __name__ == "__main__":
    main()
