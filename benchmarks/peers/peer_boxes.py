"""Exact black boxes, ours beside the peers that may query: queries per unknown, success, worst error, CPU time.

    python -m benchmarks.peers.peer_boxes [--seeds 10] [--boxes tanh,10,3 relu,10,5 tanh,10,6,3 ...] [--only TEXT]
                                    [--more FOLDER] [--tune] [--jobs 1] [--kept FILE] [--save]

Random networks of several activations and depths; a box is written as activation, inputs, widths. Peers are the files
of peers/methods that take a box; they are told activation and widths, gradsift is told nothing. A run succeeds if
every unit of the first layer is within 0.01 of its match (0.6 degrees).

--tune compares the options that a peer names, on the boxes of TUNING and seeds from 1000 on, and keeps all scores in
the result; the table, seeds from 0, then takes for each peer the options with most successes there, and of those the
ones with fewest queries. --kept FILE keeps a line for each run and skips those that are there.
"""

from __future__ import annotations

import argparse
import json
import math
import time
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed

import gradsift as gs
from benchmarks.boxes.deep_networks import random_deep
from benchmarks.peers.methods import Box, Peer, peers
from benchmarks.record import COMMITTED, RESULTS, load, save_parts

BOXES = (
    *(Box(d, (k,)) for d, k in ((5, 2), (10, 3), (10, 10), (20, 5), (20, 10), (50, 10))),
    *(Box(10, (5,), name) for name in ("logistic", "erf", "relu", "softplus", "gelu")),
    Box(10, (6, 3)), Box(5, (10, 4)),
)  # fmt: skip
TUNING = (Box(5, (2,)), Box(10, (3,)), Box(20, (5,)), Box(10, (5,), "relu"), Box(10, (6, 3)))
SUCCESS = 0.01
PUBLISHED = [
    {"method": "ReLU extraction (Carlini, Jagielski and Mironov 2020)", "network": "784-32-1", "queries": "2^19.2"},
    {"method": "ReLU extraction (Carlini, Jagielski and Mironov 2020)", "network": "784-128-1", "queries": "2^21.5"},
    {"method": "Expand-and-Cluster (Martinelli et al. 2024)", "network": "150 tasks", "success": "80%"},
    {"method": "Sequencing the Neurome", "success": "about two thirds, without telling when"},
]  # fmt: skip


class Run(NamedTuple):
    """One method on one box; an infinite error where it returned nothing."""

    error: float
    queries: int
    seconds: float


class Task(NamedTuple):
    """What is to be run."""

    peer: Peer
    box: Box
    seed: int
    options: dict[str, Any]

    @property
    def key(self) -> str:
        """The same in every process."""
        return json.dumps([self.peer.name, self.box.name, self.seed, self.options], sort_keys=True)


def ours(ask, box, rng):
    """Return the first layer that `recover` certifies, nothing where it does not; of the box only d is used."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            found = gs.recover(gs.Oracle(ask, box.d), random_state=rng)
        except gs.errors.GradsiftError:
            return np.empty((0, box.d))
    return found.network.layers[0].weights if found.certified else np.empty((0, box.d))


def run_one(task: Task) -> Run:
    """Ask one box; network and method have streams of their own."""
    peer, box, seed, options = task
    names = [*box.activation.encode(), box.d, *box.widths]
    network = random_deep([seed, 1, *names], box.d, box.widths, box.activation)
    asked = 0

    def ask(X: np.ndarray) -> np.ndarray:
        nonlocal asked
        asked += len(X)
        return network.predict(X)

    start = time.process_time()
    units = peer.run(ask, box, np.random.default_rng([seed, 2, *names]), **options)
    seconds = time.process_time() - start
    usable = len(units) and np.isfinite(units).all() and np.any(units, axis=1).all()
    error = gs.match_units(units, network.layers[0].weights).max_error if usable else math.inf
    return Run(float(error), asked, seconds)


def run_all(tasks: list[Task], jobs: int, kept: Path | None) -> dict[str, Run]:
    """Run what is not in the file yet, and add it there."""
    lines = kept.read_text(encoding="utf-8").splitlines() if kept is not None and kept.exists() else []
    done = {key: Run(*run) for key, run in map(json.loads, lines)}
    todo = [task for task in tasks if task.key not in done]
    runs = Parallel(jobs, return_as="generator")(delayed(run_one)(task) for task in todo)
    for task, run in zip(todo, runs):
        done[task.key] = run
        if kept is not None:
            with kept.open("a", encoding="utf-8") as stream:
                stream.write(json.dumps([task.key, run]) + "\n")
    return done


def measured(runs: list[Run], box: Box) -> dict[str, Any]:
    """Return what a row tells of some runs; an error that is not finite is none."""
    errors = np.array([run.error for run in runs])

    def error(value: float) -> float | None:
        return float(f"{value:.1e}") if math.isfinite(value) else None

    return {
        "success": f"{int(np.sum(errors <= SUCCESS))} of {len(runs)}",
        "queries per unknown": round(float(np.median([run.queries for run in runs])) / box.unknowns, 2),
        "median error": error(float(np.median(errors))), "worst error": error(float(errors.max())),
        "CPU seconds": round(float(np.median([run.seconds for run in runs])), 2),
    }  # fmt: skip


def successes(row: dict[str, Any]) -> int:
    """Return the number of successes of a row."""
    return int(row["success"].split()[0])


def table(
    methods: list[Peer], boxes: Iterable[Box], seeds: range, jobs: int = 1, kept: Path | None = None,
    chosen: dict[str, dict[str, Any]] | None = None,
) -> list[dict[str, Any]]:  # fmt: skip
    """Return one row for each box and method; ours beside the best peer, by successes and then by queries."""
    rows: list[dict[str, Any]] = []
    for box in boxes:
        able = [peer for peer in methods if not peer.missing and peer.opens(box)]
        tasks = {p.name: [Task(p, box, seed, (chosen or {}).get(p.name, {})) for seed in seeds] for p in able}
        runs = run_all([task for mine in tasks.values() for task in mine], jobs, kept)
        mine = []
        for peer in methods:
            row: dict[str, Any] = {"box": box.name, "unknowns": box.unknowns, "method": peer.name}
            if peer in able:
                row |= measured([runs[task.key] for task in tasks[peer.name]], box)
                mine.append(row)
            else:
                row["not run"] = ", ".join(f"no {name}" for name in peer.missing) or "not its setting"
            rows.append(row)
        beside_best_peer(mine)
        for row in rows[-len(methods) :]:
            print("  ".join(f"{key} {value}" for key, value in row.items()), flush=True)
    return rows


def beside_best_peer(rows: list[dict[str, Any]]) -> None:
    """Add the best peer and the ratios to our row, where there are both."""
    others = [row for row in rows if row["method"] != "ours"]
    own = next((row for row in rows if row["method"] == "ours"), None)
    if own and others:
        best = min(others, key=lambda row: (-successes(row), row["queries per unknown"]))
        own |= {"best peer": best["method"], "best peer's success": best["success"]}
        for name in ("queries per unknown", "CPU seconds"):
            own[f"{name}, over best peer's"] = float(f"{own[name] / best[name]:.2g}") if best[name] else None


def tune(methods: list[Peer], boxes: Iterable[Box], seeds: range, jobs: int, kept: Path | None) -> list[dict[str, Any]]:
    """Return the successes of every set of options that a peer names, over all boxes that it opens."""
    rows = []
    for peer in methods:
        for options in () if peer.missing else peer.tries:
            tasks = [Task(peer, box, seed, options) for box in boxes if peer.opens(box) for seed in seeds]
            done = run_all(tasks, jobs, kept)
            runs = [done[task.key] for task in tasks]
            good = sum(run.error <= SUCCESS for run in runs)
            cost = float(np.mean([run.queries / task.box.unknowns for run, task in zip(runs, tasks)]))
            rows.append({"method": peer.name, "options": options, "success": f"{good} of {len(runs)}",
                         "queries per unknown": round(cost, 1)})  # fmt: skip
            print(rows[-1], flush=True)
    return rows


def choices(tuning: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return the options of each peer that tuning prefers: most successes, then fewest queries."""
    return {
        name: min(
            (row for row in tuning if row["method"] == name),
            key=lambda row: (-successes(row), row["queries per unknown"]),
        )["options"]
        for name in dict.fromkeys(row["method"] for row in tuning)
    }


def tuned() -> dict[str, dict[str, Any]]:
    """Return the options of a tuning run, of this one or the committed one; none where nothing was tuned."""
    for folder in (RESULTS, COMMITTED):
        path = folder / "peer_boxes.json"
        if path.exists() and (tuning := load(path).get("tuning")):
            return choices(tuning)
    return {}


def as_box(text: str) -> Box:
    """Return the box that a text such as "tanh,10,6,3" names."""
    activation, d, *widths = text.split(",")
    return Box(int(d), tuple(map(int, widths)), activation)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--boxes", nargs="*", type=as_box, metavar="BOX")
    parser.add_argument("--only", default="", help="methods whose name contains this")
    parser.add_argument("--more", type=Path, nargs="*", default=[], metavar="FOLDER", help="further peers")
    parser.add_argument("--tune", action="store_true")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--kept", type=Path, metavar="FILE")
    parser.add_argument("--save", action="store_true")
    options = parser.parse_args()
    if options.more and options.jobs > 1:
        parser.error("--more goes with one job: other processes do not know the folder.")
    methods = [p for p in (*peers("box", *options.more), Peer("ours", ours, takes="box")) if options.only in p.name]
    if options.tune:
        seeds = range(1000, 1000 + options.seeds)
        result = {"tuning": tune(methods, options.boxes or TUNING, seeds, options.jobs, options.kept)}
    else:
        seeds = range(options.seeds)
        chosen = tuned()
        rows = table(methods, options.boxes or BOXES, seeds, options.jobs, options.kept, chosen)
        result = {"rows": rows, "options": chosen, "published": PUBLISHED}
    if options.save:
        print(save_parts("peer_boxes", result))


if __name__ == "__main__":
    main()
