"""The page of evidence: ours beside the best others, from result files; losses are marked, corrupted files refused.

    python -m benchmarks.evidence [--results FOLDER] [--out FOLDER]

Every number comes from a result file, which says when and on what it was measured. A ratio is ours over the best
peer's, so that below one is better; a bold one is a loss. A part whose results are missing says so.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from benchmarks import pictures
from benchmarks.record import COMMITTED, load

Rows = list[dict[str, Any]]


class Results:
    """The result files of a folder, read when they are asked for; the pictures drawn from them."""

    def __init__(self, folder: Path, out: Path):
        self.folder, self.out = folder, out

    def __call__(self, name: str) -> dict[str, Any] | None:
        path = self.folder / f"{name}.json"
        return load(path) if path.exists() else None

    def picture(self, name: str, draw: Callable[[Path], None], words: str) -> str:
        """Draw a picture beside the page and return the line that shows it."""
        path, fresh = self.out / f"{name}.svg", self.out / f"{name}.new.svg"
        draw(fresh)
        if path.exists() and path.read_bytes() == fresh.read_bytes():
            fresh.unlink()  # an unchanged picture keeps its time stamp
        else:
            fresh.replace(path)
        return f"![{words}]({name}.svg)"


def number(value: Any) -> str:
    """Write a number as one reads it; nothing as a dash."""
    if value is None or value == "":
        return "-"
    if isinstance(value, float):
        whole = float(value).is_integer() or abs(value) >= 1000
        return f"{value:,.0f}" if whole and abs(value) < 1e15 else f"{value:.2g}" if abs(value) < 10 else f"{value:.1f}"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


def ratio(ours: float | None, best: float | None) -> str:
    """Return ours over the best peer's; a loss is bold, within half a percent it is a tie."""
    if not ours or not best or not math.isfinite(ours / best):
        return "-"
    value = ours / best
    text = f"{value:.2f}" if 0.1 <= value < 10 else f"{value:.2g}"
    return f"**{text} (loss)**" if value >= 1.005 else text


def table(columns: Iterable[str], rows: Iterable[Iterable[Any]]) -> str:
    """Return a table."""
    names = list(columns)
    lines = ["| " + " | ".join(names) + " |", "|" + "---|" * len(names)]
    lines += [
        "| " + " | ".join(number(cell).replace("|", "/").replace("<", "&lt;") for cell in row) + " |" for row in rows
    ]
    return "\n".join(lines)


def boxes(results: Results) -> list[str]:
    """(a) Exact boxes, ours and peers, over activations and depths."""
    parts = []
    if peers := results("peer_boxes"):
        rows = peers["rows"]
        own = [row for row in rows if row["method"] == "ours" and "best peer" in row]
        lines = []
        for row in own:
            best = next(r for r in rows if r["box"] == row["box"] and r["method"] == row["best peer"])
            both = _count(best["success"]) > 0
            lines.append((
                row["box"], row["unknowns"], row["success"], best["success"], _short(row["best peer"]),
                row["queries per unknown"], best["queries per unknown"],
                ratio(row["queries per unknown"], best["queries per unknown"]) if both else "peer fails",
                row["worst error"], ratio(row["CPU seconds"], best["CPU seconds"]) if both else "peer fails",
            ))  # fmt: skip
        parts.append(table(
            ("box", "unknowns", "ours succeeds", "best peer succeeds", "best peer", "queries per unknown",
             "best peer's", "ratio of queries", "our worst error", "ratio of CPU time"), lines))  # fmt: skip
        methods = list(dict.fromkeys(row["method"] for row in rows))
        held = {(row["box"], row["method"]): row for row in rows}
        parts.append("Success of every method (told activation and widths; ours is told nothing):")
        parts.append(table(("box", *map(_short, methods)), [
            (box, *(held[box, m].get("success", held[box, m].get("not run")) for m in methods))
            for box in dict.fromkeys(row["box"] for row in rows)]))  # fmt: skip
        words = (
            "Queries per unknown of each method on each box; a hollow mark where it succeeds on less than nine of ten"
        )
        parts.append(results.picture("boxes", lambda path: pictures.boxes(rows, path), words))
        if options := peers.get("options"):
            chosen = "; ".join(f"{name}: {', '.join(f'{k} {v}' for k, v in o.items())}" for name, o in options.items())
            parts.append(f"Options of peers, chosen on other seeds by `peer_boxes.py --tune`: {chosen}.")
    if kinked := results("black_box_kinked"):
        if large := kinked.get("large"):
            parts.append("Published figures, quoted, beside ours on a network of the same size:")
            columns = ("network", "ours, queries", "ReLU extraction (Carlini et al. 2020), queries", "ratio")
            parts.append(table(columns, [
                (r["cell"], f"2^{r['log2_queries']:.1f}", f"2^{r['published']}",
                 ratio(2 ** r["log2_queries"], 2 ** r["published"])) for r in large]))  # fmt: skip
        parts.append(
            "Expand-and-Cluster's authors report 80% of 150 tasks; those of 'Sequencing the Neurome' about two thirds, "
            "without telling when. Units that grow, ours alone, sizes from 10 inputs, 3 units to 784, 32:"
        )
        columns = (
            "activation",
            "networks",
            "within 1e-8",
            "certified",
            "wrong",
            "queries per unknown, smallest",
            "largest",
        )
        parts.append(table(columns, [
            (name, *_sums(rows, "nets", "within", "certified", "certified_wrong"),
             f"{rows[0]['median']:.2f}", f"{rows[-1]['median']:.2f}")
            for name, rows in _grouped(kinked.get("exact", []), lambda r: r["cell"].split()[0])]))  # fmt: skip
    if deep := results("black_box_deep"):
        parts.append("Several hidden layers, depth and widths not given, ours alone:")
        parts.append(table(("row", "networks", "exact", "certified", "wrong", "queries per unknown", "seconds"), [
            (r["row"], r["nets"], r["exact"], r["nets"] - r["refused"], r["certified_but_wrong"],
             r["queries_per_unknown"], r["seconds"]) for r in deep["rows"]]))  # fmt: skip
    if deep := results("black_box_deep_relu"):
        parts.append("Several hidden layers of ReLU and leaky ReLU, depth, widths and slope not given, ours alone:")
        heads = ("row", "runs", "exact", "certified", "wrong", "queries per unknown (10%, 50%, 90%)", "seconds")
        parts.append(table(heads, [
            (r["cell"], r["runs"], r["exact"], r["certified"], r["wrong"], ", ".join(map(str, r["per_unknown"])),
             r["seconds"]) for r in deep["rows"]]))  # fmt: skip
    return parts


def _short(name: str) -> str:
    return name.split(",")[0]


def _grouped(rows: Rows, key: Callable[[dict[str, Any]], str]) -> list[tuple[str, Rows]]:
    return [(name, [row for row in rows if key(row) == name]) for name in dict.fromkeys(map(key, rows))]


def _sums(rows: Rows, *keys: str) -> list[int]:
    return [sum(row[key] for row in rows) for key in keys]


def _count(success: str) -> int:
    return int(success.split()[0])


def imperfect(results: Results) -> list[str]:
    """(b) Boxes whose answers are noisy, rounded, in single precision, labels, or confined."""
    parts = []
    if noisy := results("black_box_noisy"):
        parts.append("Beside ours: a passive student, which gets as many answers at random inputs.")
        parts.append(table(
            ("answers", "runs", "right", "certified", "wrong", "queries", "per unknown", "direction error",
             "student's right", "its error", "ratio of errors"),
            [(r["name"], r["runs"], r["right"], r["certified"], r["certified_wrong"], r["median_queries"],
              r["queries_per_unknown"], r["median_error"], r["passive_right"], r["passive_median_error"],
              ratio(r["median_error"], r["passive_median_error"])) for r in noisy["rows"]]))  # fmt: skip
        if paper := noisy.get("paper"):
            parts.append(f"The paper's value oracle needs {paper['queries']:,} queries for an error of "
                         f"{paper['error']:.2g} at k = {paper['k']}, d = {paper['d']} (noise 0.1).")  # fmt: skip
    if coarse := results("black_box_kinked_coarse"):
        parts.append("Units that grow (ReLU, softplus, SiLU, GELU), through single precision, decimals and noise:")
        parts.append(table(("answers", "networks", "right", "certified", "wrong", "worst direction error"), [
            (name, *_sums(rows, "nets", "right", "certified", "certified_wrong"),
             max(r["worst_direction"] for r in rows))
            for name, rows in _grouped(coarse["rows"], lambda r: r["cell"].split(" ", 2)[2])]))  # fmt: skip
    return parts


def zoo(results: Results) -> list[str]:
    """(c) Networks that others released, or trained on shipped data."""
    held = results("zoo_run")
    if held is None:
        return []
    names = ("family", "networks", "inputs", "hidden units", "layers", "outputs", "unknowns", "certified",
             "certified but wrong", "queries per unknown", "worst error", "seconds")  # fmt: skip
    causes = [
        f"- {r['family']}, {n} of {r['networks']}: {why}" for r in held["rows"] for why, n in r["refusals"].items()
    ]
    parts = [r for r in held["rows"] if r.get("in the family", 0) > r["networks"]]
    some = "; ".join(f"{r['family']}: {r['networks']} of {r['in the family']}, evenly taken" for r in parts)
    return [table(names, [[r[name] for name in names] for r in held["rows"]]),
            f"Not all opened: {some}." if some else "",
            "Refusals, by cause (n stands for a number):", "\n".join(causes) or "none"]  # fmt: skip


def tables(results: Results) -> list[str]:
    """(d) Tables of samples."""
    parts = []
    if fit := results("data_fit"):
        lines = []
        for c in fit["cells"]:
            peers = {n: c[n] for n in ("scikit-learn", "small-start LM") if n in c}
            ours = c.get("same tables", c["gradsift"])
            best = max(peers, key=lambda n: (peers[n]["success"], -peers[n]["rmse_over_bound"])) if peers else None
            b = peers[best] if best else {}
            lines.append((c["name"], c["gradsift"]["success"], b.get("success"), best, c["gradsift"]["rmse_over_bound"],
                          b.get("rmse_over_bound"), ratio(ours["rmse_over_bound"], b.get("rmse_over_bound")),
                          ours["cpu_mean"], ratio(ours["cpu_mean"], b.get("cpu_mean"))))  # fmt: skip
        parts.append(table(("d, k, n", "success", "best peer's", "best peer", "RMSE over bound", "best peer's", "ratio",
                            "CPU seconds", "ratio of CPU time"), lines))  # fmt: skip
        parts.append("The bound is Cramer and Rao's. Peers get the same polish and the best of five starts.")
    if peers := results("peer_tables"):
        parts.append(
            "Methods on the same tables (two units, 5 inputs); angle of the worst unit, or of the span, in degrees:"
        )
        parts.append(_peers(peers["same_data"]))
        out = "; ".join(f"{r['package']} ({r['why']})" for r in peers.get("left_out", []))
        parts.append(f"Not run: {out}." if out else "")
    if real := results("real_tables"):
        names = sorted({n for t in real["tables"].values() for n in t["scores"]}, key=lambda n: (n != "gradsift", n))
        parts.append("Real tables, five folds: R2, or minus log loss for classes; larger is better.")
        parts.append(table(("table", "rows", "columns", *names, "within one fold error of linear model and MLP"), [
            (name, t["rows"], t["columns"], *(_score(t["scores"].get(n)) for n in names),
             "yes" if t["within"] else "**no (loss)**") for name, t in real["tables"].items()]))  # fmt: skip
    return parts


def _score(value: float | None) -> str | None:
    return None if value is None else f"{value:.3f}"


def _peers(rows: Rows) -> str:
    lines = []
    ours = next((r for r in rows if r["method"] == "ours"), {})
    for r in rows:
        cells: list[Any] = [r["method"], r["measured on"]]
        for answers in ("labels", "values"):
            mine, theirs = ours.get(answers), r.get(answers, "no " + r.get("not installed", ""))
            compared = isinstance(mine, float) and isinstance(theirs, float) and r is not ours
            cells += [theirs, r.get(f"{answers}, CPU seconds"), ratio(mine, theirs) if compared else None]
        lines.append(cells)
    return table(("method", "measured on", "labels", "CPU seconds", "ours over it", "values", "CPU seconds",
                  "ours over it"), lines)  # fmt: skip


def certificates(results: Results) -> list[str]:
    """(e) Number of units, coverage, certified but wrong."""
    parts = []
    if inference := results("data_inference"):
        parts.append(table(("tables", "number", "number of units right"), [
            (r["cell"], r["tables"], r["right"]) for r in inference["number_of_units"]]))  # fmt: skip
        parts.append(table(("95% intervals, tables", "replications", "units", "slopes", "weights"), [
            (r["cell"], r["replications"], *(_score(r[n]) for n in ("units", "slopes", "weights")))
            for r in inference["coverage"]]))  # fmt: skip
    if coverage := results("interval_coverage"):
        parts.append(table(("95% intervals, noise", "coefficients", "mean response", "new observation"), [
            (name, *map(_score, held.values())) for name, held in coverage["coverage"].items()]))  # fmt: skip
    parts.append("Every certificate that these results count:")
    parts.append(table(("results", "runs", "certified", "certified but wrong"), _counted(results)))
    return parts


_COUNTED = ("black_box_exact", "black_box_kinked", "black_box_deep", "black_box_deep_relu", "black_box_noisy",
            "black_box_kinked_coarse", "trained_kinked", "real_boxes", "zoo_run", "hostile_boxes",
            "table_certificates", "phase_table")  # fmt: skip
_RUNS = ("nets", "runs", "networks", "tables")
_WRONG = ("certified_wrong", "certified_but_wrong", "certified but wrong", "wrong")


def _counted(results: Results) -> list[tuple[Any, ...]]:
    """Sum certificates up, file by file; what is not refused is certified where a row does not say."""
    lines = []
    for name in _COUNTED:
        held = results(name)
        if held is None:
            continue
        rows = [row for part in held.values() if isinstance(part, list) for row in part if isinstance(row, dict)]
        rows += [held["summary"]["all"]] if name == "table_certificates" else []
        rows = [row for row in rows if any(key in row for key in _WRONG)]
        runs, wrong = ([next((row[key] for key in keys if key in row), 0) for row in rows] for keys in (_RUNS, _WRONG))
        good = [row.get("certified", n - row.get("refused", 0)) for row, n in zip(rows, runs)]
        lines.append((name, sum(runs), sum(good), sum(wrong)))
    return lines


def speed(results: Results) -> list[str]:
    """(f) Speed, memory, growth with size."""
    parts = []
    if large := results("black_box_large"):
        rows = [r for r in large["rows"] if r["device"] == "cpu" and r["threads"] == 1]
        rows = list({r["unknowns"]: r for r in sorted(rows, key=lambda r: r["own_seconds"])[::-1]}.values())
        rows.sort(key=lambda r: r["unknowns"])
        columns = ("inputs x units", "unknowns", "queries per unknown", "own seconds", "over evaluating the box",
                   "peak MB", "largest error")  # fmt: skip
        parts.append(table(columns, [
            (f"{r['d']} x {r['k']}", r["unknowns"], f"{r['queries_per_unknown']:.3f}", r["own_seconds"],
             r["own_over_evaluation"], r["peak_megabytes"], r["largest_error"]) for r in rows]))  # fmt: skip
        parts.append(results.picture("growth", lambda path: pictures.growth(rows, path),
                                     "Own seconds and peak memory over the number of unknowns"))  # fmt: skip
    if kernel := results("kernel_gradients"):
        parts.append(table(("kernel gradients, d", "times the literal loop", "times a loop of products"), [
            (r["d"], r["ratio_literal"], r["ratio_products"]) for r in kernel["rows"]]))  # fmt: skip
    return parts


def phases(results: Results) -> list[str]:
    """(g) Success over the number of rows and of units."""
    held = results("phase_table")
    if held is None:
        return []
    rows, peer = held["rows"], "scikit-learn's MLP"
    ours, theirs, n = (sum(r[key] for r in rows) for key in ("ours", peer, "tables"))
    lost = [r for r in rows if r["ours"] < r[peer]]
    words = "Share of tables whose units are found, over rows and units; ours and the MLP's"
    picture = results.picture("phases", lambda path: pictures.phases(rows, path), words)
    losses = ", ".join(f"n = {r['n']:,}, k = {r['k']}: {r['ours']} against {r[peer]} of {r['tables']}" for r in lost)
    return [picture, f"Ours, which is not told the number of units: {ours} of {n}; the MLP, which is: {theirs}. "
            + (f"**Losses**: {losses}." if lost else "No cell is lost.")]  # fmt: skip


SECTIONS: dict[str, tuple[Callable[[Results], list[str]], str]] = {
    "(a) Exact boxes": (boxes, "peer_boxes, black_box_kinked, black_box_deep, black_box_deep_relu"),
    "(b) Imperfect boxes": (imperfect, "black_box_noisy, black_box_kinked_coarse"),
    "(c) The zoo": (zoo, "zoo_run"),
    "(d) Tables": (tables, "data_fit, peer_tables, real_tables"),
    "(e) Number of units, coverage, certificates": (certificates, "data_inference, interval_coverage and others"),
    "(f) Speed, memory, growth": (speed, "black_box_large, kernel_gradients"),
    "(g) Enough rows?": (phases, "phase_table"),
}


def page(folder: Path, out: Path) -> str:
    """Return the page; pictures are drawn into `out`."""
    out.mkdir(parents=True, exist_ok=True)
    results = Results(folder, out)
    told = __doc__.split("\n\n")[2].replace("\n", " ").strip()
    parts = ["# Evidence", f"{told} `make bench` runs it all in minutes with small counts, `make bench-full` with "
             "large ones; the page of benchmarks has the tables of every script."]  # fmt: skip
    for title, (section, names) in SECTIONS.items():
        held = [part for part in section(results) if part]
        parts += [f"## {title}", f"*From {names}.*", *(held or ["Not measured."])]
    return "\n\n".join(parts) + "\n"


def write_page(folder: Path, out: Path) -> Path:
    """Write the page and its pictures; return its path."""
    text = page(folder, out)
    (out / "evidence.md").write_text(text, encoding="utf-8")
    return out / "evidence.md"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--results", type=Path, default=COMMITTED)
    parser.add_argument("--out", type=Path, default=Path("bench"))
    options = parser.parse_args()
    print(write_page(options.results, options.out))


if __name__ == "__main__":
    main()
