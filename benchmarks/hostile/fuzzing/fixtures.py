"""Files that command lines are tried with: good ones, damaged ones, and ones made to harm."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import numpy as np

import gradsift as gs

BOX = """
import sys
import numpy as np
A = np.array([[2.0, 0.5, 1.0], [0.0, 1.5, -1.0]]); B = np.array([0.3, -0.7]); U = np.array([0.8, -0.5])
def f(X): return np.tanh(X @ A.T + B) @ U + 0.25
def two(X): return np.stack([f(X), f(-X)], axis=1)
def noisy(X): return f(X) + 0.1 * np.random.default_rng(len(X)).standard_normal(len(X))
def nan(X): return np.full(len(X), np.nan)
def words(X): return ["hunter"] * len(X)
def none(X): return None
def wrong(X): return f(X)[1:]
def ragged(X): return [[1.0], [1.0, 2.0]] * len(X)
def huge(X): return 1e300 * f(X)
def tiny(X): return 1e-310 * f(X)
def big(X): return [10**400] * len(X)
def small_slope(X): return np.tanh(1e-170 * X[:, 0])
def step(X): return np.sign(X[:, 0])
def constant(X): return np.ones(len(X))
def relu(X): return np.maximum(X[:, 0], 0)
def raises(X): raise RuntimeError("no\\nanswer")
def leaves(X): sys.exit(7)
def deep(X): return deep(X)
def memory(X): raise MemoryError
number = 3
"""


def truth(X):
    """The function behind ``box:f``."""
    A = np.array([[2.0, 0.5, 1.0], [0.0, 1.5, -1.0]])
    return np.tanh(X @ A.T + np.array([0.3, -0.7])) @ np.array([0.8, -0.5]) + 0.25


def make_fixtures(folder: Path) -> None:
    """Write all of them."""
    (folder / "box.py").write_text(BOX)
    (folder / "bad_syntax.py").write_text("def f(X:\n")
    (folder / "leaves_at_once.py").write_text("raise SystemExit(9)\n")
    _tables(folder)
    _models(folder)
    (folder / "empty.db").write_bytes(b"")
    (folder / "text.db").write_text("this is no database at all\n" * 40)
    (folder / "broken.onnx").write_bytes(b"\x08\x07garbage" * 20)
    (folder / "broken.joblib").write_bytes(b"\x80\x04garbage")


def _tables(folder: Path) -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((120, 3))
    y = np.tanh(2 * X[:, 0]) + 0.1 * rng.standard_normal(120)

    def table(name: str, values, header: str = "a,b,c,y") -> None:
        lines = "\n".join(",".join(repr(float(v)) for v in row) for row in values)
        (folder / name).write_text(f"{header}\n{lines}\n", encoding="utf-8")

    table("good.csv", np.c_[X, y])
    table("quoted.csv", np.c_[X, y], '"a\nfirst",b,"c ""x""",y')
    table("crlf.csv", np.c_[X, y], '"a\r\nfirst",b,c,y')
    table("labels.csv", np.c_[X, np.where(y > 0, 1.0, -1.0)])
    table("same.csv", np.c_[X, y], "a,a,c,y")
    table("hugex.csv", np.c_[X * [1, 1e160, 1], y])
    table("hugey.csv", np.c_[X, y * 1e160])
    table("tinyx.csv", np.c_[X * [1, 1, 1e-310], y])
    table("tinyy.csv", np.c_[X, y * 1e-310])
    table("flat.csv", np.c_[X * [1, 0, 1], y])
    table("flaty.csv", np.c_[X, 0 * y])
    table("one.csv", np.c_[X, y][:1])
    table("few.csv", np.c_[X, y][:4])
    table("nan.csv", np.c_[X, np.where(y > 1, np.nan, y)])
    (folder / "empty.csv").write_text("")
    (folder / "header.csv").write_text("a,b,c,y\n")
    (folder / "words.csv").write_text("a,b,c,y\n1,2,3,oops\n")
    (folder / "short.csv").write_text("a,b,c,y\n1,2,3\n")
    (folder / "open.csv").write_text('a,b,c,"y\n1,2,3,4\n')
    (folder / "binary.csv").write_bytes(bytes(range(256)) * 20)
    (folder / "zeros.csv").write_bytes(b"a,b,c,y\n\0\0\0\0\n")
    (folder / "long.csv").write_text("a,b,c," + "y" * 200_000 + "\n1,2,3,4\n")
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns = {"a": X[:, 0], "b": X[:, 1], "c": X[:, 2], "y": y}
    pq.write_table(pa.table(columns), folder / "good.parquet")
    pq.write_table(pa.table({**columns, "y": [str(v) for v in y]}), folder / "text.parquet")
    pq.write_table(pa.table({**columns, "a": [[1.0]] * 120}), folder / "nested.parquet")
    content = (folder / "good.parquet").read_bytes()
    (folder / "cut.parquet").write_bytes(content[: len(content) // 2])
    (folder / "flipped.parquet").write_bytes(content[:200] + bytes(b ^ 0xFF for b in content[200:400]) + content[400:])


def _models(folder: Path) -> None:
    model = gs.SigmoidCombination([[2.0, 0.5, 1.0], [0.0, 1.5, -1.0]], [0.8, -0.5], 1.0, [0.3, -0.7], 0.25)
    model.save(folder / "good.json")
    model.save(folder / "good.npz")
    held = json.loads((folder / "good.json").read_text())
    for name, more in {
        "named": {"columns": ["a", "b", "c"]},
        "classes": {"classes": ["no", "yes"], "columns": ["a", "b", "c"]},
        "no_classes": {"classes": []},
        "outputs": {"outputs": [{"weights": [0.1, 0.2], "intercept": 1.0, "linear": [0, 0, 0]}] * 2},
        "no_outputs": {"outputs": [{}]},
        "infinite": {"version": float("inf")},
        "heavy": {"weights": [1e308, 1e308]},
        "whole": {"intercept": 10**400},
    }.items():
        (folder / f"{name}.json").write_text(json.dumps({**held, **more}))
    (folder / "deep.json").write_text("[" * 20_000 + "]" * 20_000)
    (folder / "list.json").write_text("[1, 2]")
    (folder / "empty.json").write_text("")
    (folder / "text.npz").write_text("no archive")
    with zipfile.ZipFile(folder / "bomb.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        header = (
            b"\x93NUMPY\x01\x00\x76\x00"
            + b"{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3), }".ljust(117)
            + b"\n"
        )
        archive.writestr("units.npy", header + bytes(3 << 20))
        archive.writestr("format.npy", header + bytes(200 << 20))
