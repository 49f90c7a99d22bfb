"""Kinked units through imperfect answers: single precision, four decimals, noise.

python -m benchmarks.boxes.black_box_kinked_coarse [--nets 25] [--kinds float32 decimals ...] [--activations relu ...]
    [--students 0] [--jobs 1] [--journal FILE] [--save]

Teachers as in black_box_kinked.py, without a linear term; the number of units is not given, the activation is. Right:
the number of units, and every direction within six of the standard errors that the result states. The function's error
is the root mean square over 1,000 Gaussian inputs, over the function's spread there. Queries are those of the
identification. A student is given the number of units and as many answers at Gaussian inputs (five starts, best
kept); it is trained for the first networks of every cell. Tuning used other seeds.
"""

from __future__ import annotations

import argparse
import time
import warnings
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import least_squares

import gradsift as gs
from benchmarks import campaign
from benchmarks.boxes import black_box_kinked as exact
from gradsift.activations import get_activation

_METHOD, _NOISE, _STUDENT = 1622, 1623, 1624  # separate random streams
_TEACHERS = 1631  # those of black_box_kinked (1611) showed one bound that was too small, and are not fresh since
KINDS = ("float32", "decimals", "noise .01", "noise .1")
ACTIVATIONS = ("relu", "softplus", "silu", "gelu")
SIZES = ((10, 3), (20, 5), (20, 10))
# queries at (20, 10) that a prototype needed
AIMS = {
    ("relu", "float32"): 748, ("relu", "decimals"): 457, ("relu", "noise .1"): 642,
    ("softplus", "float32"): 946, ("softplus", "decimals"): 524, ("softplus", "noise .1"): 831,
}  # fmt: skip


class Task(NamedTuple):
    """One network to open."""

    kind: str
    activation: str
    d: int
    k: int
    number: int
    student: bool
    seed: int


@dataclass
class Outcome:
    """What became of it; errors are infinite where the number of units is wrong."""

    task: list[Any]
    queries: int
    unknowns: int
    direction: float
    within: bool
    function: float
    certified: bool
    student: float
    seconds: float
    says: str
    commit: str = ""


def box_of(teacher: exact.Teacher, task: Task) -> Any:
    """Return the teacher as the black box shows it."""
    if task.kind == "float32":
        for name in ("a", "b", "u"):
            setattr(teacher, name, getattr(teacher, name).astype(np.float32))
        c, f = np.float32(teacher.c), get_activation(task.activation).value
        return lambda X: (f(X.astype(np.float32) @ teacher.a.T + teacher.b) @ teacher.u + c).astype(np.float64)
    if task.kind == "decimals":
        return lambda X: np.round(teacher(X), 4)
    code = [*KINDS].index(task.kind)
    rng, sd = np.random.default_rng([_NOISE, code, task.d, task.k, task.number]), float(task.kind.split()[1])
    return lambda X: teacher(X) + sd * rng.standard_normal(len(X))


def open_one(task: Task) -> Outcome:
    """Open one network."""
    teacher = exact.Teacher(exact.Task("coarse", task.activation, "", task.d, task.k, task.number), task.seed)
    box, begun = box_of(teacher, task), time.process_time()
    oracle = gs.Oracle(box, task.d)
    direction, within, function, certified, says, verified = np.inf, False, np.inf, False, "", 0
    X = np.random.default_rng([9, task.number]).standard_normal((1000, task.d))
    values = teacher(X)
    scale = float(values.std())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            found = gs.recover(oracle, activation=task.activation, random_state=[_METHOD, task.number])
            certified, says = found.certified, found.verdict
            verified = found.diagnostics["spent"].get("verify", 0)
            if found.n_units == task.k:
                match = gs.match_units(found.model.units, teacher.a.astype(np.float64))
                bounds = 6 * found.standard_errors["units"][match.order]
                direction, within = match.max_error, bool((match.errors <= bounds).all())
                function = float(np.sqrt(np.mean((found.model.predict(X) - values) ** 2)) / scale)
        except gs.errors.GradsiftError as refused:
            says = str(refused)
    seconds, asked = time.process_time() - begun, oracle.n_queries - verified
    student = student_error(teacher, box, asked, task, X, values) / scale if task.student else -1.0
    direction, function = (float(min(error, 1e300)) for error in (direction, function))
    return Outcome(list(task), asked, teacher.unknowns, direction, within, function, certified, student, seconds, says)


def student_error(teacher: exact.Teacher, box: Any, n: int, task: Task, X: np.ndarray, values: np.ndarray) -> float:
    """Return the error of the function as the best of five fits with the true number of units finds it."""
    rng = np.random.default_rng([_STUDENT, task.d, task.k, task.number])
    inputs = rng.standard_normal((n, task.d))
    y, f, (d, k) = box(inputs), get_activation(task.activation), (task.d, task.k)

    def parts(p: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
        return p[: k * d].reshape(k, d), p[k * d : k * d + k], p[k * d + k : -1], float(p[-1])

    def misses(p: np.ndarray) -> np.ndarray:
        a, b, u, c = parts(p)
        return f.value(inputs @ a.T + b) @ u + c - y

    def jacobian(p: np.ndarray) -> np.ndarray:
        a, b, u, _ = parts(p)
        z = inputs @ a.T + b
        slopes = f.derivative(z) * u  # (n, k)
        return np.concatenate(
            [(slopes[:, :, None] * inputs[:, None, :]).reshape(n, -1), slopes, f.value(z), np.ones((n, 1))], axis=1
        )

    best, cost = None, np.inf
    for _ in range(5):
        start = np.concatenate([rng.standard_normal(k * d) / np.sqrt(d), rng.standard_normal(2 * k + 1)])
        fit = least_squares(misses, start, jacobian, method="lm" if n > len(start) else "trf", max_nfev=60)
        if fit.cost < cost:
            best, cost = fit.x, fit.cost
    a, b, u, c = parts(best)
    return float(np.sqrt(np.mean((f.value(X @ a.T + b) @ u + c - values) ** 2)))


def tasks_of(how: argparse.Namespace) -> list[Task]:
    """Return all networks."""
    return [
        Task(kind, name, d, k, i, i < how.students, how.seed)
        for kind in how.kinds
        for name in how.activations
        for d, k in SIZES
        if k * (d + 2) <= how.largest
        for i in range(how.nets)
    ]


def report(outcomes: list[Outcome]) -> list[dict[str, Any]]:
    """Print one row per cell and return them."""
    rows = []
    for kind, name, d, k in dict.fromkeys(tuple(o.task[:4]) for o in outcomes):
        mine = [o for o in outcomes if tuple(o.task[:4]) == (kind, name, d, k)]
        students = [o.student for o in mine if o.student >= 0]
        good = [o for o in mine if o.within]
        row = {
            "cell": f"{name} {d},{k} {kind}", "nets": len(mine), "right": len(good),
            "certified": sum(o.certified for o in good),
            "certified_wrong": sum(o.certified and not o.within for o in mine),
            "direction": float(np.median([o.direction for o in mine])),
            "worst_direction": max((o.direction for o in good), default=float("nan")),
            "function": float(np.median([o.function for o in mine])),
            "worst_function": max((o.function for o in good), default=float("nan")),
            "student": float(np.median(students)) if students else None,
            "median": float(np.median([o.queries / o.unknowns for o in mine])),
            "aim": AIMS[name, kind] / mine[0].unknowns if (d, k) == (20, 10) and (name, kind) in AIMS else None,
            "seconds": float(np.median([o.seconds for o in mine])),
            "refusals": sorted({o.says for o in mine if not o.certified})[:3], "commit": exact.commits(mine),
        }  # fmt: skip
        rows.append(row)
        aim = f" (aim {row['aim']:.2f})" if row["aim"] else ""
        student = f", a student's {row['student']:.1e}" if students else ""
        print(
            f"{row['cell']}: {row['right']}/{row['nets']} right, {row['certified']} certified, "
            f"{row['certified_wrong']} certified wrong; direction {row['direction']:.1e} (at most "
            f"{row['worst_direction']:.1e}), function {row['function']:.1e} (at most {row['worst_function']:.1e})"
            f"{student}; {row['median']:.2f} queries per unknown{aim}, {row['seconds']:.2f} s",
            flush=True,
        )
    return rows


def main() -> None:
    parser = campaign.arguments(__doc__)
    parser.add_argument("--nets", type=int, default=25)
    parser.add_argument("--kinds", nargs="+", default=KINDS)
    parser.add_argument("--activations", nargs="+", default=ACTIVATIONS)
    parser.add_argument("--largest", type=int, default=10**9, help="leave out sizes with more unknowns")
    parser.add_argument("--students", type=int, default=0, help="networks per cell for which a student is trained")
    parser.add_argument("--seed", type=int, default=_TEACHERS, help="of teachers; others are for tuning")
    how = parser.parse_args()
    rows = report(exact.outcomes_of(tasks_of(how), open_one, Outcome, how))
    if how.save:
        campaign.save_rows("black_box_kinked_coarse", rows)


if __name__ == "__main__":
    main()
