"""Print the table of README.md from the committed results; a test holds README to it.

python benchmarks/summary.py
"""

from __future__ import annotations

import statistics
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from record import COMMITTED
from record import load as read

README = Path(__file__).parents[1] / "README.md"
START, END = "<!-- benchmarks/summary.py -->\n", "\n<!-- end -->"


def load(name: str) -> dict[str, Any] | None:
    path = COMMITTED / f"{name}.json"
    return read(path) if path.exists() else None


def rows() -> Iterator[tuple[str, str, str]]:
    """Yield (what, figure, script) for every result that is there."""
    if r := load("kernel_gradients"):
        ratios = " / ".join(f"{row['ratio_literal']:.0f}" for row in r["rows"])
        strong = " / ".join(f"{row['ratio_products']:.0f}" for row in r["rows"])
        worst = max(row["agreement"] for row in r["rows"])
        figure = f"{ratios} times the literal loop, {strong} times a loop of products; agree to {worst:.0e}"
        yield f"Kernel gradients, n = {r['n']:,}, {r['points']} points, d = 5 / 20 / 64", figure, "kernel_gradients"
    if r := load("oracle_scaling"):
        yield (
            "Paper's value-oracle method, k = 3, unit error 0.1, d = 5 to 100",
            f"queries grow like d^{r['slope']:.2f}: {r['rows'][0]['queries']:,.0f} to {r['rows'][-1]['queries']:,.0f}",
            "oracle_scaling",
        )
    if r := load("paper_defaults"):
        counts = " / ".join(str(row["2 of 2 within 30 degrees"]) for row in r["demo"])
        angles = " / ".join(f"{row['median angle']:.0f}" for row in r["demo"])
        yield (
            "The paper's method, literally, in the demo: value oracle / Gaussian rows / projected rows",
            f"both units within 30 degrees on {counts} of {r['demo'][0]['seeds']} seeds; median {angles} degrees",
            "paper_defaults",
        )
    if r := load("theorem_run"):
        yield theorem_row(r["rows"])
    if r := load("mirror_rate"):
        big = r["large"]
        memory = f"{big['extra_mib']:.0f} MiB beside a table of {big['n']:,} x {big['d']}"
        yield "SpectralMirror, d = 10, k = 2", f"angle falls like n^{r['slope']:.2f}; {memory}", "mirror_rate"
    if r := load("black_box_exact"):
        cells = {row["cell"]: row for row in r["rows"]}
        made = [row for name, row in cells.items() if "," in name and name.split()[0] in ("tanh", "logistic", "erf")]
        shown = [cells[name] for name in ("tanh 10,3", "tanh 50,10", "tanh 784,64") if name in cells]
        nets, refused = sum(row["nets"] for row in made), sum(row["refused"] for row in made)
        wrong = sum(row["certified_wrong"] for row in made)
        ratios = " / ".join(f"{row['median']:.2f}" for row in shown)
        yield (
            "Exact black box, queries per unknown, (d, k) = (10, 3) / (50, 10) / (784, 64)",
            f"median {ratios}; {nets} random networks, {refused} refused, {wrong} certified but wrong",
            "black_box_exact",
        )
    if r := load("black_box_noisy"):
        cells = {row["name"]: row for row in r["rows"]}
        shown = [cells[name] for name in ("sd .1 k3d20 .1", "sd .1 k5d20 .1", "sd .1 k5d50 .1") if name in cells]
        noisy = [row for name, row in cells.items() if name.startswith("sd ")]
        labels = [row for name, row in cells.items() if name.startswith("labels ")]
        yield (
            "Noisy black box (sd 0.1), queries to direction error 0.1, (d, k) = (20, 3) / (20, 5) / (50, 5)",
            f"median {medians(shown)}; all noisy settings: {outcome(noisy)}",
            "black_box_noisy",
        )
        yield (
            "Labels -1 and +1 only, queries to direction error 0.1, (d, k) = (10, 2) / (20, 3) / (20, 5)",
            f"median {medians(labels)}; {outcome(labels)}",
            "black_box_noisy",
        )
    if r := load("data_fit"):
        main = [cell for cell in r["cells"] if "scikit-learn" in cell]
        lowest = min(cell["gradsift"]["success"] for cell in main)
        peers = min(cell["scikit-learn"]["success"] for cell in main)
        cost = [
            cell.get("same tables", cell["gradsift"])["cpu_mean"] / cell["scikit-learn"]["cpu_mean"] for cell in main
        ]
        yield (
            f"Table fit, success over {len(main)} cells, least favourable cell",
            f"{lowest:.2f}; scikit-learn's MLP, best of 5, same polish: {peers:.2f}, "
            f"where gradsift takes {min(cost):.2f} to {max(cost):.2f} of its CPU time",
            "data_fit",
        )
    if r := load("zoo_run"):
        nets, good, wrong = (
            sum(row[key] for row in r["rows"]) for key in ("networks", "certified", "certified but wrong")
        )
        yield (
            f"Networks that others released or trained, {len(r['rows'])} families",
            f"{good} of {nets} certified, {wrong} certified but wrong; each refusal names its cause",
            "zoo_run",
        )
    if r := load("table_certificates"):
        every = r["summary"]["all"]
        yield (
            f"{every['tables']:,} simulated tables of {len(r['summary']) - 1} awkward kinds, number of units",
            f"{every['certified']} certified, {every['certified_wrong']} of them wrong",
            "table_certificates",
        )
    if r := load("interval_coverage"):
        shares = [share for setting in r["coverage"].values() for share in setting.values()]
        yield (
            f"95% intervals (coefficients, mean, observation), {len(r['coverage'])} kinds of noise, "
            f"{r['replications']} tables each",
            f"cover {100 * min(shares):.1f}% to {100 * max(shares):.1f}%",
            "interval_coverage",
        )
    if r := load("real_tables"):
        real = [row for row in r["tables"].values() if not row["true_sum"]]
        sums = [row for row in r["tables"].values() if row["true_sum"]]
        within, best = sum(row["within"] for row in real), sum(row["best"] for row in sums)
        yield (
            f"{len(real)} real tables, 5 folds, within one standard error of the better of linear model and tuned MLP",
            f"{within} of {len(real)}; best of all methods on {best} of {len(sums)} true sums",
            "real_tables",
        )
    if r := load("gpu_kernel"):
        times = " / ".join(f"{row['float32']['ms']:.0f}" for row in r["rows"])
        errors = max(row["float32"]["relative_error"] for row in r["rows"])
        what = f"Kernel gradients on one {r['device']}, n = {r['n']:,}, {r['points']} points, d = 8 / 32 / 64"
        yield what, f"{times} ms, relative error at most {errors:.0e}", "gpu_kernel"


def theorem_row(runs: list[dict[str, Any]]) -> tuple[str, str, str]:
    """Return the row of the theorem's runs: one figure for each number of inputs."""
    by_inputs = {d: [run for run in runs if run["d"] == d] for d in dict.fromkeys(run["d"] for run in runs)}
    queries = " / ".join(f"{mine[0]['queries']:.1e}" for mine in by_inputs.values())
    centres = (statistics.median(run["centres within (degrees)"] for run in mine) for mine in by_inputs.values())
    kept = sum(run["promises kept"] for run in runs)
    return (
        f"The main theorem carried out with its own sizes, d = {' / '.join(map(str, by_inputs))}",
        f"{queries} queries; {kept} of {len(runs)} runs kept every promise; centres within "
        f"{' / '.join(f'{c:.2g}' for c in centres)} degrees (median)",
        "theorem_run",
    )


def medians(settings: list[dict[str, Any]]) -> str:
    """Return the median queries of some settings of imperfect answers."""
    return " / ".join(f"{row['median_queries']:,.0f}" for row in settings)


def outcome(settings: list[dict[str, Any]]) -> str:
    """Return how often they were right, and how often certified but wrong, together."""
    runs, right, wrong = (sum(row[key] for row in settings) for key in ("runs", "right", "certified_wrong"))
    return f"{right} of {runs} right, {wrong} certified but wrong"


def table() -> str:
    lines = ["| what | measured | script |", "|---|---|---|"]
    return "\n".join([*lines, *(f"| {what} | {figure} | `{script}.py` |" for what, figure, script in rows())])


def main() -> None:
    print(table())
    if "--write" in sys.argv:
        before, rest = README.read_text().split(START)
        README.write_text(before + START + table() + END + rest.split(END)[1])


if __name__ == "__main__":
    main()
