"""How the package is built: what a newcomer may rely on without reading everything."""

from __future__ import annotations

import ast
from collections import Counter, defaultdict
from pathlib import Path

import pytest

import gradsift

PACKAGE = Path(gradsift.__file__).parent
SOURCES = {path: ast.parse(path.read_text(encoding="utf-8")) for path in sorted(PACKAGE.rglob("*.py"))}
MOST_ATTRIBUTES = 12
MOST_BRANCHES = 20
BRANCHES = ast.If, ast.For, ast.AsyncFor, ast.While, ast.ExceptHandler, ast.IfExp, ast.match_case
FUNCTIONS = ast.FunctionDef, ast.AsyncFunctionDef


def names_of(tree):
    """Yield the classes and constants that a module defines."""
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            yield node.name
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                for name in ast.walk(target):
                    if isinstance(name, ast.Name) and name.id.strip("_").isupper() and not name.id.startswith("__"):
                        yield name.id


def attributes_of(cls):
    """Return what a class sets on itself in its initialiser."""
    return {
        part.attr
        for method in cls.body
        if isinstance(method, ast.FunctionDef) and method.name == "__init__"
        for node in ast.walk(method)
        if isinstance(node, (ast.Assign, ast.AnnAssign))
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
        for part in ast.walk(target)
        if isinstance(part, ast.Attribute) and isinstance(part.value, ast.Name) and part.value.id == "self"
    }


def n_branches(function):
    """Return one more than the places where a function, with those inside it, may go two ways."""
    n = 1
    for node in ast.walk(function):
        if isinstance(node, ast.BoolOp):
            n += len(node.values) - 1
        else:
            n += len(node.ifs) if isinstance(node, ast.comprehension) else isinstance(node, BRANCHES)
    return n


def test_no_class_or_constant_stands_for_two_things():
    homes = defaultdict(list)
    for path, tree in SOURCES.items():
        for name in set(names_of(tree)):
            homes[name].append(path.relative_to(PACKAGE).as_posix())
    assert {name: places for name, places in homes.items() if len(places) > 1} == {}


def test_no_file_name_occurs_twice():
    names = Counter(path.name for path in SOURCES if path.name not in ("__init__.py", "reader.py", "settings.py"))
    assert [name for name, n in names.items() if n > 1] == []


def test_classes_are_small():
    large = [
        (path.name, node.name)
        for path, tree in SOURCES.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
        and len(attributes_of(node)) > MOST_ATTRIBUTES
        and path.name != "estimators.py"  # scikit-learn wants every option on the estimator itself
    ]
    assert large == []


def test_no_function_has_more_branches_than_a_reader_can_follow():
    tangled = [
        (path.name, node.name, n_branches(node))
        for path, tree in SOURCES.items()
        for node in ast.walk(tree)
        if isinstance(node, FUNCTIONS) and n_branches(node) > MOST_BRANCHES
    ]
    assert tangled == []


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("return 1", 1),
        ("if a and b or c:\n        return 1", 4),
        ("for x in [y for y in a if y if b]:\n        x = 1 if y else 2", 5),
        ("while a:\n        try:\n            b\n        except E:\n            pass", 3),
        ("match a:\n        case 1:\n            b\n        case _:\n            c", 3),
        ("def inner():\n        if a:\n            b", 2),
    ],
)
def test_branches_are_counted_as_one_would_by_hand(body, expected):
    assert n_branches(ast.parse(f"def f():\n    {body}")) == expected


def test_a_file_answers_one_question():
    assert [path.name for path in SOURCES if len(path.read_text(encoding="utf-8").splitlines()) > 500] == []


@pytest.mark.parametrize(
    "text",
    ["class A:\n    def __init__(self):\n" + "".join(f"        self.a{i} = 0\n" for i in range(MOST_ATTRIBUTES + 1))],
)
def test_a_large_class_would_be_found(text):
    assert len(attributes_of(ast.parse(text).body[0])) > MOST_ATTRIBUTES


def test_policies_say_where_their_numbers_come_from():
    """Every number of a policy has a comment, which ends with a benchmark row or calls it a guess."""
    for name in ("noise/settings.py", "plateaus/settings.py", "box/settings.py"):
        path = PACKAGE / "reading" / name
        lines = path.read_text(encoding="utf-8").splitlines()
        for cls in SOURCES[path].body:
            for field in cls.body if isinstance(cls, ast.ClassDef) else ():
                if isinstance(field, ast.AnnAssign) and isinstance(field.value, ast.Constant):
                    off = field.value.value in (False, 0.0)
                    assert off or "#" in lines[field.lineno - 1], lines[field.lineno - 1]
