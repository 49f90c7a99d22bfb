"""Which numbers are tuned? Each number of a source file halved and doubled in a copy of the tree, and who notices.

    python benchmarks/sensitivity.py --file reading/kinks/settings.py [--only NAME] [--all] [--jobs 1] [--save]

A number is a numeric constant of the module, a numeric default of a class field, or a numeric argument of a second
instance of a record. Rows are families of boxes and tables with fixed seeds (sensitivity_rows.py), those that concern
the file. A row notices if a certificate, a number of units, right or wrong, or an exception changes, if its queries (of
tables: function calls, or the objective) change by more than 3 percent in sum, or if it takes three times as long. Rows
are asked one after the other until one notices; with ``--all``, all of them are.
"""

from __future__ import annotations

import argparse
import ast
import sys
import time
import warnings
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from sensitivity_rows import ROWS, Result, Rows
from tree_copies import Replaced, in_fork, inside, is_loaded_from, source_of, spread

CHANGE = 0.03  # of queries, calls or objective, in sum over a row
PATIENCE, LEAST_SECONDS = 3.0, 2.0  # a row may take so many times its time without the change, and so much more
CHANGES = {"half": 0.5, "double": 2.0}


class Number(NamedTuple):
    """A number of a source file."""

    file: str  # inside src/gradsift
    name: str
    line: int  # from 0
    columns: tuple[int, int]  # in bytes; a number does not span lines
    value: float

    def times(self, factor: float) -> float:
        """Return another value; whole numbers stay whole, and at least 1."""
        return max(1, int(self.value * factor)) if isinstance(self.value, int) else self.value * factor

    def text(self, value: float) -> str:
        """Return the text of the file with another value."""
        lines = source_of(self.file).encode().splitlines(keepends=True)
        line, (begin, end) = lines[self.line], self.columns
        lines[self.line] = line[:begin] + f"({value!r})".encode() + line[end:]
        return b"".join(lines).decode()


def is_number(value: ast.expr | None) -> bool:
    """Return whether an expression is made of numbers alone."""
    parts = list(ast.walk(value)) if isinstance(value, (ast.Constant, ast.UnaryOp, ast.BinOp)) else []
    return bool(parts) and not any(
        isinstance(part, (ast.Name, ast.Call))
        or (isinstance(part, ast.Constant) and isinstance(part.value, (str, bytes, bool, type(None))))
        for part in parts
    )


def named_expressions(tree: ast.Module) -> Iterator[tuple[str, ast.expr]]:
    """Yield constants of a module, defaults of class fields, and arguments of records made at its top."""
    for statement in tree.body:
        if isinstance(statement, (ast.Assign, ast.AnnAssign)) and statement.value is not None:
            target = statement.targets[0] if isinstance(statement, ast.Assign) else statement.target
            yield ast.unparse(target), statement.value
            for call in (node for node in ast.walk(statement.value) if isinstance(node, ast.Call)):
                for argument in (keyword for keyword in call.keywords if keyword.arg):
                    yield f"{ast.unparse(target)}.{argument.arg}", argument.value
    for record in (node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)):
        for field in (node for node in record.body if isinstance(node, ast.AnnAssign) and node.value is not None):
            yield f"{record.name}.{ast.unparse(field.target)}", field.value


def numbers_of(file: str) -> list[Number]:
    """Return the numbers of a source file."""
    found = []
    for name, value in named_expressions(ast.parse(source_of(file))):
        if is_number(value):
            number = eval(compile(ast.Expression(value), file, "eval"))  # digits and operators alone
            found.append(Number(file, name, value.lineno - 1, (value.col_offset, value.end_col_offset), number))
    return found


def rows_of(file: str) -> Rows:
    """Return the rows that concern a file."""
    return ROWS[max((start for start in ROWS if file.startswith(start)), key=len)]


class Outcome(NamedTuple):
    """What became of all cases of a row, the processor time that they took, and the names that their code mentions."""

    results: tuple[Result, ...]
    seconds: float
    names: frozenset[str] = frozenset()

    def sums(self) -> tuple[float, float]:
        """Return costs and objectives, added up."""
        return sum(r.cost for r in self.results), sum(r.objective for r in self.results)

    def facts(self) -> list[tuple[bool, int, bool, str]]:
        """Return what must not change at all."""
        return [(r.certified, r.n_units, r.right, r.refusal) for r in self.results]


def run_row(rows: Rows, name: str) -> Outcome:
    """Run the cases of a row."""
    warnings.simplefilter("ignore")
    results, begun = [], time.process_time()
    for case in rows[name]:
        try:
            results.append(case())
        except Exception as error:  # whatever a number out of its range leads to
            results.append(Result(refusal=type(error).__name__))
    return Outcome(tuple(results), time.process_time() - begun)


def run_watched(rows: Rows, name: str) -> Outcome:
    """Run the cases of a row, and note which names the functions of gradsift that run mention."""
    names: set[str] = set()

    def watch(frame: Any, event: str, argument: Any) -> None:
        if "gradsift" in frame.f_code.co_filename:
            names.update(frame.f_code.co_names)

    sys.settrace(watch)
    outcome = run_row(rows, name)
    sys.settrace(None)
    return outcome._replace(names=frozenset(names))


def differs(now: Outcome, before: Outcome) -> bool:
    """Return whether a row noticed."""
    if now.facts() != before.facts():
        return True
    return any(abs(a - b) > CHANGE * abs(b) for a, b in zip(now.sums(), before.sums()))


def load_from(tree: Path) -> None:
    """Load gradsift from the copy, before rows fork."""
    inside(tree)
    import gradsift as gs

    if not callable(gs.recover) or not is_loaded_from(tree):
        raise SystemExit("gradsift was loaded from other sources")


def noticing(rows: Rows, before: dict[str, Outcome], concerned: list[str], every: bool, tree: Path) -> list[str]:
    """Return which rows notice that the tree has changed; runs in a fork, and each row in a fork of that."""
    try:
        load_from(tree)
    except Exception as error:
        return [f"import: {type(error).__name__}"]
    found: list[str] = []
    for name in concerned:
        if every or not found:
            now = in_fork(run_row, rows, name, seconds=PATIENCE * before[name].seconds + LEAST_SECONDS)
            if now.too_long or now.value is None:
                found.append(f"{name} (too long)" if now.too_long else f"{name} (died)")
            elif differs(now.value, before[name]):
                found.append(name)
    return found


def baseline(rows: Rows, tree: Path) -> dict[str, Outcome]:
    """Return what rows do without any change; those that do not repeat themselves are left out."""
    load_from(tree)
    before = {}
    for name in rows:
        first, second = (in_fork(run, rows, name).value for run in (run_row, run_watched))
        if first is None or differs(second, first):
            print(f"{name} does not repeat itself: left out", flush=True)
        else:
            before[name] = first._replace(names=second.names)
    return before


_BASELINES: dict[Path, dict[str, Outcome]] = {}


def examine(every: bool, number: Number, tree: Path) -> dict[str, list[str]]:
    """Return which rows notice that a number is halved, and that it is doubled."""
    rows = rows_of(number.file)
    if tree not in _BASELINES:
        _BASELINES[tree] = in_fork(baseline, rows, tree).value
    before = _BASELINES[tree]
    # What no row mentions may have been read while gradsift was loaded: then any row may notice.
    concerned = [name for name in before if number.name.rpartition(".")[2] in before[name].names] or list(before)
    noticed = {}
    for change, factor in CHANGES.items():
        value = number.times(factor)
        if value != number.value:
            with Replaced(tree, number.file, number.text(value)):
                noticed[change] = in_fork(noticing, rows, before, concerned, every, tree).value
    return noticed


def keep(file: str, found: dict[str, tuple[float, dict[str, list[str]]]]) -> None:
    """Write what was found beside the results of other files."""
    from record import RESULTS, commit, load, save  # imports gradsift, which the forks must load from their own tree

    path = RESULTS / "sensitivity.json"
    kept = load(path)["rows"] if path.exists() else []
    rows = [row for row in kept if row["file"] != file or row["name"] not in found]
    rows += [
        {"file": file, "name": name, "value": value, **noticed, "commit": commit()}
        for name, (value, noticed) in found.items()
    ]
    print(save("sensitivity", {"rows": sorted(rows, key=lambda row: (row["file"], row["name"]))}))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--file", required=True, help="inside src/gradsift")
    parser.add_argument("--only", default="", help="numbers whose name contains this")
    parser.add_argument("--all", action="store_true", help="ask all rows, not only until one notices")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--save", action="store_true")
    options = parser.parse_args()
    numbers = [number for number in numbers_of(options.file) if options.only in number.name]
    found = {}
    for number, noticed in spread(numbers, partial(examine, options.all), options.jobs):
        found[number.name] = number.value, noticed
        told = "; ".join(f"{change}: {', '.join(rows) or 'nothing'}" for change, rows in noticed.items())
        print(f"{number.name} {number.value:g}: {told}", flush=True)
    unnoticed = sum(not all(noticed.values()) for _, noticed in found.values())
    print(f"{len(found)} numbers, {unnoticed} that no row can tell from half or from twice as much")
    if options.save:
        keep(options.file, found)


if __name__ == "__main__":
    main()
