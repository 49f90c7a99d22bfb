"""Large networks behind an exact oracle: queries, error, own time over one evaluation, wall time, peak memory.

python -m benchmarks.boxes.black_box_large [--sizes 784x64 2000x500] [--threads 1 4 16] [--device cuda] [--fast-box]
                                     [--seed 1 2 3] [--repeats 3] [--save]

A size is inputs x units. Each run has a process of its own, whose peak memory includes the network that answers. With
`--device` that network is a torch module there, and so is the solver. The evaluation is that of the network at as many
points as were asked; own time is what is left of the CPU time (on an accelerator: of the wall time) without it. A
million unknowns take minutes of one CPU thread, ten million hours, nearly all of them in the network's own matrix
product: `--fast-box` draws units that a cosine transform evaluates. `--curve` is the list of sizes in the docs, 1e3 to
1e6 unknowns. Numbers of threads take turns; of several repeats the one of the least wall time counts.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
import warnings
from itertools import product

import numpy as np
from scipy.fft import dct, idct

import gradsift as gs
from benchmarks.boxes.black_box_exact import Timed, teacher, worst_error
from benchmarks.record import RESULTS, machine, save

_SIGNS = 804  # random stream of the fast boxes
CURVE = [
    "30x30",
    "100x30",
    "150x64",
    "300x100",
    "784x64",
    "784x128",
    "784x256",
    "50x600",
    "300x1000",
    "1200x400",
    "2000x500",
]


class FastBox:
    """A network whose units are rows of a cosine transform behind random signs: the whole of it for the cost of d log d
    numbers a row, and units that are drawn apart from everything else."""

    def __init__(self, d: int, k: int, seed: int) -> None:
        drawn, rng = teacher("tanh", d, k, seed), np.random.default_rng([_SIGNS, d, k, seed])
        self.signs, self.rows = rng.choice([-1.0, 1.0], d), rng.choice(d, k, replace=False)
        units = idct(np.eye(d)[self.rows], norm="ortho", axis=1) * self.signs
        self.truth = gs.SigmoidCombination(units, drawn.weights, drawn.slopes, drawn.offsets, drawn.intercept)

    def __call__(self, X: np.ndarray) -> np.ndarray:
        truth = self.truth
        arguments = dct(X * self.signs, norm="ortho", axis=1, overwrite_x=True)[:, self.rows] * truth.slopes
        return truth.intercept + np.tanh(arguments + truth.offsets) @ truth.weights


def measure(d: int, k: int, seed: int, fast_box: bool = False) -> dict[str, object]:
    """Recover a network that numpy evaluates."""
    box = FastBox(d, k, seed) if fast_box else None
    truth = teacher("tanh", d, k, seed) if box is None else box.truth
    recover, oracle = gs.recover, gs.Oracle  # imported here, before the clocks run
    timed, start, wall = Timed(box or truth.predict), time.process_time(), time.perf_counter()
    found = recover(oracle(timed, d), random_state=np.random.default_rng([seed, 1]))
    cpu, wall = time.process_time() - start, time.perf_counter() - wall
    return _row(truth, found, seed) | {
        "device": "cpu" if box is None else "cpu, cosine transform",
        "evaluation_seconds": timed.seconds,
        "own_seconds": cpu - timed.seconds,
        "own_over_evaluation": (cpu - timed.seconds) / max(timed.seconds, 1e-9),
        "wall_seconds": wall,
    }


def measure_there(d: int, k: int, seed: int, device: str) -> dict[str, object]:
    """Recover a network that is a torch module on a device."""
    import torch

    def box(truth: gs.SigmoidCombination) -> torch.nn.Module:
        net = torch.nn.Sequential(torch.nn.Linear(d, len(truth.weights)), torch.nn.Tanh(), torch.nn.Linear(k, 1))
        with torch.no_grad():
            net[0].weight.copy_(torch.tensor(truth.units * truth.slopes[:, None]))
            net[0].bias.copy_(torch.tensor(truth.offsets))
            net[2].weight.copy_(torch.tensor(truth.weights[None]))
            net[2].bias.fill_(float(truth.intercept))
        return net

    def in_double(truth: gs.SigmoidCombination) -> torch.nn.Module:
        torch.set_default_dtype(torch.float64)
        try:
            return box(truth).to(device)
        finally:
            torch.set_default_dtype(torch.float32)

    on_card = device.startswith("cuda")
    truth = teacher("tanh", d, k, seed)
    module = in_double(truth)
    if on_card:  # libraries load with the first product and the first factorisation
        square = torch.rand(64, 64, dtype=torch.float64, device=device)
        torch.linalg.qr(torch.linalg.cholesky(square @ square.T + torch.eye(64, dtype=torch.float64, device=device)))
        torch.linalg.solve(square + 64 * torch.eye(64, dtype=torch.float64, device=device), square)
        torch.cuda.synchronize()
        torch.cuda.reset_peak_memory_stats()
    oracle, recover = gs.oracle.from_torch(module), gs.recover
    start, wall = time.process_time(), time.perf_counter()
    found = recover(oracle, random_state=np.random.default_rng([seed, 1]))
    cpu, wall = time.process_time() - start, time.perf_counter() - wall
    evaluation = _evaluation(torch, module, d, found.n_queries, device)
    return _row(truth, found, seed) | {
        "device": torch.cuda.get_device_name() if on_card else f"torch {device}",
        "evaluation_seconds": evaluation,
        "own_seconds": wall - evaluation,
        "own_over_evaluation": (wall - evaluation) / evaluation,
        "wall_seconds": wall,
        "cpu_seconds": cpu,
        "peak_megabytes_of_device": torch.cuda.max_memory_allocated() / 2**20 if on_card else 0.0,
    }


def _evaluation(torch, module, d: int, n: int, device: str) -> float:
    """Return the seconds of a bare pass over n points that are there already."""
    size = max(1, (1 << 26) // d)
    rows = torch.rand(min(size, n), d, dtype=torch.float64, device=device)
    with torch.no_grad():
        module(rows)
        if device.startswith("cuda"):
            torch.cuda.synchronize()
        start = time.perf_counter()
        for done in range(0, n, size):
            module(rows[: min(size, n - done)])
        if device.startswith("cuda"):
            torch.cuda.synchronize()
    return time.perf_counter() - start


def _row(truth: gs.SigmoidCombination, found: gs.recover, seed: int) -> dict[str, object]:
    return {
        "d": truth.n_features,
        "k": truth.n_units,
        "seed": seed,
        "unknowns": truth.n_parameters,
        "queries_per_unknown": found.n_queries / truth.n_parameters,
        "largest_error": worst_error(found.model, truth),
        "error_bound": next(check.number for check in found.checks if check.name == "error bound"),
        "certified": found.certified,
        "verdict": found.verdict,
        "peak_megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def run_one(size: str, threads: int, seed: int, device: str, fast_box: bool) -> dict[str, object]:
    """Run one size in a process of its own."""
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
    here = [sys.executable, "-m", __spec__.name, "--one", "--sizes", size, "--seed", str(seed), "--device", device]
    here += ["--fast-box"] if fast_box else []
    done = subprocess.run(here, env=os.environ | dict.fromkeys(names, str(threads)), capture_output=True, text=True)
    if done.returncode:
        return {"size": size, "threads": threads, "device": device, "failed": done.stderr.strip().splitlines()[-1]}
    return json.loads(done.stdout.splitlines()[-1]) | {"threads": threads}


def show(row: dict) -> None:
    """Print one run."""
    if "failed" in row:
        print(f"{row['size']} on {row['device']}, {row['threads']} threads: {row['failed']}")
        return
    print(
        f"d = {row['d']}, k = {row['k']} ({row['unknowns']} unknowns), {row['device']}, {row['threads']} threads: "
        f"{row['queries_per_unknown']:.4f} queries per unknown, largest relative error {row['largest_error']:.1e} "
        f"(bound {row['error_bound']:.1e}, {'certified' if row['certified'] else 'not certified'}), "
        f"{row['own_seconds']:.2f} s of our own over {row['evaluation_seconds']:.2f} s of evaluation = "
        f"{row['own_over_evaluation']:.1f}, {row['wall_seconds']:.1f} s in all, {row['peak_megabytes']:.0f} MB"
        + (f", {row['peak_megabytes_of_device']:.0f} MB there" if "peak_megabytes_of_device" in row else ""),
        flush=True,
    )


def keep(row: dict) -> None:
    """Merge a row into the results."""
    path = RESULTS / "black_box_large.json"
    rows = json.loads(path.read_text())["rows"] if path.exists() else []
    row, key = row | {"machine": machine()}, ("d", "k", "seed", "device", "threads", "machine")
    others = [old for old in rows if "device" in old and [old[name] for name in key] != [row[name] for name in key]]
    rows = [*others, row]
    save("black_box_large", {"rows": sorted(rows, key=lambda r: [str(r["device"]), r["unknowns"], r["threads"]])})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", nargs="+", default=["784x64", "784x256", "2000x500"])
    parser.add_argument("--curve", action="store_true", help="the sizes of the docs instead")
    parser.add_argument("--threads", type=int, nargs="+", default=[1])
    parser.add_argument("--device", default="cpu", help="cpu: numpy; cuda: a torch module there")
    parser.add_argument("--fast-box", action="store_true", help="units that a cosine transform evaluates; cpu only")
    parser.add_argument("--seed", type=int, nargs="+", default=[2026])
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--save", action="store_true", help="merge the rows into results/black_box_large.json")
    parser.add_argument("--one", action="store_true", help="run the first size here and print JSON")
    options = parser.parse_args()
    if options.fast_box and options.device != "cpu":
        parser.error("--fast-box is for --device cpu")
    if options.one:
        warnings.simplefilter("ignore", gs.errors.UncertifiedWarning)  # the verdict is in the row
        d, k = (int(part) for part in options.sizes[0].split("x"))
        if options.device == "cpu":
            print(json.dumps(measure(d, k, options.seed[0], options.fast_box)))
        else:
            print(json.dumps(measure_there(d, k, options.seed[0], options.device)))
        return
    for size, seed in product(CURVE if options.curve else options.sizes, options.seed):
        turns = [
            [run_one(size, threads, seed, options.device, options.fast_box) for threads in options.threads]
            for _ in range(options.repeats)
        ]
        for same in zip(*turns):
            row = min(same, key=lambda row: row.get("wall_seconds", np.inf))
            show(row)
            if options.save and "failed" not in row:
                keep(row)


if __name__ == "__main__":
    main()
