"""The forecast against what was spent: every row of the tables of black boxes that it is fitted to, as a ratio.

Run: ``python -m benchmarks.boxes.forecast_error``; reads ``results/black_box_exact.json``, ``black_box_noisy.json``,
``black_box_kinked.json`` and ``black_box_deep_relu.json``.
"""

from __future__ import annotations

import json
import re
from typing import NamedTuple

import gradsift as gs
from benchmarks.record import RESULTS

_REAL = "scikit-learn MLPs"  # of several dimensions in one row


class Compared(NamedTuple):
    """One row of a table: what was forecast, and the median that was spent."""

    name: str
    forecast: float
    spent: float

    @property
    def factor(self) -> float:
        """How far off, as a factor of at least one."""
        return max(self.forecast / self.spent, self.spent / self.forecast)


def exact_rows() -> list[Compared]:
    """Rows of the table with exact answers; those of several dimensions at once are left out."""
    rows = json.loads((RESULTS / "black_box_exact.json").read_text())["rows"]
    found = []
    for row in rows:
        if row["cell"].startswith(_REAL):
            continue
        d, k = (int(part) for part in re.findall(r"\d+", row["cell"].rpartition(" ")[2]))
        found.append(Compared(row["cell"], gs.forecast(d, k).queries, row["median"] * (k * (d + 2) + 1)))
    return found


def noisy_rows() -> list[Compared]:
    """Rows of the table with imperfect answers."""
    rows = json.loads((RESULTS / "black_box_noisy.json").read_text())["rows"]
    return [Compared(row["name"], _forecast(row["name"]), row["median_queries"]) for row in rows]


def growing_rows() -> list[Compared]:
    """Rows of units that grow, in one layer or several; without trained ones, and those of which few are read."""
    found = []
    for row in json.loads((RESULTS / "black_box_kinked.json").read_text())["exact"]:
        name, size = row["cell"].split()
        d, k = (int(part) for part in size.split(","))
        spent = row["median"] * (k * (d + 2) + 1)
        found.append(Compared(row["cell"], gs.forecast(d, k, activation=name).queries, spent))
    for row in json.loads((RESULTS / "black_box_deep_relu.json").read_text())["rows"]:
        sizes = [int(part) for part in row["cell"].split()[0].split("-") if part.isdigit()]
        if len(sizes) > 3 and 2 * row["certified"] > row["runs"]:
            d, *widths, m = sizes
            told = gs.forecast(d, layers=widths, n_outputs=m, activation="relu")
            found.append(Compared(row["cell"], told.queries, row["per_unknown"][1] * row["unknowns"]))
    return found


def _forecast(name: str) -> float:
    k, d = (int(n) for n in re.search(r"k(\d+)d(\d+)", name).groups())
    bounds = (-5, 5) if name.startswith("box") else None
    if name.startswith("labels"):
        return gs.forecast(d, k, "labels").queries
    if "decimals" in name or name.startswith("float32"):
        return gs.forecast(d, k, "float32", bounds=bounds).queries
    if "sd .1" in name:
        target = name.rpartition(" ")[2]
        accuracy = float(target) if name.startswith("sd") else 0.1
        return gs.forecast(d, k, "noise", noise=0.1, accuracy=accuracy, bounds=bounds).queries
    return gs.forecast(d, k, "exact", bounds=bounds).queries


def main() -> None:
    """Print all rows."""
    rows = exact_rows() + noisy_rows() + growing_rows()
    for row in rows:
        print(f"{row.name:28} forecast {row.forecast:8.0f}  spent {row.spent:8.0f}  factor {row.factor:.2f}")
    print(f"{len(rows)} rows, the worst is off by a factor of {max(row.factor for row in rows):.2f}")


if __name__ == "__main__":
    main()
