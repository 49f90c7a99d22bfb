"""Networks with two and three hidden layers behind exact answers: exact, refused, certified but wrong; queries; time.

python benchmarks/black_box_deep.py [--rows random,canyon,trained,one,float32] [--share 1.0] [--first N]
                                    [--jobs 1] [--resume FILE] [--save]

Depth and widths are never given. A network counts as exact if its widths are right and every row of every layer is
within 1e-8 of the true one, relative to its length. ``--resume FILE`` keeps each network's line in a file and skips
those that are there, so that a run may be stopped. Teachers and the method draw from streams of their own; tuning used
the seeds 900 and 901.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import gradsift as gs
from deep_networks import canyon_networks, random_deep, single_precision, trained
from gradsift.activations import get_activation
from record import save

_TEACHERS, _METHOD = 971, 972
_EXACT = 1e-8

# d, widths, networks
RANDOM = [
    (10, (6, 3), 30), (10, (10, 4), 30), (5, (10, 4), 30), (30, (15, 8), 30), (20, (20, 8), 30), (10, (10, 10), 30),
    (10, (8, 6, 4), 30), (5, (12, 6, 4), 10), (20, (20, 20), 10), (50, (30, 15), 10), (100, (20, 10), 10),
]  # fmt: skip
TRAINED = [(data, w, f) for data in ("diabetes", "wine", "cancer") for w in ((8, 4), (16, 8), (20, 10), (8, 6, 4))
           for f in ("tanh", "logistic")]  # fmt: skip
SEEDS_TRAINED = 3  # 24 kinds, 72 networks; the first 60 are run


class Case(NamedTuple):
    """One network: the row of the table it belongs to, its kind, and what else names it."""

    row: str
    kind: str
    name: tuple[Any, ...]


def cases(kinds: set[str], share: float) -> Iterator[Case]:
    """Yield all networks of the rows asked for."""
    if "random" in kinds:
        for d, widths, n in RANDOM:
            row = f"{d}; {','.join(map(str, widths))}"
            yield from (Case(row, "random", (d, widths, i)) for i in range(max(1, round(share * n))))
    if "trained" in kinds:
        kept = [(*which, seed) for seed in range(SEEDS_TRAINED) for which in TRAINED][: max(1, round(60 * share))]
        yield from (Case(f"trained {f}", "trained", (data, w, f, seed)) for data, w, f, seed in kept)
    if "one" in kinds:
        yield from (Case("one layer", "one", (i,)) for i in range(max(1, round(20 * share))))
    if "float32" in kinds:
        yield from (Case("float32", "float32", (i,)) for i in range(max(1, round(40 * share))))
    if "canyon" in kinds:
        networks = canyon_networks()
        names = list(networks)[:: max(1, round(1 / share))]
        yield from (Case(f"CANYON-B x {networks[n].widths[-1]}", "canyon", (n,)) for n in names)


def teacher(case: Case) -> gs.Network:
    """Return the network of a case."""
    if case.kind in ("random", "float32"):
        d, widths, i = case.name if case.kind == "random" else (10, (10, 4), *case.name)
        activation = "logistic" if i % 2 and case.kind == "random" else "tanh"
        return random_deep([_TEACHERS, d, i, *widths], d, tuple(widths), activation)
    if case.kind == "one":
        return random_deep([_TEACHERS, 10, case.name[0]], 10, (6,))
    if case.kind == "trained":
        data, widths, activation, seed = case.name
        return trained(data, tuple(widths), activation, _TEACHERS + seed)
    return canyon_networks()[case.name[0]]


def without_dead(network: gs.Network) -> gs.Network:
    """Return the network without units of upper layers whose argument exceeds 17 in size wherever the layer before is:
    in double precision they are constants, and no answer shows them."""
    layers = [(W.copy(), b.copy()) for W, b in network.layers]
    center = get_activation(network.activation).center
    for i in range(1, len(layers) - 1):
        (W, b), (V, c) = layers[i], layers[i + 1]
        middle, reach = b + W.sum(axis=1) * center, np.abs(W).sum(axis=1) * (1 - center)
        dead = np.abs(middle) - reach > 17 * (1 + 2 * center)
        ends = np.where(middle > 0, 1.0, 2 * center - 1.0)
        layers[i] = (W[~dead], b[~dead])
        layers[i + 1] = (V[:, ~dead], c + V[:, dead] @ ends[dead])
    return gs.Network(layers, network.activation)


def run_case(case: Case) -> dict[str, Any]:
    """Open one network and say how it went."""
    truth = teacher(case)
    function = single_precision(truth) if case.kind == "float32" else truth.predict
    oracle = gs.Oracle(function, truth.n_features)
    record: dict[str, Any] = {"row": case.row, "kind": case.kind, "name": list(case.name), "widths": list(truth.widths)}
    began = time.process_time()
    certified, error, cause, found, partial = False, np.inf, "", None, None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = gs.recover(oracle, activation=truth.activation, random_state=_seed_of(case))
        certified, cause = found.certified, "" if found.certified else found.verdict
        error = gs.match_networks(found.network, without_dead(truth)).max_error
    except gs.errors.GradsiftError as refused:
        cause, partial = str(refused), refused.partial
    record.update(
        unknowns=truth.n_parameters, queries=oracle.n_queries, seconds=round(time.process_time() - began, 2),
        certified=bool(certified), exact=bool(error <= _EXACT), error=float(error) if np.isfinite(error) else None,
        cause=cause, first_layer=_first_layer(truth, found, partial),
    )  # fmt: skip
    if case.kind == "one":
        alone = gs.Oracle(truth.predict, truth.n_features)
        gs.recover(alone, activation=truth.activation, random_state=_seed_of(case), layers=1)
        record["queries_with_one"] = alone.n_queries
    return record


def _seed_of(case: Case) -> int:
    """Return the method's seed: the same in every process."""
    letters = np.frombuffer(str(case.name).encode(), dtype=np.uint8)
    return int(np.random.default_rng([_METHOD, *letters.tolist()]).integers(2**31))


def _first_layer(truth: gs.Network, found: Any, partial: Any) -> bool | None:
    """Say whether the first layer is complete and without false units; None where there is none to compare."""
    network = found.network if found is not None else getattr(partial, "model", None)
    if not isinstance(network, gs.Network):
        return None
    match = gs.match_units(network.layers[0].weights, truth.layers[0].weights)
    return bool(match.max_error < 1e-4)


def table(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Sum the networks up by row."""
    rows = []
    for row in dict.fromkeys(r["row"] for r in records):
        mine = [r for r in records if r["row"] == row]
        good = [r for r in mine if r["exact"]]
        line = {
            "row": row, "nets": len(mine), "exact": len(good),
            "exact_and_certified": sum(r["certified"] for r in good),
            "certified_but_wrong": sum(r["certified"] and not r["exact"] for r in mine),
            "refused": sum(not r["certified"] for r in mine),
            "largest_error": max((r["error"] for r in good), default=None),
            "queries_per_unknown": float(np.median([r["queries"] / r["unknowns"] for r in mine])),
            "seconds": float(np.median([r["seconds"] for r in mine])),
            "first_layer": sum(r["first_layer"] is True for r in mine),
        }  # fmt: skip
        if any("queries_with_one" in r for r in mine):
            line["over_one_layer"] = max(r["queries"] / r["queries_with_one"] for r in mine)
        rows.append(line)
    return rows


def run(
    kinds: set[str], share: float, jobs: int, resume: Path | None, first: int | None = None
) -> list[dict[str, Any]]:
    """Run all cases, several at a time; those in the file `resume` are not run again."""
    wanted = list(cases(kinds, share))[:first]
    done = [json.loads(line) for line in resume.read_text().splitlines()] if resume and resume.exists() else []
    known = {json.dumps([r["kind"], r["name"]]) for r in done}
    todo = [c for c in wanted if json.dumps([c.kind, list(c.name)]) not in known]
    if jobs == 1:
        results = map(run_case, todo)
        return done + [_kept(r, resume) for r in results]
    with ProcessPoolExecutor(jobs) as pool:
        return done + [_kept(r, resume) for r in pool.map(run_case, todo)]


def _kept(record: dict[str, Any], resume: Path | None) -> dict[str, Any]:
    if resume is not None:
        with resume.open("a") as stream:
            stream.write(json.dumps(record) + "\n")
    return record


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", default="random,trained,one")
    parser.add_argument("--share", type=float, default=1.0, help="of the networks of each row")
    parser.add_argument("--first", type=int, help="run only so many networks")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--resume", type=Path)
    parser.add_argument("--save", action="store_true")
    options = parser.parse_args()
    records = run(set(options.rows.split(",")), options.share, options.jobs, options.resume, options.first)
    rows = table(records)
    for row in rows:
        print(row)
    if options.save:
        print(save("black_box_deep", {"share": options.share, "rows": rows, "nets": records}))


if __name__ == "__main__":
    main()
