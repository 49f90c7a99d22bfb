"""Print the table of README.md from the committed results; a test holds README to it.

python benchmarks/summary.py
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results"
README = Path(__file__).parents[1] / "README.md"
START, END = "<!-- benchmarks/summary.py -->\n", "\n<!-- end -->"


def load(name: str) -> dict[str, Any] | None:
    path = RESULTS / f"{name}.json"
    return json.loads(path.read_text()) if path.exists() else None


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
    if r := load("mirror_rate"):
        big = r["large"]
        memory = f"{big['extra_mib']:.0f} MiB beside a table of {big['n']:,} x {big['d']}"
        yield "SpectralMirror, d = 10, k = 2", f"angle falls like n^{r['slope']:.2f}; {memory}", "mirror_rate"


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
