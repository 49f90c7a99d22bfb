"""Queries per unknown of the method for kinked units, refusals, wrong certificates; which activation; wrong names.

python -m benchmarks.boxes.black_box_kinked [--nets 1.0] [--cells exact auto wrong within large] [--jobs 1]
    [--journal FILE] [--save]

Teachers have slopes 1 to 3, weights .5 to 1 in size, offsets and an intercept; every second one a linear term; the
number of units is not given. An error is the largest of: relative error of a unit's jump of the gradient, error of its
hyperplane's distance over one plus it, error of the function at 500 Gaussian points over its spread. Beyond 1e-8 it is
wrong. ReLU units within bounds (-2, 2), and behind a logistic link that is undone, have rows of their own. Queries are
those of the identification; fresh inputs asked to verify it (30) are not among them. Published: Carlini, Jagielski and
Mironov (2020) open ReLU 784-32-1 with 2^19.2 queries, 784-128-1 with 2^21.5. With --journal a run that was stopped goes
on where it was; --save keeps the saved tables of other cells. Tuning used other seeds.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit

import gradsift as gs
from benchmarks import campaign
from gradsift.activations import get_activation

_TEACHERS, _METHOD = 1611, 1612  # separate random streams for the reported run; tuning used teachers 1 to 11 and 1601
WRONG = 1e-8

ACTIVATIONS = ("relu", "leaky_relu", "softplus", "silu", "gelu", "gelu_tanh", "elu", "mish")
SIGMOIDS = ("tanh", "logistic", "erf", "arctan", "softsign")
# d, k, networks per activation (half with a linear term), queries per unknown aimed at without and with a linear term
# (ReLU and leaky, softplus SiLU GELU, ELU, Mish)
CELLS = [
    (10, 3, 60, (1.76, 2.16, 2.35, 2.32), (1.37, 1.70, 1.85, 1.83)),
    (10, 32, 50, (1.30, 1.56, 1.74, 1.59), (1.26, 1.52, 1.73, 1.54)),
    (50, 10, 60, (1.18, 1.23, 1.27, 1.24), (1.07, 1.12, 1.16, 1.13)),
    (50, 64, 30, (1.08, 1.17, 1.27, 1.23), (1.07, 1.15, 1.26, 1.16)),
    (100, 32, 40, (1.06, 1.09, 1.13, 1.09), (1.03, 1.06, 1.08, 1.06)),
    (784, 32, 10, (1.06, 1.05, 1.04, 1.05), (1.00, 1.01, 1.01, 1.01)),
]
LARGE = [("relu", 784, 32, 19.2), ("relu", 784, 128, 21.5)]
AUTO = 31  # networks per activation
NAMES = [
    ("softplus", "relu"), ("relu", "softplus"), ("silu", "gelu"), ("gelu", "silu"), ("elu", "mish"), ("mish", "elu"),
    ("tanh", "relu"), ("tanh", "softplus"), ("deep", "relu"), ("deep", "softplus"),
]  # fmt: skip
WITHIN = [
    ("relu", "bounds", 10, 3), ("relu", "bounds", 10, 8), ("relu", "bounds", 20, 10), ("relu", "bounds", 30, 16),
    ("relu", "logistic", 10, 8), ("relu", "logistic", 20, 10),
    *((name, "bounds", d, k) for name in ("softplus", "silu", "gelu", "mish") for d, k in ((10, 3), (20, 10))),
]  # fmt: skip
SAME = {"logistic": ("logistic", "tanh")}  # one function in other units
CAUSES = {"tanh": ("but sigmoids",), "deep": ("more than one hidden layer", "deeper network")}


class Task(NamedTuple):
    """One network to open."""

    kind: str
    activation: str
    declared: str
    d: int
    k: int
    number: int


@dataclass
class Outcome:
    """What became of it."""

    task: list[Any]
    queries: int
    unknowns: int
    error: float | None
    certified: bool
    named: str
    seconds: float
    says: str
    commit: str = ""


class Teacher:
    """A network written without the package's model."""

    def __init__(self, task: Task, seed: int = _TEACHERS) -> None:
        name = task.declared if task.activation == "deep" else task.activation
        code = [*ACTIVATIONS, *SIGMOIDS].index(name)
        rng = np.random.default_rng([seed, code, task.d, task.k, task.number, task.activation == "deep"])
        d, k = task.d, task.k
        self.a = rng.standard_normal((k, d))
        self.a *= np.exp(rng.uniform(0, np.log(3), k))[:, None] / np.linalg.norm(self.a, axis=1, keepdims=True)
        self.b = rng.standard_normal(k)
        self.u = rng.choice([-1.0, 1.0], k) * rng.uniform(0.5, 1, k)
        self.c = float(rng.standard_normal())
        skip = task.number % 2 == 1 and task.kind == "exact"
        self.g = rng.standard_normal(d) / np.sqrt(d) * skip
        self.name, self.f = name, get_activation(name).value
        self.inner = rng.standard_normal((k, k)) if task.activation == "deep" else None
        self.unknowns = k * (d + 2) + 1 + d * skip + (k * (k + 1) if task.activation == "deep" else 0)

    def __call__(self, X: np.ndarray) -> np.ndarray:
        hidden = self.f(X @ self.a.T + self.b)
        if self.inner is not None:
            hidden = self.f(hidden @ self.inner.T + self.b[::-1])
        return hidden @ self.u + X @ self.g + self.c

    def error(self, model: gs.SigmoidCombination) -> float:
        """Return the largest error; infinite if the number of units is another one."""
        found = model.units * (model.slopes * model.weights)[:, None]
        jumps, distances = self.a * self.u[:, None], np.abs(self.b) / np.linalg.norm(self.a, axis=1)
        if (self.name, model.activation) == ("logistic", "tanh"):  # half as steep, half as high
            jumps = jumps / 4
        if len(found) != len(jumps):
            return float("inf")
        X = np.random.default_rng(9).standard_normal((500, len(self.g)))
        worst = float(np.abs(model.predict(X) - self(X)).max() / self(X).std())
        for jump, distance in zip(jumps, distances):
            apart = np.minimum(np.linalg.norm(found - jump, axis=1), np.linalg.norm(found + jump, axis=1))
            i = int(np.argmin(apart))
            off = abs(abs(model.offsets[i]) / model.slopes[i] - distance) / (1 + distance)
            worst = max(worst, float(apart[i] / np.linalg.norm(jump)), float(off))
        return worst


def box_of(teacher: Teacher, task: Task) -> gs.Oracle:
    """Return the teacher as it may be asked."""
    if task.kind != "within":
        return gs.Oracle(teacher, task.d)
    if task.declared == "bounds":
        return gs.Oracle(teacher, task.d, bounds=(-2, 2))
    return gs.Oracle(lambda X: expit(teacher(X)), task.d, link="logistic")


def open_one(task: Task) -> Outcome:
    """Open one network."""
    teacher, begun = Teacher(task), time.process_time()
    oracle = box_of(teacher, task)
    named, error, certified, says, verified = "", None, False, "", 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            found = gs.recover(
                oracle,
                activation=task.activation if task.kind == "within" else task.declared,
                random_state=[_METHOD, task.number],
            )
            named, certified, says = found.model.activation, found.certified, found.verdict
            error = float(min(teacher.error(found.model), 1e300))
            verified = found.diagnostics["spent"].get("verify", 0)
        except gs.errors.GradsiftError as refused:
            says = str(refused)
    asked, seconds = oracle.n_queries - verified, time.process_time() - begun
    return Outcome(list(task), asked, teacher.unknowns, error, certified, named, seconds, says)


def tasks_of(cells: list[str], share: float) -> Iterator[Task]:
    """Return all networks of the wanted cells."""
    if "exact" in cells:
        for d, k, n, *_ in CELLS:
            for name in ACTIVATIONS:
                yield from (Task("exact", name, name, d, k, i) for i in range(max(2, round(share * n))))
    if "auto" in cells:
        for name in (*ACTIVATIONS, *SIGMOIDS):
            size = (6, 3) if name in ("arctan", "softsign") else (10, 6)  # algebraic tails: a student is trained
            yield from (Task("auto", name, "auto", *size, i) for i in range(max(1, round(share * AUTO))))
    if "wrong" in cells:
        for true, declared in NAMES:
            yield from (Task("wrong", true, declared, 20, 8, i) for i in range(max(1, round(share * 10))))
    if "within" in cells:
        for name, where, d, k in WITHIN:
            yield from (Task("within", name, where, d, k, i) for i in range(max(1, round(share * 25))))
    if "large" in cells:
        yield from (Task("large", name, name, d, k, 0) for name, d, k, _ in LARGE)


def outcomes_of(tasks: list[Any], open_it: Callable[[Any], Any], kind: type, options: argparse.Namespace) -> list[Any]:
    """Return outcomes of a kind, the largest networks first run; those that the journal has are not opened again."""
    tasks = sorted(tasks, key=lambda task: -task.d * task.k)
    return [kind(**record) for record in campaign.run(tasks, partial(_record, open_it), options)]


def _record(open_it: Callable[[Any], Any], task: Any) -> dict[str, Any]:
    return asdict(open_it(task))


def commits(outcomes: list[Any]) -> str:
    """Return the commits that made these outcomes."""
    return ", ".join(dict.fromkeys(outcome.commit for outcome in outcomes))


def exact_rows(outcomes: list[Outcome]) -> list[dict[str, Any]]:
    """Return one row per activation and size."""
    rows = []
    for d, k, _, *aims in CELLS:
        for name in ACTIVATIONS:
            group = 0 if name in ("relu", "leaky_relu") else {"elu": 2, "mish": 3}.get(name, 1)
            mine = [o for o in outcomes if o.task[0] == "exact" and o.task[1] == name and o.task[3:5] == [d, k]]
            if not mine:
                continue
            good = [o for o in mine if o.error is not None and o.error <= WRONG]
            medians = [
                float(np.median([o.queries / o.unknowns for o in mine if o.task[5] % 2 == skip])) for skip in (0, 1)
            ]
            rows.append({
                "cell": f"{name} {d},{k}", "nets": len(mine), "within": len(good),
                "certified": sum(o.certified for o in good),
                "certified_wrong": sum(o.certified and o not in good for o in mine),
                "median": medians[0], "aim": aims[0][group], "median_linear": medians[1], "aim_linear": aims[1][group],
                "largest_error": max((o.error for o in good), default=float("nan")),
                "seconds": float(np.median([o.seconds for o in mine])), "commit": commits(mine),
            })  # fmt: skip
    return rows


def print_exact(rows: list[dict[str, Any]]) -> None:
    """Print the rows of random networks."""
    for row in rows:
        print(
            f"{row['cell']:>18}: {row['within']}/{row['nets']} within 1e-8, {row['certified']} certified, "
            f"{row['certified_wrong']} certified wrong; queries per unknown {row['median']:.3f} (aim "
            f"{row['aim']:.2f}), with a linear term {row['median_linear']:.3f} (aim {row['aim_linear']:.2f}); "
            f"largest error {row['largest_error']:.1e}, {row['seconds']:.2f} s"
        )


def auto_rows(outcomes: list[Outcome]) -> list[dict[str, Any]]:
    """Return and print one row per activation: how often it is told, and whether a certificate is ever wrong."""
    rows = []
    for name in (*ACTIVATIONS, *SIGMOIDS):
        mine = [o for o in outcomes if o.task[0] == "auto" and o.task[1] == name]
        if mine:
            right = [o for o in mine if o.named in SAME.get(name, (name,))]
            rows.append({
                "true": name, "nets": len(mine), "right": len(right), "certified": sum(o.certified for o in right),
                "certified_wrong": sum(o.certified and not (o.error or 0.0) <= WRONG for o in mine),
                "queries": float(np.median([o.queries / o.unknowns for o in mine])),
                "instead": sorted({o.named or o.says for o in mine if o not in right}), "commit": commits(mine),
            })  # fmt: skip
    if rows:
        nets, right, certified, wrong = (
            sum(row[key] for row in rows) for key in ("nets", "right", "certified", "certified_wrong")
        )
        for row in rows:
            print(f"auto, {row['true']}: {row['right']}/{row['nets']} named right, {row['certified']} certified")
        print(f"activation='auto': {right}/{nets} named right, {certified} certified, {wrong} certified wrong")
    return rows


def wrong_rows(outcomes: list[Outcome]) -> list[dict[str, Any]]:
    """Return and print one row per wrong name: refused within one query per unknown and 5 s, and with which words."""
    rows = []
    for true, declared in NAMES:
        mine = [o for o in outcomes if o.task[0] == "wrong" and o.task[1:3] == [true, declared]]
        if mine:
            causes = CAUSES.get(true, (f"but {true} units",))
            row = {
                "name": f"{true} as {declared}", "true": true, "declared": declared, "commit": commits(mine),
                "nets": len(mine), "refused": sum(o.error is None for o in mine),
                "named": sum(any(cause in o.says for cause in causes) for o in mine),
                "certified": sum(o.certified for o in mine),
                "median": float(np.median([o.queries / o.unknowns for o in mine])),
                "most": max(o.queries / o.unknowns for o in mine), "seconds": max(o.seconds for o in mine),
            }  # fmt: skip
            rows.append(row)
            print(
                f"{true} declared as {declared}: {row['refused']}/{row['nets']} refused, {row['named']} with the "
                f"cause, {row['certified']} certified; {row['median']:.2f} queries per unknown, at most "
                f"{row['most']:.2f}, {row['seconds']:.1f} s"
            )
    return rows


def within_rows(outcomes: list[Outcome]) -> list[dict[str, Any]]:
    """Return and print one row per size: units inside bounds, and behind probabilities."""
    rows = []
    for name, where, d, k in WITHIN:
        mine = [o for o in outcomes if o.task[:5] == ["within", name, where, d, k]]
        if mine:
            good = [o for o in mine if o.error is not None and o.error <= WRONG]
            row = {
                "cell": f"{name} {d},{k} {where}", "nets": len(mine), "within": len(good),
                "certified": sum(o.certified for o in good),
                "certified_wrong": sum(o.certified and o not in good for o in mine),
                "median": float(np.median([o.queries / o.unknowns for o in mine])),
                "seconds": float(np.median([o.seconds for o in mine])),
                "refusals": sorted({o.says[:200] for o in mine if not o.certified})[:3], "commit": commits(mine),
            }  # fmt: skip
            rows.append(row)
            print(
                f"{row['cell']}: {row['within']}/{row['nets']} within 1e-8, {row['certified']} certified, "
                f"{row['certified_wrong']} certified wrong; queries per unknown {row['median']:.2f}, "
                f"{row['seconds']:.2f} s"
            )
    return rows


def large_rows(outcomes: list[Outcome]) -> list[dict[str, Any]]:
    """Return and print the networks that the published attack was shown on."""
    rows = []
    for o in (o for o in outcomes if o.task[0] == "large"):
        published = {(name, d, k): p for name, d, k, p in LARGE}[(o.task[1], o.task[3], o.task[4])]
        row = {"cell": f"{o.task[1]} {o.task[3]}-{o.task[4]}-1", "log2_queries": float(np.log2(o.queries)),
               "published": published, "unknowns": o.unknowns, "error": o.error, "certified": o.certified,
               "seconds": o.seconds, "commit": o.commit}  # fmt: skip
        rows.append(row)
        print(f"{row['cell']}: 2^{row['log2_queries']:.1f} queries (published 2^{published}), error {o.error}, "
              f"certified {o.certified}, {o.seconds:.0f} s")  # fmt: skip
    return rows


def report(outcomes: list[Outcome]) -> dict[str, Any]:
    """Print the tables and return them."""
    exact = exact_rows(outcomes)
    print_exact(exact)
    return {
        "exact": exact,
        "auto": auto_rows(outcomes),
        "wrong": wrong_rows(outcomes),
        "within": within_rows(outcomes),
        "large": large_rows(outcomes),
    }


def save_tables(name: str, tables: dict[str, Any]) -> None:
    """Save the tables that have rows, beside those that a saved file has already."""
    for part, rows in tables.items():
        if rows:
            by = {"auto": "true", "wrong": "name"}.get(part, "cell")
            campaign.save_rows(name, rows, by, part)


def main() -> None:
    parser = campaign.arguments(__doc__)
    parser.add_argument("--nets", type=float, default=1.0, help="share of the networks of every cell")
    parser.add_argument("--cells", nargs="+", default=["exact", "auto", "wrong", "within", "large"])
    parser.add_argument(
        "--first", type=int, default=0, help="number of the first network, even: other ones are other networks"
    )
    parser.add_argument("--largest", type=int, default=10**9, help="leave out sizes with more unknowns")
    how = parser.parse_args()
    tasks = [
        task._replace(number=task.number + how.first)
        for task in tasks_of(how.cells, how.nets)
        if task.k * (task.d + 2) <= how.largest
    ]
    result = report(outcomes_of(tasks, open_one, Outcome, how))
    if how.save:
        save_tables("black_box_kinked", result)


if __name__ == "__main__":
    main()
