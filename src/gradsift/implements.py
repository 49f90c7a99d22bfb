"""Which function carries which statement of the paper: the mark, and all marks, read off the sources."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple, TypeVar

F = TypeVar("F", bound=Callable[..., object])


def implements(*labels: str) -> Callable[[F], F]:
    """Mark a function or class as carrying the paper's statements with these labels."""

    def mark(thing: F) -> F:
        thing.__paper__ = labels  # type: ignore[attr-defined]
        return thing

    return mark


_PACKAGE = Path(__file__).resolve().parents[0]


class Mark(NamedTuple):
    """A decorated function or class: its qualified name, the labels, and the erratum ("" for none)."""

    where: str
    labels: tuple[str, ...]
    erratum: str


def _walk(node: ast.AST, name: str, decorator: str) -> Iterator[Mark]:
    """Yield the marks below a node; nested names are joined by dots."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            inner = f"{name}{child.name}"
            for call in child.decorator_list:
                if isinstance(call, ast.Call) and ast.unparse(call.func) == decorator:
                    named = {k.arg: ast.literal_eval(k.value) for k in call.keywords}
                    yield Mark(inner, tuple(map(ast.literal_eval, call.args)), named.get("erratum", ""))
            yield from _walk(child, f"{inner}.", decorator)
        elif isinstance(child, (ast.If, ast.Try)):
            yield from _walk(child, name, decorator)


@cache
def marks_in_code() -> tuple[Mark, ...]:
    """Return what carries ``@implements``, file by file."""
    found: list[Mark] = []
    for path in sorted(_PACKAGE.rglob("*.py")):
        parts = path.relative_to(_PACKAGE.parent).with_suffix("").parts
        module = ".".join(p for p in parts if p != "__init__")
        found += _walk(ast.parse(path.read_text(encoding="utf-8")), f"{module}.", "implements")
    return tuple(found)


def folder_of_tests() -> Path | None:
    """Return the folder of the tests in a source checkout; an installed package has none."""
    folder = _PACKAGE.parents[1] / "tests"
    return folder if folder.is_dir() and (folder.parent / "pyproject.toml").is_file() else None


@cache
def marks_in_tests() -> tuple[Mark, ...]:
    """Return what carries ``@pytest.mark.paper``, file by file."""
    folder = folder_of_tests()
    if folder is None:
        return ()
    found: list[Mark] = []
    for path in sorted(folder.rglob("test_*.py")):
        where = path.relative_to(folder.parent).as_posix()
        found += _walk(ast.parse(path.read_text(encoding="utf-8")), f"{where}::", "pytest.mark.paper")
    return tuple(found)


def code(label: str) -> tuple[str, ...]:
    """Return the qualified names of what implements `label`."""
    return tuple(dict.fromkeys(m.where for m in marks_in_code() if label in m.labels))


def shown_by(label: str, erratum: str | None = None) -> tuple[str, ...]:
    """Return the tests, as ``file::name``, that show `label`, or in which its printed form fails (`erratum`)."""
    held = (m for m in marks_in_tests() if label in m.labels and erratum in (None, m.erratum))
    return tuple(dict.fromkeys(m.where for m in held))
