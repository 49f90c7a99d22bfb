"""Pages that are made, not written: the paper map, the evidence, the benchmarks, the commands, the playground."""

from __future__ import annotations

import ast
import sys
from enum import Enum
from itertools import product
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results"
LEVELS = ("exact", "fine", "coarse", "noisy", "labels", "decisions")  # of answers
REGIONS = ("open", "linked", "bounded")
sys.path.insert(0, str(ROOT))  # results are read, and evidence is written, by what made them


def write_all(folder: Path) -> None:
    """Write every generated page into `folder`; unchanged pages keep their time stamps."""
    from benchmarks import evidence
    from gradsift.show.playground import html

    pages = {
        "evidence.md": evidence.page(RESULTS, folder),
        "stages.md": stages(),
        "readers.md": readers(),
        "corridor.md": corridor(),
        "unread.md": unread(),
        "paper_map.md": paper_map(),
        "benchmarks.md": benchmarks(),
        "commands.md": commands(),
        "playground/playground.html": html(),
    }
    for name, text in pages.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def stages() -> str:
    """Return the tables of stages of imperfect answers, drawn."""
    from draw_stages import drawing
    from gradsift.reading.noise.box_stages import BOX_STAGES
    from gradsift.reading.noise.stages import ADDITIVE_STAGES, LABEL_STAGES

    tables = {"Noise, rounding, single precision": ADDITIVE_STAGES, "Labels": LABEL_STAGES, "Inside a box": BOX_STAGES}
    figures = [f"<figure>{drawing(table)}<figcaption>{title}</figcaption></figure>" for title, table in tables.items()]
    return '<div class="stages">\n' + "\n".join(figures) + "\n</div>\n"


def readers() -> str:
    """Return the table of readers: what each reads, from which answers, where, and what it costs."""
    from gradsift.reading.readers import READERS

    head = (
        "| reader | reads | hidden layers | answers | region | queries at d = 10, k = 5 |\n|---|---|---|---|---|---|\n"
    )
    rows = [
        f"| {r.name} | {r.reads} ({', '.join(sorted(r.kinds))}) | {', '.join(map(str, sorted(r.depths)))} "
        f"| {', '.join(level for level in LEVELS if level in r.precisions)} | {', '.join(sorted(r.regions))} "
        f"| about {r.cost(10, 5):.0f} |\n"
        for r in READERS
    ]
    return head + "".join(rows)


class _Outcome(Enum):
    READS, REFUSES = "reads", "refuses"


def corridor() -> str:
    """Return the readers of each kind of answers and region, drawn in the order in which they are asked."""
    from types import SimpleNamespace

    from draw_stages import drawing
    from gradsift.reading.readers import READERS

    orders: dict[tuple[str, ...], list[str]] = {}
    for region, level in product(REGIONS, LEVELS):
        able = [r for r in READERS if level in r.precisions and region in r.regions]
        names = tuple(dict.fromkeys(r.name for r in sorted(able, key=lambda r: r.cost(10, 10))))
        if names:
            orders.setdefault(names, []).append(f"{level} {region}")
    figures = []
    for names, cases in orders.items():
        following = (*names[1:], "end")
        rows = {n: SimpleNamespace(then={_Outcome.READS: "end", _Outcome.REFUSES: f}) for n, f in zip(names, following)}
        figures.append(f"<figure>{drawing(rows)}<figcaption>{', '.join(cases)}</figcaption></figure>")
    return '<div class="stages">\n' + "\n".join(figures) + "\n</div>\n"


def unread() -> str:
    """Return the table of what no reader takes: the answers that are refused, by units, hidden layers and region."""
    from gradsift.reading.question import EVERY_DEPTH, GROWING_KINDS, SATURATING_KINDS
    from gradsift.reading.readers import READERS

    rows: dict[tuple[str, ...], list[int]] = {}
    for kind, depth in product((*sorted(SATURATING_KINDS), *sorted(GROWING_KINDS)), sorted(EVERY_DEPTH)):
        able = [r for r in READERS if kind in r.kinds and depth in r.depths]
        cells = [[v for v in LEVELS if not any(v in r.precisions and region in r.regions for r in able)]
                 for region in REGIONS]  # fmt: skip
        shown = ["all" if len(cell) == len(LEVELS) else ", ".join(cell) or "none" for cell in cells]
        rows.setdefault((kind, *shown), []).append(depth)
    head = f"| units | hidden layers | {' | '.join(REGIONS)} |\n|---|---|---|---|---|\n"
    return head + "".join(
        f"| {kind} | {' or '.join(map(str, depths))} | {' | '.join(cells)} |\n"
        for (kind, *cells), depths in rows.items()
    )


def paper_map() -> str:
    """Return every statement of the paper with its errata, code and tests."""
    from gradsift.paper import code, labels, shown_by, statement

    parts = [
        "# Paper map",
        "Every labelled statement of *Learning Combinations of Sigmoids Through Gradient Estimation* (Ioannidis and "
        "Montanari), in our words, with what carries it here. `gradsift paper LABEL` prints one of them.",
    ]
    for label in labels():
        s = statement(label)
        parts += [f"## {label}", f"*{s.kind}, {s.place}.* {s.says}"]
        parts += [f"**Erratum ({e.name}).** Printed: {_code(e.printed)}. Right: {_code(e.right)}." for e in s.errata]
        parts.append("Code: " + (", ".join(map(_code, code(label))) or "none"))
        parts.append("Tests: " + (", ".join(map(_code, shown_by(label))) or "none"))
    return "\n\n".join(parts) + "\n"


def _code(text: str) -> str:
    return "``" + text.replace("`", "'") + "``"


def benchmarks() -> str:
    """Return the committed results as tables, with machine, versions and date."""
    from benchmarks.record import load

    parts = ["# Benchmarks", "Printed by the scripts of `benchmarks/`, whose JSON results are committed."]
    for path in sorted(RESULTS.glob("*.json")):
        result = load(path)
        where = _where(result)
        parts += [f"## {path.stem.replace('_', ' ')}", _purpose(path.stem), *_tables(result)]
        parts += [f"*{where}.*"] if where else []
    return "\n\n".join(parts) + "\n"


_PACKAGES = ("gradsift", "numpy", "scipy", "scikit-learn", "torch", "triton")


def _where(result: dict[str, Any]) -> str:
    """Take date, machine and versions out of a result, and return them as a line."""
    held = result.pop("context", None) or {
        name: result.pop(name) for name in ("date", "machine", "python", "versions") if name in result
    }
    versions = {**held.get("versions", {}), **{name: result.pop(name) for name in _PACKAGES if name in result}}
    python = held.get("python") or versions.pop("python", "")
    machine = held.get("machine", "")
    if isinstance(machine, dict):
        machine = ", ".join(f"{v} {n}" if n == "cores" else str(v) for n, v in machine.items())
    told = [held.get("date"), machine, python and f"Python {python}", *(f"{n} {v}" for n, v in versions.items())]
    return ", ".join(str(part) for part in told if part)


def _purpose(name: str) -> str:
    script = next((ROOT / "benchmarks").rglob(f"{name}.py"), None)
    if script is None:
        return ""
    words = ast.get_docstring(ast.parse(script.read_text(encoding="utf-8"))) or ""
    return words.partition("\n\n")[0].replace("\n", " ") + f" (`{script.relative_to(ROOT)}`)"


def _tables(result: dict[str, Any]) -> list[str]:
    plain = {name: value for name, value in result.items() if not _is_table(value)}
    parts = [_table([{"quantity": n, "value": v} for n, v in _flat(plain).items()])] if plain else []
    for name, value in result.items():
        if _is_table(value):
            parts += [f"**{name.replace('_', ' ')}**", *_row_tables(value)]
    return parts


def _flat(values: dict[str, Any]) -> dict[str, Any]:
    """Return nested dictionaries as one, whose names say the way."""
    flat: dict[str, Any] = {}
    for name, value in values.items():
        inner = _flat(value) if isinstance(value, dict) else {"": value}
        flat |= {f"{name} {rest}".replace("_", " ").strip(): v for rest, v in inner.items()}
    return flat


def _row_tables(rows: list[dict[str, Any]]) -> list[str]:
    """Return one table or, where several columns hold measurements of one kind each, those in a table of their own."""
    nested = [name for name in rows[0] if isinstance(rows[0][name], dict)]
    if len(nested) < 2:
        return [_table(rows)]
    key = next(iter(rows[0]))
    measured = [
        {key: row[key] if name == nested[0] else "", "": name.replace("_", " "), **row[name]}
        for row in rows
        for name in nested
        if name in row
    ]
    return [_table([{n: v for n, v in row.items() if n not in nested} for row in rows]), _table(measured)]


def _is_table(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(row, dict) for row in value)


def _table(rows: list[dict[str, Any]]) -> str:
    columns = [c for c in dict.fromkeys(name for row in rows for name in row) if not _is_curve(rows[0].get(c))]
    lines = ["| " + " | ".join(c.replace("_", " ") for c in columns) + " |", "|" + "---|" * len(columns)]
    lines += ["| " + " | ".join(_cell(row.get(c, "")) for c in columns) + " |" for row in rows]
    return "\n".join(lines)


def _is_curve(value: Any) -> bool:
    """Whether a cell holds points of a curve, which stay in the JSON."""
    return isinstance(value, list) and bool(value) and isinstance(value[0], list)


def _cell(value: Any) -> str:
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "no", None: "-"}[value]
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, list):
        return ", ".join(_cell(v) for v in value[:12]) + (", ..." if len(value) > 12 else "")
    if isinstance(value, dict):
        return ", ".join(f"{name.replace('_', ' ')}: {_cell(v)}" for name, v in list(value.items())[:12])
    text = " ".join(str(value).replace("|", "/").split())
    return _code(text) if "*" in text else text.replace("<", "&lt;")  # a formula, whose stars are no emphasis


def commands() -> str:
    """Return the help of every command, as it is printed."""
    from typer.testing import CliRunner

    from gradsift.cli.app import app

    runner = CliRunner(env={"COLUMNS": "74", "NO_COLOR": "1", "TERM": "dumb"})
    parts = [
        "# Command line",
        "Exit codes: 0 done and certified; 3 done but not certified, or given up for lack of evidence; 2 bad input, in "
        "one line, with nothing left behind; 130 interrupted by Ctrl-C, which leaves no half-written file and says "
        "what is kept (`--journal` keeps every answer, and the same command goes on from there). `gradsift --debug "
        "COMMAND` shows tracebacks, `gradsift --install-completion` completes commands in your shell.",
    ]
    names = [c.name or (c.callback.__name__ if c.callback else "") for c in app.registered_commands]
    for name in names:
        shown = "\n".join(line.rstrip() for line in runner.invoke(app, [name, "--help"]).output.strip().splitlines())
        parts += [f"## {name}", f"```text\n{shown}\n```"]
    return "\n\n".join(parts) + "\n"
