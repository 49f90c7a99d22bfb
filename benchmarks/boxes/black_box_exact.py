"""Queries per unknown of the exact black-box method, refusals, wrong certificates, own time; a student beside it.

python -m benchmarks.boxes.black_box_exact [--nets 1000] [--students 3] [--jobs 1] [--real] [--save]

Teachers have offsets, slopes 1 to 3, weights .2 to 1 in size, and an intercept; the number of units is not given.
Median and worst are queries per unknown of the identification; fresh inputs asked to verify it are listed apart.
The student gets it, and the same number of queries at Gaussian points: L-BFGS from several starts, then
Levenberg-Marquardt (one start above 100 unknowns, L-BFGS alone above 10^4). Tuning used other seeds.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment

import gradsift as gs
from benchmarks import campaign
from benchmarks.boxes.real_networks import NotFetched, esa_networks, sklearn_networks
from gradsift.reading import train_student

_TEACHERS, _METHOD, _STUDENT = 801, 802, 803  # separate random streams for the reported run

# activation, d, k, share of the networks, largest median of queries over unknowns that is aimed at
CELLS = [
    ("tanh", 10, 3, 0.15, 2.1),
    ("logistic", 10, 3, 0.1, 2.1),
    ("erf", 10, 3, 0.1, 2.1),
    ("tanh", 3, 20, 0.15, 3.1),
    ("tanh", 10, 32, 0.1, 1.9),
    ("tanh", 50, 10, 0.1, 1.25),
    ("logistic", 50, 10, 0.07, 1.25),
    ("erf", 50, 10, 0.07, 1.25),
    ("tanh", 50, 64, 0.08, 1.25),
    ("tanh", 100, 32, 0.07, 1.12),
    ("tanh", 784, 64, 0.01, 1.02),
]


@dataclass
class Row:
    """One line of the table."""

    cell: str
    nets: int
    median: float
    worst: float
    aim: float
    refused: int
    certified_wrong: int
    largest_error: float
    seconds: float
    student: str
    verify: float
    commit: str


class Timed:
    """A function that adds up the time spent in it."""

    def __init__(self, function):
        self.function, self.seconds = function, 0.0

    def __call__(self, X):
        start = time.process_time()
        answer = self.function(X)
        self.seconds += time.process_time() - start
        return answer


def teacher(activation: str, d: int, k: int, number: int) -> gs.SigmoidCombination:
    rng = np.random.default_rng([_TEACHERS, d, k, number, len(activation)])
    weights = rng.choice([-1.0, 1.0], k) * rng.uniform(0.2, 1, k)
    slopes = np.exp(rng.uniform(0, np.log(3), k))
    units = rng.standard_normal((k, d))
    units /= np.linalg.norm(units, axis=1, keepdims=True)
    return gs.SigmoidCombination(units, weights, slopes, rng.standard_normal(k), rng.standard_normal(), activation)


def worst_error(found: gs.SigmoidCombination, truth: gs.SigmoidCombination) -> float:
    """Largest relative error of direction with slope, offset and weight over matched units."""
    if found.n_units != truth.n_units:
        return np.inf
    found, truth = found.canonical(), truth.canonical()
    mine, theirs = found.units * found.slopes[:, None], truth.units * truth.slopes[:, None]
    rows, columns = linear_sum_assignment(-(truth.units @ found.units.T))
    a = np.linalg.norm(theirs[rows] - mine[columns], axis=1) / truth.slopes[rows]
    b = np.abs(truth.offsets[rows] - found.offsets[columns]) / (1 + np.abs(truth.offsets[rows]))
    u = np.abs(truth.weights[rows] - found.weights[columns]) / truth.weights[rows]
    return float(max(a.max(), b.max(), u.max()))


def student_success(truth: gs.SigmoidCombination, n: int, number: int, starts: int) -> bool:
    """Say whether a student with the right number of units and n answers finds all parameters."""
    rng = np.random.default_rng([_STUDENT, truth.n_features, truth.n_units, number])
    X = 1.5 * rng.standard_normal((n, truth.n_features))
    student = train_student(X, truth.predict(X), truth.n_units, truth.activation, rng, n_starts=starts)
    return worst_error(student.model, truth) < 1e-8


class Task(NamedTuple):
    """A network to recover, its number in its row, and how many starts a student gets beside it (0: no student)."""

    cell: str
    number: int
    starts: int


@cache
def real() -> dict[str, list[tuple[Callable, gs.SigmoidCombination]]]:
    """Return networks that others trained, by the name of their row, as functions and as models."""
    rows = {}
    try:
        rows["ESA Sentinel-2, 11,5"] = [(net.model.predict, net.model) for net in esa_networks().values()]
    except NotFetched as problem:
        print(f"ESA networks left out: {problem}")
    rows["scikit-learn MLPs, k=8"] = list(sklearn_networks(2).values())
    return rows


def network_of(task: Task) -> tuple[Callable, gs.SigmoidCombination]:
    """Return the network of a task."""
    for activation, d, k, *_ in CELLS:
        if task.cell == f"{activation} {d},{k}":
            truth = teacher(activation, d, k, task.number)
            return truth.predict, truth
    return real()[task.cell][task.number]


def run_one(task: Task) -> dict[str, Any]:
    """Recover one network; what a refusal leaves open is not a number."""
    function, truth = network_of(task)
    timed, start = Timed(function), time.process_time()
    oracle = gs.Oracle(timed, truth.n_features)
    record = {"refused": True, "wrong": False, "error": 0.0, "seconds": np.nan, "verify": np.nan, "student": None}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", gs.errors.UncertifiedWarning)  # refusals are counted
            found = gs.recover(
                oracle, activation=truth.activation, random_state=np.random.default_rng([_METHOD, task.number])
            )
    except gs.errors.GradsiftError:
        return record | {"queries": oracle.n_queries / truth.n_parameters}
    seconds = time.process_time() - start - timed.seconds
    verify = found.diagnostics["spent"].get("verify", 0)
    error = worst_error(found.model, truth)
    if task.starts:
        record["student"] = student_success(truth, oracle.n_queries, task.number, task.starts)
    return record | {
        "queries": (oracle.n_queries - verify) / truth.n_parameters, "refused": not found.certified,
        "wrong": found.certified and not error < 1e-8, "error": error if found.certified else 0.0,
        "seconds": seconds, "verify": verify,
    }  # fmt: skip


def run_cell(name: str, n: int, unknowns: int, aim: float, options: argparse.Namespace) -> Row:
    """Recover n networks of a row; some get a student, whose starts cost the cube of the unknowns."""
    taught = options.students if unknowns <= 600 else min(1, options.students)
    starts = min(options.starts, max(1, options.starts * 100 // unknowns))
    tasks = [Task(name, number, starts if number < taught else 0) for number in range(n)]
    done = list(campaign.run(tasks, run_one, options))

    def all_of(key: str) -> list[Any]:
        return [record[key] for record in done]

    students = [told for told in all_of("student") if told is not None]
    return Row(
        name, len(done), float(np.median(all_of("queries"))), float(np.max(all_of("queries"))), aim,
        sum(all_of("refused")), sum(all_of("wrong")), max(all_of("error")), float(np.nanmedian(all_of("seconds"))),
        f"{sum(students)}/{len(students)}" if students else "-", float(np.nanmedian(all_of("verify"))),
        campaign.commits(done),
    )  # fmt: skip


def show(row: Row) -> None:
    verdict = "ok" if row.median <= row.aim and not row.certified_wrong else "MISSED"
    print(
        f"{row.cell:24} {row.nets:5} {row.median:8.3f} {row.worst:7.2f} {row.aim:6.2f} {row.refused:8} "
        f"{row.certified_wrong:6} {row.largest_error:9.1e} {row.seconds:8.2f} {row.student:>8} {row.verify:6.0f}"
        f"  {verdict}",
        flush=True,
    )


def main() -> None:
    parser = campaign.arguments(__doc__)
    parser.add_argument("--nets", type=int, default=1000, help="random networks in all")
    parser.add_argument("--students", type=int, default=3, help="networks per row that a student tries too")
    parser.add_argument("--starts", type=int, default=5, help="starts of a student; fewer above 100 unknowns")
    parser.add_argument("--cells", nargs="*", help="only rows of these sizes, such as 10,3; the file keeps others")
    parser.add_argument("--real", action="store_true", help="also the ESA and scikit-learn networks")
    options = parser.parse_args()
    print(
        f"{'network':24} {'nets':>5} {'median':>8} {'worst':>7} {'aim':>6} {'refused':>8} {'wrong':>6} {'error':>9} "
        f"{'seconds':>8} {'student':>8} {'verify':>6}"
    )
    cells = [
        (f"{activation} {d},{k}", max(1, round(share * options.nets)), k * (d + 2) + 1, aim)
        for activation, d, k, share, aim in CELLS
        if not options.cells or f"{d},{k}" in options.cells
    ]
    if options.real:
        aims = {"ESA Sentinel-2, 11,5": 4.6, "scikit-learn MLPs, k=8": 4.0}
        cells += [(name, len(nets), nets[0][1].n_parameters, aims[name]) for name, nets in real().items()]
    rows = []
    for cell in cells:
        rows.append(run_cell(*cell, options))
        show(rows[-1])
    total, refused = sum(row.nets for row in rows), sum(row.refused for row in rows)
    print(
        f"{total} networks: {refused} refused ({100 * refused / total:.1f}%), "
        f"{sum(row.certified_wrong for row in rows)} certified but wrong, worst {max(row.worst for row in rows):.2f} "
        "queries per unknown"
    )
    if options.save:
        campaign.save_rows("black_box_exact", [asdict(row) for row in rows], starts=options.starts)


if __name__ == "__main__":
    main()
