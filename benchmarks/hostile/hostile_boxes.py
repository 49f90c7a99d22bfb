"""Certificates on boxes that are not what the method hopes for: certified, wrong, refused, seconds, queries, by kind.

python -m benchmarks.hostile.hostile_boxes [--runs 20] [--jobs 2] [--kinds slab pair] [--journal runs.jsonl] [--save]

A certificate is wrong if the network differs from the box on more of the inputs that it speaks of than its stated
share, by more than the error it states for the function there; if a direction of the network inside is off by more
than its bound; if units are too many or too few, but for two within the blind angle that it states; or if the units
have another shape. Boxes, method and judge draw from separate streams; other seeds were used for tuning.
"""

from __future__ import annotations

import collections
import signal
import time
import warnings
from typing import Any

import numpy as np

import gradsift as gs
from benchmarks import campaign
from benchmarks.hostile.deep_relu_kinds import KINDS
from benchmarks.hostile.hostile_kinds import Box
from gradsift.reading.check_inputs import fresh_inputs
from gradsift.reading.verify import direction_error, value_errors

_BOXES, _METHOD, _JUDGE = 5101, 5102, 5103  # separate random streams
_CAP = 60  # seconds of a processor, of which a crowded machine gives each run its share
_BUDGET = 40_000  # queries, where the kind names none


class _TooLong(Exception):
    pass


def _ring(*_: Any) -> None:
    raise _TooLong


def run(task: tuple[str, int, int]) -> dict[str, Any]:
    """Run one box of a kind and judge what came out."""
    name, number, shift = task
    which = next(i for i, kind in enumerate(KINDS) if kind.name == name)
    box = KINDS[which].make(np.random.default_rng([_BOXES + shift, which, number]))
    told = {"kind": name, "number": number, "outcome": "", "cause": "", "wrong": "", "found": False}
    options = dict(box.oracle)
    view = options.pop("projected", None)
    oracle = gs.Oracle(box.answer, box.d, **options)
    how = {"max_queries": _BUDGET, **box.how}
    seed = np.random.default_rng([_METHOD + shift, which, number])
    start = time.process_time()
    signal.signal(signal.SIGPROF, _ring)
    signal.setitimer(signal.ITIMER_PROF, _CAP)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = gs.recover(oracle if view is None else oracle.projected(view), random_state=seed, **how)
        signal.setitimer(signal.ITIMER_PROF, 0)
        told["outcome"] = "certified" if found.certified else "not certified"
        told["cause"] = "" if found.certified else found.verdict
        told["wrong"] = judged(found, box, oracle, np.random.default_rng([_JUDGE + shift, which, number]))
        told["beyond_99"] = found.certified and beyond_99(found, box)
        told["found"] = box.truth is not None and found.n_units == box.truth.n_units and not told["wrong"]
        if not found.certified:
            told["wrong"] = ""
    except gs.errors.GradsiftError as refused:
        told |= {"outcome": "refused", "cause": f"{type(refused).__name__}: {refused}"}
        told["partial"] = refused.partial is not None
    except _TooLong:
        told["outcome"] = "too long"
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    return told | {"seconds": time.process_time() - start, "queries": oracle.n_queries}


def judged(found: gs.recovery.Recovery, box: Box, oracle: gs.Oracle, rng: np.random.Generator) -> str:
    """Say what is wrong with a result, or nothing."""
    X = fresh_inputs(found.model, oracle, 2000, rng, direction_error(found))
    known = value_errors(found, found.model, X) + 4 * found.precision.step
    if found.verification is not None:
        known = known + found.verification.unseen  # what the certificate says that noise may hide
    off = np.abs(found.model.predict(X) - box.mean(X))
    share = float(np.mean(off > known))
    if found.verification is not None and share > found.verification.share:
        return f"differs on {share:.1%} of its inputs, by up to {off.max():.2g}"
    if box.foreign:
        return f"certified as {found.model.activation} units, which they are not"
    if box.truth is None:
        return ""
    if box.truth.n_units != found.n_units:
        return _other_number(found, box.truth)
    bounds = np.asarray(found.diagnostics["error_bounds"])
    if "directions_within" in found.diagnostics:  # what the certificate says of imperfect answers, at 99.9%
        bounds = np.full(found.n_units, found.diagnostics["directions_within"])
    match = gs.match_units(found.model.units, box.truth.units)
    errors = np.empty(found.n_units)
    errors[match.order] = match.errors
    beyond = errors > np.maximum(bounds, 1e-12)
    return f"a direction is off by {errors.max():.2g}, beyond {bounds[errors.argmax()]:.2g}" if beyond.any() else ""


def _other_number(found: gs.recovery.Recovery, truth: gs.SigmoidCombination) -> str:
    """Say that the number of units is wrong, unless as many are missing as true ones are within the stated blind angle
    of others."""
    cosines = np.abs(truth.units @ truth.units.T)
    angles = np.degrees(np.arccos(np.clip(cosines[np.triu_indices(truth.n_units, 1)], 0, 1)))
    blind = found.blind_angle
    n_close = int((angles <= blind).sum()) if blind else 0
    if 0 < truth.n_units - found.n_units <= n_close:
        return ""
    return (
        f"{found.n_units} units where there are {truth.n_units}, the closest {angles.min(initial=180.0):.0f} degrees "
        f"apart and the stated blind angle {blind:.1f}"
    )


def beyond_99(found: gs.recovery.Recovery, box: Box) -> bool:
    """Say whether a direction is beyond the narrower cone that a certificate through noise states at 99%."""
    within = found.diagnostics.get("directions_within_99")
    if within is None or box.truth is None or box.truth.n_units != found.n_units:
        return False
    return bool(gs.match_units(found.model.units, box.truth.units).max_error > within)


def summary(runs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    rows = []
    for kind in KINDS:
        mine = [r for r in runs if r["kind"] == kind.name]
        if not mine:
            continue
        count = collections.Counter(r["outcome"] for r in mine)
        causes = collections.Counter(" ".join(r["cause"].split()[:14]) for r in mine if r["cause"])
        rows.append({
            "kind": kind.name, "runs": len(mine), "certified": count["certified"],
            "wrong": sum(bool(r["wrong"]) for r in mine), "beyond_99": sum(r.get("beyond_99", False) for r in mine),
            "not_certified": count["not certified"],
            "refused": count["refused"], "too_long": count["too long"], "found": sum(r["found"] for r in mine),
            "pair": kind.pair, "seconds": float(np.median([r["seconds"] for r in mine])),
            "longest": max(r["seconds"] for r in mine), "queries": float(np.median([r["queries"] for r in mine])),
            "most_queries": max(r["queries"] for r in mine), "causes": dict(causes.most_common(3)),
            "wrongs": [r["wrong"] for r in mine if r["wrong"]][:3], "commit": campaign.commits(mine),
        })  # fmt: skip
    return rows


def show(rows: list[dict[str, Any]], causes: bool) -> None:
    heads = f"{'runs':>5} {'cert':>5} {'wrong':>5} {'not':>4} {'refus':>5} {'long':>4} {'sec':>6} {'queries':>8}"
    print(f"{'kind':40} {heads}")
    for row in rows:
        print(
            f"{row['kind']:40} {row['runs']:5} {row['certified']:5} {row['wrong']:5} {row['not_certified']:4} "
            f"{row['refused']:5} {row['too_long']:4} {row['longest']:6.1f} {row['queries']:8.0f}"
            + (f"  found {row['found']}" if row["pair"] else "")
            + ("".join(f"\n      {n} x {cause}" for cause, n in row["causes"].items()) if causes else "")
            + "".join(f"\n      WRONG {wrong}" for wrong in row["wrongs"])
        )
    pairs = [row for row in rows if row["pair"]]
    if pairs:
        share = sum(row["found"] for row in pairs) / sum(row["runs"] for row in pairs)
        print(f"parallel units found: {share:.0%} of {sum(row['runs'] for row in pairs)}")
    total = {name: sum(row[name] for row in rows) for name in ("runs", "certified", "wrong", "too_long")}
    print(
        f"{total['runs']} runs of {len(rows)} kinds: {total['certified']} certified, {total['wrong']} certified but "
        f"wrong, {total['too_long']} too long, longest {max(row['longest'] for row in rows):.0f} s"
    )


def main() -> None:
    parser = campaign.arguments(__doc__)
    parser.add_argument("--runs", type=int, default=20, help="of each kind")
    parser.add_argument("--first", type=int, default=0, help="number of the first run of each kind: others are fresh")
    parser.add_argument("--kinds", nargs="*", help="only kinds whose names contain one of these words")
    parser.add_argument("--tuning", action="store_true", help="other seeds than those reported")
    parser.add_argument("--causes", action="store_true", help="show why boxes were refused")
    options = parser.parse_args()
    names = [k.name for k in KINDS if not options.kinds or any(word in k.name for word in options.kinds)]
    numbers = range(options.first, options.first + options.runs)
    tasks = [(name, i, 50 * options.tuning) for i in numbers for name in names]
    rows = summary(list(campaign.run(tasks, run, options)))
    show(rows, options.causes)
    if options.save:
        numbered = [{**row, "first": options.first} for row in rows]
        campaign.save_rows("hostile_boxes", numbered, by="kind", cap_seconds=_CAP)


if __name__ == "__main__":
    main()
