"""Networks with two and three hidden layers behind a box: exact, refused, certified but wrong; queries; time.

python -m benchmarks.boxes.black_box_deep [--rows random,canyon,trained,one,float32,rest] [--share 1.0]
    [--first N] [--jobs 1] [--journal FILE] [--seconds S] [--wheel FILE] [--save]

Depth and widths are never given. A network counts as exact if its widths are right and every row of every layer is
within 1e-8 of the true one, relative to its length; units that are constant in double precision do not count. Behind
float32 answers the first layer has to be within 1e-4, and the function within 1e-4 of its standard deviation.
``--journal FILE`` keeps each network's line, so that a run may be stopped; ``--wheel`` names the wheel of CANYON-B
where it cannot be fetched. ``--save`` adds to the networks saved before with the same seeds. Teachers and method draw
from streams of their own; tuning used the seeds 900 and 901 of random and float32 networks, seed 880 of trained
networks, and then, of earlier versions, what was refused of all rows with the teachers' seed 971; those of 981 were
drawn once, for what is saved. Of CANYON-B every sixth network was used for tuning, and AT12, AT18, CT8, CT10, NO318,
NO319, SiOH45, SiOH423, PO40, PO45, PO46, PO47, PO413, PO416 and PO423. Units that the verdict names as at rest count as
a part of the constant, if the function is right with them. The rule for constant units (`without_dead`) is younger than
its first result: by the one before, arguments beyond 17 everywhere, CANYON-B's pCO210 counted as certified but wrong;
AT10 and CT11 were once, without a unit that adds 1e-13, and are refused since. Run with one BLAS thread
(OMP_NUM_THREADS=1).
"""

from __future__ import annotations

import json
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import gradsift as gs
from benchmarks import campaign
from benchmarks.boxes.deep_networks import (
    canyon_networks,
    random_deep,
    single_precision,
    trained,
    use_wheel,
    with_a_unit_at_rest,
)
from benchmarks.record import RESULTS, save
from benchmarks.zoo.specimen import without_dead, without_resting

_TEACHERS, _METHOD = 981, 982
_EXACT, _COARSE = 1e-8, 1e-4

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
    if "rest" in kinds:
        yield from (Case("a unit at rest", "rest", (i,)) for i in range(max(1, round(30 * share))))
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
    if case.kind == "rest":
        below = random_deep([_TEACHERS, 6, case.name[0], 8], 6, (8, 4))
        return with_a_unit_at_rest(below, [_TEACHERS, 8, case.name[0]])
    if case.kind == "one":
        return random_deep([_TEACHERS, 10, case.name[0]], 10, (6,))
    if case.kind == "trained":
        data, widths, activation, seed = case.name
        return trained(data, tuple(widths), activation, _TEACHERS + seed)
    return canyon_networks()[case.name[0]]


def run_case(case: Case) -> dict[str, Any]:
    """Open one network and say how it went."""
    truth = teacher(case)
    function = single_precision(truth) if case.kind == "float32" else truth.predict
    oracle = gs.Oracle(function, truth.n_features)
    record: dict[str, Any] = {
        "teachers": _TEACHERS,
        "row": case.row,
        "kind": case.kind,
        "name": list(case.name),
        "widths": list(truth.widths),
    }
    began = time.process_time()
    certified, error, cause, found, partial = False, np.inf, "", None, None
    match = _match_coarsely if case.kind == "float32" else _match
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = gs.recover(oracle, activation=truth.activation, random_state=_seed_of(case))
        certified, cause = found.certified, "" if found.certified else found.verdict
        error = match(found, truth)
    except gs.errors.GradsiftError as refused:
        cause, partial = str(refused), refused.partial
    exact = error <= (_COARSE if case.kind == "float32" else _EXACT)
    record.update(
        unknowns=truth.n_parameters, queries=oracle.n_queries, seconds=round(time.process_time() - began, 2),
        certified=bool(certified), exact=bool(exact), error=float(error) if np.isfinite(error) else None,
        cause=cause, first_layer=_first_layer(truth, found, partial),
        at_rest=[] if found is None else list(found.diagnostics.get("at_rest", [])),
    )  # fmt: skip
    if case.kind == "one":
        alone = gs.Oracle(truth.predict, truth.n_features)
        gs.recover(alone, activation=truth.activation, random_state=_seed_of(case), layers=1)
        record["queries_with_one"] = alone.n_queries
    return record


def _match(found: Any, truth: gs.Network) -> float:
    """Return the largest relative error of a row of a layer; infinite if the widths are others.

    Units that the verdict names as at rest count as a constant, and as many of the true ones as there are more of them;
    the function has to be right with them.
    """
    network, right = found.network, without_dead(truth)
    at_rest = found.diagnostics.get("at_rest", [])
    n_resting = right.widths[-1] - (network.widths[-1] - len(at_rest))
    if not at_rest or n_resting < 0 or len(network.widths) != len(right.widths):
        return float(gs.match_networks(network, right).max_error)
    X = np.random.default_rng(_TEACHERS).standard_normal((2000, truth.n_features))
    values = truth.predict(X)
    off = float(np.abs(network.predict(X) - values).max() / values.std())
    moving = gs.match_networks(without_resting(network, at_rest), without_resting(right, n_resting))
    return max(off, float(moving.max_error))


def _match_coarsely(found: Any, truth: gs.Network) -> float:
    """Return the larger of the first layer's error and that of the function over its standard deviation."""
    network = found.network
    if found.diagnostics.get("at_rest") and network.widths[:-1] == truth.widths[:-1]:
        first = float(gs.match_units(network.layers[0].weights, truth.layers[0].weights).max_error)
    elif network.widths == truth.widths:
        first = float(gs.match_networks(network, truth).errors[0].max())
    else:
        return np.inf
    X = np.random.default_rng(_TEACHERS).standard_normal((2000, truth.n_features))
    values = truth.predict(X)
    off = float(np.abs(network.predict(X) - values).max() / values.std())
    return max(off, first)


def _seed_of(case: Case) -> int:
    """Return the method's seed: the same in every process."""
    letters = np.frombuffer(str(case.name).encode(), dtype=np.uint8)
    return int(np.random.default_rng([_METHOD, *letters.tolist()]).integers(2**31))


def _first_layer(truth: gs.Network, found: Any, partial: Any) -> bool | None:
    """Say whether the first layer is complete and without false units; None where there is none to compare.

    Where no network is vouched for, the hyperplanes count as they were read: a fit that fails leads them away.
    """
    result = found if found is not None else partial
    network = getattr(result, "model", None)
    if not isinstance(network, gs.Network):
        return None
    units = network.layers[0].weights if result.certified else result.diagnostics["normals"]
    match = gs.match_units(units, truth.layers[0].weights)
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
            "units_at_rest": sum(bool(r.get("at_rest")) for r in good),
            "first_layer": sum(r["first_layer"] is True for r in mine), "commit": campaign.commits(mine),
        }  # fmt: skip
        if any("queries_with_one" in r for r in mine):
            line["over_one_layer"] = max(r["queries"] / r["queries_with_one"] for r in mine)
        rows.append(line)
    return rows


def _key(record: dict[str, Any]) -> str:
    return json.dumps([record["kind"], record["name"]])


def _merged(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return these networks and those saved before, in the order of the rows."""
    path = RESULTS / "black_box_deep.json"
    before = json.loads(path.read_text())["nets"] if path.exists() else []
    before = [r for r in before if r.get("teachers") == _TEACHERS]
    found = {_key(r): r for r in [*before, *records]}
    rows = [f"{d}; {','.join(map(str, widths))}" for d, widths, _ in RANDOM]
    return sorted(found.values(), key=lambda r: (rows.index(r["row"]) if r["row"] in rows else len(rows), r["row"]))


def main() -> None:
    """Run from the command line."""
    parser = campaign.arguments(__doc__)
    parser.add_argument("--rows", default="random,trained,one,float32")
    parser.add_argument("--share", type=float, default=1.0, help="of the networks of each row")
    parser.add_argument("--first", type=int, help="run only so many networks")
    parser.add_argument("--wheel", type=Path)
    options = parser.parse_args()
    if options.wheel is not None:
        use_wheel(options.wheel)
    wanted = list(cases(set(options.rows.split(",")), options.share))[: options.first]
    records = []
    for record in campaign.run(wanted, run_case, options):
        print(json.dumps({key: value for key, value in record.items() if key not in ("cause", "task")}), flush=True)
        records.append(record)
    if options.save:
        records = _merged(records)
    rows = table(records)
    for row in rows:
        print(row)
    if options.save:
        print(save("black_box_deep", {"rows": rows, "nets": records}))


if __name__ == "__main__":
    main()
