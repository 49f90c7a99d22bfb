"""Read `@implements` and `@pytest.mark.paper` off the sources, without importing anything."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

_PACKAGE = Path(__file__).resolve().parents[1]


class _Mark(NamedTuple):
    where: str
    labels: tuple[str, ...]
    erratum: str


def _marks(path: Path, prefix: str, decorator: str) -> Iterator[_Mark]:
    """Yield the decorated functions and classes of one file; nested names are joined by dots."""

    def walk(node: ast.AST, name: str) -> Iterator[_Mark]:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                inner = f"{name}{child.name}"
                for call in child.decorator_list:
                    if isinstance(call, ast.Call) and ast.unparse(call.func) == decorator:
                        yield _Mark(inner, tuple(ast.literal_eval(a) for a in call.args), _erratum(call))
                yield from walk(child, f"{inner}.")
            elif isinstance(child, (ast.If, ast.Try)):
                yield from walk(child, name)

    yield from walk(ast.parse(path.read_text(encoding="utf-8")), prefix)


def _erratum(call: ast.Call) -> str:
    return next((ast.literal_eval(k.value) for k in call.keywords if k.arg == "erratum"), "")


@cache
def _code() -> tuple[_Mark, ...]:
    found: list[_Mark] = []
    for path in sorted(_PACKAGE.rglob("*.py")):
        parts = path.relative_to(_PACKAGE.parent).with_suffix("").parts
        module = ".".join(p for p in parts if p != "__init__")
        found += _marks(path, f"{module}.", "implements")
    return tuple(found)


def tests_folder() -> Path | None:
    """Return the folder of the tests in a source checkout; an installed package has none."""
    folder = _PACKAGE.parents[1] / "tests"
    return folder if folder.is_dir() and (folder.parent / "pyproject.toml").is_file() else None


@cache
def _tests() -> tuple[_Mark, ...]:
    folder = tests_folder()
    if folder is None:
        return ()
    found: list[_Mark] = []
    for path in sorted(folder.rglob("test_*.py")):
        where = path.relative_to(folder.parent).as_posix()
        found += _marks(path, f"{where}::", "pytest.mark.paper")
    return tuple(found)


def carriers(label: str) -> tuple[str, ...]:
    """Return the qualified names of what implements `label`."""
    return tuple(dict.fromkeys(m.where for m in _code() if label in m.labels))


def tests(label: str) -> tuple[str, ...]:
    """Return the tests that show `label`, as ``file::name``."""
    return tuple(dict.fromkeys(m.where for m in _tests() if label in m.labels))


def errata_tests(label: str, erratum: str) -> tuple[str, ...]:
    """Return the tests in which the printed form of this erratum fails."""
    return tuple(dict.fromkeys(m.where for m in _tests() if label in m.labels and m.erratum == erratum))
