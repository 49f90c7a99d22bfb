"""Print the table of README.md from the committed results, ours beside the best others; a test holds README to it.

python -m benchmarks.summary [--write]
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.evidence import ratio
from benchmarks.record import COMMITTED
from benchmarks.record import load as read

README = Path(__file__).parents[1] / "README.md"
START, END = "<!-- benchmarks/summary.py -->\n", "\n<!-- end -->"


class Row(NamedTuple):
    """A line of the table; a ratio is ours over the best other's, below one is better."""

    what: str
    ours: str
    others: str
    ratio: str
    script: str


def load(name: str) -> dict[str, Any] | None:
    path = COMMITTED / f"{name}.json"
    return read(path) if path.exists() else None


def rows() -> Iterator[Row]:
    """Yield a row for every result that is there: boxes, networks of others, tables, speed."""
    yield from box_rows()
    yield from imperfect_rows()
    yield from table_rows()
    yield from speed_rows()


def box_rows() -> Iterator[Row]:
    """Exact black boxes."""
    if r := load("peer_boxes"):
        yield from peer_rows(r["rows"])
    if (r := load("black_box_kinked")) and r.get("large"):
        ours, theirs = ([2 ** row[key] for row in r["large"]] for key in ("log2_queries", "published"))
        yield Row(
            "ReLU 784-32-1 / 784-128-1, queries", " / ".join(f"{q:,.0f}" for q in ours),
            " / ".join(f"{q:,.0f}" for q in theirs) + " (published, Carlini et al. 2020)",
            " / ".join(map(ratio, ours, theirs)), "black_box_kinked",
        )  # fmt: skip
    if r := load("black_box_exact"):
        made = [
            row for row in r["rows"] if "," in row["cell"] and row["cell"].split()[0] in ("tanh", "logistic", "erf")
        ]
        nets, refused, wrong = (sum(row[key] for row in made) for key in ("nets", "refused", "certified_wrong"))
        yield Row(f"{nets:,} random networks of one layer", f"{refused} refused, {wrong} certified but wrong", "", "",
                  "black_box_exact")  # fmt: skip
    if r := load("black_box_deep"):
        deep = [row for row in r["rows"] if row["row"] != "one layer"]
        nets, good, wrong = (
            sum(row[key] for row in deep) for key in ("nets", "exact_and_certified", "certified_but_wrong")
        )
        told = f"{good} of {nets} exact and certified, {wrong} certified but wrong"
        yield Row("Networks of two and three layers, depth and widths not given", told, "", "", "black_box_deep")
    if r := load("black_box_deep_relu"):
        runs, exact, wrong = (sum(row[key] for row in r["rows"]) for key in ("runs", "exact", "wrong"))
        told = f"{exact} of {runs} exact and certified, {wrong} certified but wrong"
        yield Row("Several layers of ReLU, depth and widths not given", told, "", "", "black_box_deep_relu")
    if r := load("zoo_run"):
        nets, good, wrong = (
            sum(row[key] for row in r["rows"]) for key in ("networks", "certified", "certified but wrong")
        )
        yield Row(f"Networks that others released or trained, {len(r['rows'])} families",
                  f"{good} of {nets} certified, {wrong} certified but wrong", "", "", "zoo_run")  # fmt: skip


def peer_rows(table: list[dict[str, Any]]) -> Iterator[Row]:
    """Successes over all boxes, and queries on those that the best peer opens as well."""
    own = [row for row in table if row["method"] == "ours" and "best peer" in row]
    mine, theirs = (sum(int(row[key].split()[0]) for row in own) for key in ("success", "best peer's success"))
    runs = sum(int(row["success"].split()[2]) for row in own)
    yield Row(f"Exact boxes of {len(own)} kinds (activations, depths, sizes), all units found", f"{mine} of {runs}",
              f"{theirs} of {runs} (the best of four for each kind, told the shape)", "", "peer_boxes")  # fmt: skip
    for box in ("tanh 5-2-1", "tanh 50-10-1"):
        for row in (row for row in own if row["box"] == box):
            best = next(r for r in table if r["box"] == box and r["method"] == row["best peer"])
            names = "queries per unknown", "CPU seconds"
            yield Row(
                f"... {box}: queries per unknown; CPU seconds", "; ".join(f"{row[n]:g}" for n in names),
                "; ".join(f"{best[n]:g}" for n in names) + f" ({best['method']}, {best['success']})",
                "; ".join(ratio(row[n], best[n]) for n in names), "peer_boxes",
            )  # fmt: skip


def imperfect_rows() -> Iterator[Row]:
    """Black boxes whose answers are noisy, or labels."""
    if r := load("black_box_noisy"):
        cells = {row["name"]: row for row in r["rows"]}
        if (one := cells.get("sd .1 k3d10 .1")) and (paper := r.get("paper")):
            yield Row(
                "Noisy box (sd 0.1), (d, k) = (10, 3), queries to direction error 0.1", f"{one['median_queries']:,.0f}",
                f"{paper['queries']:,} (the paper's value oracle)", ratio(one["median_queries"], paper["queries"]),
                "black_box_noisy",
            )  # fmt: skip
        for what, start in (("all noisy boxes", "sd "), ("labels -1 and +1 only", "labels ")):
            yield Row(f"... {what}", outcome([row for name, row in cells.items() if name.startswith(start)]), "", "",
                      "black_box_noisy")  # fmt: skip


def outcome(settings: list[dict[str, Any]]) -> str:
    """Return how often they were right, and how often certified but wrong, together."""
    runs, right, wrong = (sum(row[key] for row in settings) for key in ("runs", "right", "certified_wrong"))
    return f"{right} of {runs} right, {wrong} certified but wrong"


def table_rows() -> Iterator[Row]:
    """Tables of samples."""
    if r := load("data_fit"):
        main = [cell for cell in r["cells"] if "scikit-learn" in cell]
        ours, theirs = (min(cell[name]["success"] for cell in main) for name in ("gradsift", "scikit-learn"))
        cost = [
            cell.get("same tables", cell["gradsift"])["cpu_mean"] / cell["scikit-learn"]["cpu_mean"] for cell in main
        ]
        yield Row(f"Table fit, success in the worst of {len(main)} cells; CPU time", f"{ours:.2f}",
                  f"{theirs:.2f} (scikit-learn's MLP, best of 5, same polish)",
                  f"CPU {min(cost):.2f} to {max(cost):.2f}", "data_fit")  # fmt: skip
    if r := load("peer_tables"):
        held = {row["method"]: row for row in r["same_data"]}
        for answers in ("labels", "values"):
            others = {n: row[answers] for n, row in held.items() if isinstance(row.get(answers), float) and n != "ours"}
            best = min(others, key=lambda name: others[name])
            mine = held["ours"][answers]
            yield Row(f"Two units from 20,000 {answers}, angle of the worst, degrees", f"{mine:.2f}",
                      f"{others[best]:.2f} ({best}; the best of {len(others)})", ratio(mine, others[best]),
                      "peer_tables")  # fmt: skip
    if r := load("phase_table"):
        ours, theirs, wrong, n = (
            sum(row[key] for row in r["rows"])
            for key in ("ours", "scikit-learn's MLP", "certified but wrong", "tables")
        )
        yield Row(f"{n} tables of 100 to 10,000 rows, 1 to 10 units, all units found",
                  f"{ours}, number of units not given; {wrong} certified but wrong",
                  f"{theirs} (scikit-learn's MLP, told the number)", "", "phase_table")  # fmt: skip
    if r := load("real_tables"):
        splits = [r["tables"], *r.get("other_splits", {}).values()]
        real = [[row for row in tables.values() if not row["true_sum"]] for tables in splits]
        within = ", ".join(f"{sum(row['within'] for row in rows)} of {len(rows)}" for rows in real)
        yield Row(f"{len(real[0])} real tables, 5 folds" + (f", {len(real)} splits" if len(real) > 1 else ""),
                  f"{within} within one standard error of the better other",
                  "linear model, tuned MLP", "", "real_tables")  # fmt: skip
    if r := load("table_certificates"):
        every = r["summary"]["all"]
        yield Row(f"{every['tables']:,} simulated tables of {len(r['summary']) - 1} awkward kinds, number of units",
                  f"{every['certified']} certified, {every['certified_wrong']} of them wrong", "", "",
                  "table_certificates")  # fmt: skip
    if r := load("interval_coverage"):
        shares = [100 * share for setting in r["coverage"].values() for share in setting.values()]
        yield Row("95% intervals, 3 kinds of noise", f"cover {min(shares):.1f}% to {max(shares):.1f}%", "", "",
                  "interval_coverage")  # fmt: skip


def speed_rows() -> Iterator[Row]:
    """Time."""
    if r := load("black_box_large"):
        one = max(
            (row for row in r["rows"] if row["device"] == "cpu" and row["threads"] == 1),
            key=lambda w: (w["unknowns"], -w["own_seconds"]),
        )
        yield Row(f"{one['unknowns']:,} unknowns behind a box, own CPU seconds; queries per unknown",
                  f"{one['own_seconds']:.0f}; {one['queries_per_unknown']:.3f}",
                  f"{one['evaluation_seconds']:.0f} (evaluating the box)",
                  ratio(one["own_seconds"], one["evaluation_seconds"]), "black_box_large")  # fmt: skip
    if r := load("kernel_gradients"):
        yield Row("Kernel gradients, d = 5 / 20 / 64, time", "", "a loop of matrix products",
                  " / ".join(f"{1 / row['ratio_products']:.2f}" for row in r["rows"]), "kernel_gradients")  # fmt: skip


def table() -> str:
    lines = ["| what | ours | others | ours over theirs | script |", "|---|---|---|---|---|"]
    lines += [
        "|" + "|".join(f" {cell} " if cell else " " for cell in (*r[:-1], f"`{r.script}.py`")) + "|" for r in rows()
    ]
    return "\n".join(lines)


def main() -> None:
    print(table())
    if "--write" in sys.argv:
        before, rest = README.read_text().split(START)
        README.write_text(before + START + table() + END + rest.split(END)[1])


if __name__ == "__main__":
    main()
