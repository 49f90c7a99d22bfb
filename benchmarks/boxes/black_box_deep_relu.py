"""Several hidden layers of ReLU and leaky ReLU behind a box: exact, certified, wrong, queries per unknown, refusals.

python -m benchmarks.boxes.black_box_deep_relu [--rows 10-5-5-1 "trained 8,4" ...] [--runs N] [--jobs 2] [--tuning]
    [--journal FILE] [--seconds S] [--save]

Depth, widths, activation and slope are never given. Random networks have weights of variance 2 / inputs (He) and
offsets .3 N(0, 1); trained ones are scikit-learn's, their rows take diabetes, friedman, breast cancer (one logit) and
digits (ten logits) in turn. Unknowns are all weights and offsets. A network is exact if it is certified, all rows of
all layers are within 1e-9 of the true ones (over their lengths, up to order and positive scale), and its function is
within 1e-9 of the true one's spread at 10,000 inputs N(0, 1), at as many a hundred times as far out, and at the
training rows. Units that no such input shows active are left out, and those that are always active may be named as a
sum. It is wrong if it is certified and the function is not within 1e-9 there. Queries and seconds (of a processor) are
those of all runs, refused ones too. Teachers, inputs to compare at, and method draw from separate streams; --tuning
takes others than are reported.

Published counts are given where they were checked against the print: 784-32-1 and 784-128-1, one hidden layer, trained
and not random (Carlini, Jagielski, Mironov 2020).
"""

from __future__ import annotations

import signal
import time
import warnings
from typing import Any, NamedTuple

import numpy as np

import gradsift as gs
from benchmarks import campaign
from benchmarks.boxes.deep_relu_networks import LEAST, Teacher, compared, random_teacher, trained_teacher

_TEACHERS, _METHOD, _JUDGE = 8401, 8402, 8403  # separate random streams
_DATA = ("diabetes", "friedman", "breast cancer", "digits")


class Row(NamedTuple):
    """One row of the table: sizes from inputs to outputs, or the hidden widths of trained networks; runs; the slope of
    units below their kinks; the published count of queries; seconds of a processor after which a run is stopped."""

    sizes: tuple[int, ...]
    runs: int = 30
    slope: float = 0.0
    published: str = ""
    cap: float = 60.0


def _sizes(name: str) -> tuple[int, ...]:
    return tuple(map(int, name.split("-")))


_RANDOM = {"10-5-5-1": 30, "10-10-10-1": 30, "20-10-10-1": 30, "40-20-10-1": 30, "10-20-20-1": 30, "40-20-10-10-1": 30,
           "80-40-20-1": 10, "784-32-16-1": 2, "784-128-64-1": 2, "20-16-16-16-16-1": 5, "10-10-10-3": 30,
           "20-10-10-5": 30, "40-20-10-10": 10}  # fmt: skip
_WIDTHS = ((8, 4), (16, 8), (10, 10), (32, 16), (8, 6, 4))
ROWS: dict[str, Row] = {
    **{name: Row(_sizes(name), runs, cap=300.0 if runs < 30 else 60.0) for name, runs in _RANDOM.items()},
    "784-32-1": Row((784, 32, 1), 2, published="2^19.2", cap=300.0),
    "784-128-1": Row((784, 128, 1), 2, published="2^21.5", cap=300.0),
    **{f"{name} leaky {slope}": Row(_sizes(name), 10, slope)
       for name in ("10-10-10-1", "20-10-10-1") for slope in (0.01, 0.1, 0.3)},
    **{f"trained {','.join(map(str, widths))}": Row(widths, 20) for widths in _WIDTHS},
}  # fmt: skip


class _TooLong(Exception):
    pass


def _ring(*_: Any) -> None:
    raise _TooLong


def teacher(name: str, number: int, shift: int) -> Teacher:
    """Return the network of one run."""
    row = ROWS[name]
    if name.startswith("trained"):
        return trained_teacher(_DATA[number % len(_DATA)], row.sizes, _TEACHERS + shift + number)
    return random_teacher(row.sizes, row.slope, [_TEACHERS + shift, number, *row.sizes])


def run(task: tuple[str, int, int]) -> dict[str, Any]:
    """Open one network."""
    name, number, shift = task
    truth = teacher(*task)
    oracle = gs.Oracle(truth.predict, truth.d)
    rng = np.random.default_rng([_METHOD + shift, number, list(ROWS).index(name)])
    record: dict[str, Any] = {
        "row": name, "number": number, "shift": shift, "certified": False, "exact": False, "wrong": False, "says": "",
        "n_parameters": truth.n_parameters,
    }  # fmt: skip
    started = time.process_time()
    signal.signal(signal.SIGPROF, _ring)
    signal.setitimer(signal.ITIMER_PROF, ROWS[name].cap)
    found = None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = gs.recover(oracle, random_state=rng)
        record["says"] = "" if found.certified else found.verdict
    except gs.errors.GradsiftError as refused:
        record["says"] = str(refused)
        record["layers_in_hand"] = list(getattr(getattr(refused.partial, "network", None), "widths", []))
    except (ValueError, IndexError, ArithmeticError, np.linalg.LinAlgError) as crash:
        record["says"] = f"Crashed: {type(crash).__name__}: {crash}"
    except _TooLong:
        record["says"] = f"Stopped after {ROWS[name].cap:.0f} s."
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    record |= {"queries": oracle.n_queries, "seconds": round(time.process_time() - started, 2)}
    if found is None:
        return record
    errors = compared(found, truth, np.random.default_rng([_JUDGE + shift, number]))
    certified, right = bool(found.certified), errors.function < LEAST
    return record | {
        "certified": certified, "exact": certified and right and errors.rows < LEAST, "wrong": certified and not right,
        "rows_off": errors.rows, "function_off": errors.function, "widths": list(found.network.widths),
        "never_active": errors.n_never, "always_active": errors.n_always,
        "slope": found.diagnostics.get("slope"), "spent": found.diagnostics["spent"],
    }  # fmt: skip


def summary(name: str, records: list[dict[str, Any]]) -> dict[str, Any]:
    """Return one row of the table."""
    exact = [r for r in records if r["exact"]]
    ratios = np.quantile([r["queries"] / r["n_parameters"] for r in records], [0.1, 0.5, 0.9])
    return {
        "cell": name, "runs": len(records), "unknowns": int(np.median([r["n_parameters"] for r in records])),
        "certified": sum(r["certified"] for r in records), "exact": len(exact),
        "wrong": sum(r["wrong"] for r in records),
        "rows_off": max((r["rows_off"] for r in exact), default=None),
        "function_off": max((r["function_off"] for r in records if r["certified"]), default=None),
        "per_unknown": ratios.round(1).tolist(),
        "log2_queries": round(float(np.log2(np.median([r["queries"] for r in records]))), 1),
        "published": ROWS[name].published, "seconds": round(float(np.median([r["seconds"] for r in records])), 2),
        "longest": max(r["seconds"] for r in records),
        "longest_refusal": max((r["seconds"] for r in records if not r["certified"]), default=None),
        "refusals": [r["says"][:240] for r in records if not r["certified"]],
        "inexact": [r["number"] for r in records if r["certified"] and not r["exact"]],
        "commit": campaign.commits(records),
    }  # fmt: skip


def line(row: dict[str, Any]) -> str:
    """Return what is printed of a row."""
    low, middle, high = row["per_unknown"]
    published = f", published {row['published']}" if row["published"] else ""
    return (
        f"{row['cell']}: {row['exact']}/{row['runs']} exact, {row['certified']} certified, {row['wrong']} wrong, "
        f"queries per unknown {middle} ({low} to {high}), 2^{row['log2_queries']}{published}, {row['seconds']} s, at "
        f"most {row['longest']:.0f} s"
    )


def main() -> None:
    """Run the rows that are asked for, and print and save their figures."""
    parser = campaign.arguments(__doc__)
    parser.add_argument("--rows", nargs="*", default=list(ROWS))
    parser.add_argument("--runs", type=int, help="of each row, at most")
    parser.add_argument("--first", type=int, default=0, help="number of the first run of each row")
    parser.add_argument("--tuning", action="store_true", help="other seeds than those reported")
    parser.add_argument("--causes", action="store_true", help="print the refusals")
    options = parser.parse_args()
    rows = []
    for name in options.rows:
        numbers = range(options.first, options.first + min(ROWS[name].runs, options.runs or ROWS[name].runs))
        records = list(campaign.run([(name, i, 50 * options.tuning) for i in numbers], run, options))
        if not records:
            continue
        rows.append(summary(name, records))
        print(line(rows[-1]), *(rows[-1]["refusals"] if options.causes else []), sep="\n    ", flush=True)
        if options.save:
            campaign.save_rows("black_box_deep_relu", rows[-1:])


if __name__ == "__main__":
    main()
