"""Nearly parallel units through noise: are two units found as two, and is one never certified in their place?

python -m benchmarks.boxes.black_box_pairs [--runs 20] [--jobs 2] [--journal runs.jsonl] [--save]

Parts, each with fresh boxes (networks, noise and method draw from separate streams; tuning used ``--tuning``):

- pairs: two units of slope about 2 at an angle, offsets of spread 0.6, weights .65 and .65 or .85 and .45; tanh and
  ReLU; d 4, 10 and 20; noise .1, .03 and .01. A certificate with a wrong number of units counts as wrong where the
  angle is above the blind angle that it states; `two` counts runs that found two units there, certified or not.
- gaussian: random networks with Gaussian rows, weights .4 to 1.2, d 3 to 10, k 2 to 5.
- advice: five kinds of pairs through noise .05; where a verdict or a refusal advises another activation, it is
  followed.
"""

from __future__ import annotations

import argparse
import re
import time
import warnings
from collections.abc import Callable
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from scipy.special import erf

import gradsift as gs
from benchmarks import campaign
from benchmarks.record import save

ANGLES, NOISES, SIZES = (3, 5, 10, 15, 20, 25, 30, 40), (0.1, 0.03, 0.01), (4, 10, 20)
WEIGHTS = {"equal": (0.65, 0.65), "unequal": (0.85, 0.45)}
FAMILIES: dict[str, Callable[[Any], Any]] = {
    "tanh": np.tanh,
    "relu": lambda z: np.maximum(z, 0),
    "gelu": lambda z: 0.5 * z * (1 + erf(z / np.sqrt(2))),
}
_BUDGET = 40_000
_STREAMS = {"box": 7201, "noise": 7202, "method": 7203}


def streams(shift: int, *key: int) -> dict[str, np.random.Generator]:
    """Return separate generators for the network, its noise and the method."""
    return {name: np.random.default_rng([number + shift, *key]) for name, number in _STREAMS.items()}


def asked(function: Callable[[Any], Any], d: int, rng: np.random.Generator, **options: Any) -> tuple[Any, int]:
    """Return what `recover` found, or the refusal, and the queries."""
    oracle = gs.Oracle(function, d, max_queries=_BUDGET)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return gs.recover(oracle, random_state=rng, **options), oracle.n_queries
        except gs.errors.GradsiftError as refused:
            return refused, oracle.n_queries


def told(found: Any, n_queries: int, rows: Any, family: str, started: float) -> dict[str, Any]:
    """Return what a run says of a box with units of these rows, (k, d), and of this family.

    A certificate is `off` if it names another family, or a direction that is beyond its bound of 99.9%.
    """
    certified = bool(getattr(found, "certified", False))
    right, off = getattr(found, "n_units", None) == len(rows), False
    if certified and right:
        within = found.diagnostics.get("directions_within", max(found.diagnostics["error_bounds"]))
        off = found.model.activation != family or gs.match_units(found.model.units, rows).max_error > max(within, 1e-3)
    return {
        "n_units": getattr(found, "n_units", None), "certified": certified, "queries": n_queries, "off": off,
        "blind": getattr(found, "blind_angle", None), "seconds": time.process_time() - started, "right": right,
        "says": "" if certified else (found.verdict if hasattr(found, "verdict") else str(found))[:200],
    }  # fmt: skip


def pair_rows(angle: float, d: int, rng: np.random.Generator) -> tuple[Any, Any]:
    """Draw two rows at an angle, (2, d), and their offsets."""
    e = np.linalg.qr(rng.standard_normal((d, 2)))[0].T
    t = np.deg2rad(angle)
    rows = np.stack([e[0], np.cos(t) * e[0] + np.sin(t) * e[1]])
    return 2 * np.exp(rng.uniform(-0.2, 0.2, (2, 1))) * rows, 0.6 * rng.standard_normal(2)


def run_pair(task: tuple[Any, ...]) -> dict[str, Any]:
    """Run one pair of units."""
    family, angle, sd, d, weights, number, shift = task
    key = [list(FAMILIES).index(family), angle, int(1000 * sd), d, list(WEIGHTS).index(weights), number]
    draw = streams(shift, *key)
    A, b = pair_rows(angle, d, draw["box"])
    u, f = np.array(WEIGHTS[weights]), FAMILIES[family]
    started = time.process_time()
    found, n = asked(
        lambda X: f(X @ A.T + b) @ u + sd * draw["noise"].standard_normal(len(X)), d, draw["method"],
        activation=family,
    )  # fmt: skip
    row = {"part": "pairs", "family": family, "angle": angle, "sd": sd, "d": d, "weights": weights, "number": number}
    return row | told(found, n, A, family, started)


def run_gaussian(task: tuple[Any, ...]) -> dict[str, Any]:
    """Run one random network with Gaussian rows."""
    sd, number, shift = task
    draw = streams(shift, 99, int(1000 * sd), number)
    rng = draw["box"]
    d, k = int(rng.integers(3, 11)), int(rng.integers(2, 6))
    A, b = rng.standard_normal((k, d)), rng.standard_normal(k)
    u = rng.choice([-1.0, 1.0], k) * rng.uniform(0.4, 1.2, k)
    started = time.process_time()
    found, n = asked(
        lambda X: np.tanh(X @ A.T + b) @ u + sd * draw["noise"].standard_normal(len(X)), d, draw["method"]
    )  # fmt: skip
    cosines = np.abs((A @ A.T) / np.outer(*[np.linalg.norm(A, axis=1)] * 2))
    closest = float(np.degrees(np.arccos(np.clip((cosines - 2 * np.eye(k)).max(), 0, 1))))
    return {"part": "gaussian", "sd": sd, "d": d, "k": k, "number": number, "closest": closest} | told(
        found, n, A, "tanh", started
    )


class _Hidden(NamedTuple):
    """A function, the rows of its units (k, d), and their family, which is named to `recover` if that is needed."""

    mean: Callable[[Any], Any]
    rows: Any
    family: str


def parallel_tanh(rng: np.random.Generator) -> _Hidden:
    """Two parallel tanh units, offsets 1.6 to 2.6 apart, and another; noise hides closer ones, and sentences say so."""
    shift = rng.uniform(0.8, 1.3)

    def f(X: Any) -> Any:
        return (
            0.8 * np.tanh(2 * X[:, 0] + shift) + 0.5 * np.tanh(2 * X[:, 0] - shift) - 0.7 * np.tanh(X[:, 1] + X[:, 2])
        )

    return _Hidden(f, np.array([[1.0, 0, 0, 0], [1.0, 0, 0, 0], [0, 1.0, 1.0, 0]]), "tanh")


def _two(family: str, angle: float, signs: tuple[float, float], shift: float = 0.0) -> Callable[..., Any]:
    def make(rng: np.random.Generator) -> _Hidden:
        A, b = pair_rows(angle, 4, rng)
        if shift:
            A[1], b[1] = A[0], b[0] - shift * rng.uniform(0.7, 1.3)
        other, f = rng.standard_normal(4), FAMILIES[family]
        u = np.array([0.85, 0.6]) * signs
        return _Hidden(lambda X: f(X @ A.T + b) @ u - 0.7 * f(X @ other), np.stack([*A, other]), family)

    return make


ADVICE: dict[str, Callable[[np.random.Generator], _Hidden]] = {
    "parallel tanh": parallel_tanh,
    "nearly parallel ReLU": _two("relu", 5.0, (1.0, 1.0)),
    "opposite parallel ReLU": _two("relu", 5.0, (1.0, -1.0), shift=1.0),
    "nearly parallel GELU": _two("gelu", 5.0, (1.0, 1.0)),
    "parallel GELU": _two("gelu", 5.0, (1.0, 1.0), shift=1.5),
}


def run_advice(task: tuple[Any, ...]) -> dict[str, Any]:
    """Run one pair and follow the advice of the verdict, up to three times."""
    kind, number, shift = task
    draw = streams(shift, 98, list(ADVICE).index(kind), number)
    mean, rows, family = ADVICE[kind](draw["box"])
    options: dict[str, Any] = {} if family == "tanh" else {"activation": family}
    trail, total, started = [], 0, time.process_time()
    for _ in range(4):
        found, n = asked(
            lambda X: mean(X) + 0.05 * draw["noise"].standard_normal(len(X)), 4, draw["method"], **options
        )  # fmt: skip
        total += n
        trail.append(options.get("activation", "auto"))
        advised = re.search(r"activation='([a-z_]+)'|use '([a-z_]+)'", getattr(found, "verdict", str(found)))
        name = advised and (advised.group(1) or advised.group(2))
        if getattr(found, "certified", False) or not name or name in trail:
            break
        options = {"activation": name}
    return {"part": "advice", "kind": kind, "number": number, "trail": trail} | told(
        found, total, rows, family, started
    )


_RUNS = {"pairs": run_pair, "gaussian": run_gaussian, "advice": run_advice}


def run(task: tuple[str, tuple[Any, ...]]) -> dict[str, Any]:
    """Run a task of any part."""
    part, what = task
    return _RUNS[part](what)


def tasks(options: argparse.Namespace) -> list[tuple[str, tuple[Any, ...]]]:
    """Return what is to be run, in an order that meets every cell early."""
    shift = 50 * options.tuning
    numbers = range(options.first, options.first + options.runs)
    every: list[tuple[str, tuple[Any, ...]]] = []
    for number in numbers:
        if "pairs" in options.parts:
            cells = product(options.families, options.angles, options.noises, options.sizes, WEIGHTS)
            every += [("pairs", (*cell, number, shift)) for cell in cells]
        if "advice" in options.parts:
            every += [("advice", (kind, number, shift)) for kind in ADVICE]
    if "gaussian" in options.parts:
        n = options.gaussian
        every += [("gaussian", (sd, i, shift)) for i in range(options.first, options.first + n) for sd in (0.1, 0.03)]
    return every


def pair_summary(runs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return a row for each family, noise and dimension, and one for all."""
    rows = []
    cells = [(f, sd, d) for f in FAMILIES for sd in NOISES for d in SIZES] + [
        (f, sd, None) for f in FAMILIES for sd in NOISES
    ]
    for family, sd, d in cells:
        mine = [r for r in runs if r["family"] == family and r["sd"] == sd and d in (None, r["d"])]
        if not mine:
            continue
        certified = [r for r in mine if r["certified"]]
        typical = float(np.median([r["blind"] for r in certified])) if certified else None
        above = [r for r in mine if r["angle"] > (r["blind"] if r["certified"] else typical or 0.0)]
        rows.append({
            "family": family, "sd": sd, "d": d, "runs": len(mine), "certified": len(certified),
            "wrong": sum(r["certified"] and not r["right"] and not _within_blind_angle(r) for r in mine),
            "one_within_blind_angle": sum(map(_within_blind_angle, mine)),
            "judged_by_direction": sum("off" in r for r in mine), "off": sum(r.get("off", False) for r in mine),
            "widest_blind": max((r["blind"] for r in certified), default=None),
            "above": len(above), "two": sum(r["right"] for r in above), "median_blind": typical,
            "median_queries": float(np.median([r["queries"] for r in mine])),
            "longest": max(r["seconds"] for r in mine), "commit": campaign.commits(mine),
            "by_angle": {
                str(a): [sum(r["right"] for r in mine if r["angle"] == a), sum(r["angle"] == a for r in mine)]
                for a in ANGLES
            },
        })  # fmt: skip
    return rows


def _within_blind_angle(r: dict[str, Any]) -> bool:
    """Tell whether a certificate with too few units says that it may have missed one so close."""
    return bool(r["certified"] and r["n_units"] < 2 and r["angle"] <= r["blind"])


def show(runs: list[dict[str, Any]]) -> dict[str, Any]:
    """Print and return the summaries."""
    pairs = pair_summary([r for r in runs if r["part"] == "pairs"])
    if pairs:
        print(f"{'pairs':20} runs cert wrong blind-one  above  two  median blind  queries  found as two by angle")
    for r in pairs:
        by = " ".join(f"{a}:{x}/{n}" for a, (x, n) in r["by_angle"].items() if n)
        blind = "-" if r["median_blind"] is None else f"{r['median_blind']:.2f}"
        share = r["two"] / max(r["above"], 1)
        name = f"{r['family']} sd {r['sd']} d {r['d'] or 'all'}"
        print(
            f"{name:20} {r['runs']:4} {r['certified']:4} {r['wrong']:5} {r['one_within_blind_angle']:9} "
            f"{r['above']:6} {share:4.0%} {blind:>13} {r['median_queries']:8.0f}  {by}"
        )
    out: dict[str, Any] = {"pairs": pairs}
    for part in ("gaussian", "advice"):
        mine = [r for r in runs if r["part"] == part]
        if not mine:
            continue
        keys = sorted({r["sd"] if part == "gaussian" else r["kind"] for r in mine}, key=str)
        out[part] = []
        for key in keys:
            own = [r for r in mine if key == (r["sd"] if part == "gaussian" else r["kind"])]
            row = {
                "which": key, "runs": len(own), "certified": sum(r["certified"] for r in own),
                "wrong": sum((r["certified"] and not r["right"]) or r.get("off", False) for r in own),
                "right": sum(r["right"] for r in own),
                "median_queries": float(np.median([r["queries"] for r in own])),
                "longest": max(r["seconds"] for r in own), "commit": campaign.commits(own),
            }  # fmt: skip
            out[part].append(row)
            print(
                f"{part} {key}: {row['runs']} runs, {row['certified']} certified, {row['wrong']} wrong, "
                f"{row['right']} with the right number, {row['median_queries']:.0f} queries"
            )
    return out


def main() -> None:
    """Run, print, and save on request."""
    parser = campaign.arguments(__doc__)
    parser.add_argument("--runs", type=int, default=20, help="of each cell and each kind of advice")
    parser.add_argument("--gaussian", type=int, default=150, help="random networks for each noise")
    parser.add_argument("--first", type=int, default=0, help="number of the first run: others are fresh")
    parser.add_argument("--parts", nargs="*", default=list(_RUNS))
    parser.add_argument("--families", nargs="*", default=["tanh", "relu"])
    parser.add_argument("--angles", nargs="*", type=int, default=ANGLES)
    parser.add_argument("--noises", nargs="*", type=float, default=NOISES)
    parser.add_argument("--sizes", nargs="*", type=int, default=SIZES)
    parser.add_argument("--tuning", action="store_true", help="other seeds than those reported")
    options = parser.parse_args()
    figures = show(list(campaign.run(tasks(options), run, options)))
    if options.save:
        save("black_box_pairs", {**figures, "first": options.first, "runs": options.runs})


if __name__ == "__main__":
    main()
