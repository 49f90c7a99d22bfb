"""Journals that were damaged, whose answers were changed, or behind which another model stands."""

from __future__ import annotations

import contextlib
import random
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import gradsift as gs

from .fixtures import BOX, truth
from .runner import Findings, Run, command, folder_of, judge

RECOVER = ["recover", "--oracle", "box:f", "--features", "3", "--out", "out.json", "--journal", "out.db"]


def journals(n: int, seed: int) -> Findings:
    """Damage a journal in `n` ways and take the campaign up again."""
    rng, found = random.Random(seed), Findings("damaged journals")
    with folder_of() as fixtures:
        _record(fixtures)
        for _ in range(n):
            with folder_of(fixtures) as folder:
                way = rng.choice(WAYS)
                _apply(way, rng, folder / "out.db")
                run = command([*RECOVER, "--recheck", rng.choice(["0", "6"])], folder)
                judge(found, run, way.__name__, folder)
                _check_right(found, run, way.__name__, folder)
    return found


def flips(n: int, seed: int) -> Findings:
    """Flip one bit of one recorded answer, `n` times: each must be noticed and named."""
    rng, found = random.Random(seed), Findings("flipped answers")
    with folder_of() as fixtures:
        _record(fixtures)
        for _ in range(n):
            with folder_of(fixtures) as folder:
                position, bit = _flip_answer(rng, folder / "out.db")
                run = command([*RECOVER, "--recheck", "0"], folder)
                judge(found, run, [position, bit], folder)
                if run.code != 2 or f"query {position + 1} " not in run.text or "damaged" not in run.text:
                    found.defect("flipped bit accepted", [position, bit], run.text)
    return found


def stale(n: int, seed: int) -> Findings:
    """Put another model behind the same journal, `n` times: by its source, by a file it loads, by a server's side."""
    rng, found = random.Random(seed), Findings("models behind another's journal")
    with folder_of() as fixtures:
        _record(fixtures)
        (fixtures / "loads.py").write_text(
            "import numpy as np\nW = np.load('w.npy')\ndef f(X): return np.tanh(X @ W)\n"
        )
        np.save(fixtures / "w.npy", [1.0, 2.0, 3.0])
        loads = ["recover", "--oracle", "loads:f", "--features", "3", "--out", "out.json", "--journal", "out2.db"]
        _must(command(loads, fixtures))
        for _ in range(n):
            with folder_of(fixtures) as folder:
                number = f"{rng.uniform(0.1, 3):.3f}"
                if rng.random() < 0.5:
                    old = rng.choice(["2.0, 0.5", "1.5, -1.0", "0.3, -0.7", "0.8, -0.5", "+ 0.25"])
                    new = f"+ {number}" if old[0] == "+" else f"{number}, {rng.uniform(-2, 2):.3f}"
                    (folder / "box.py").write_text(BOX.replace(old, new, 1))
                    what, run = [old, new], command(RECOVER, folder)
                else:
                    weights = np.array([1.0, 2.0, 3.0])
                    weights[rng.randrange(3)] *= 1 + rng.choice([1e-4, 1e-2, 1.0]) * rng.choice([-1, 1])
                    np.save(folder / "w.npy", weights)
                    what, run = weights.tolist(), command(loads, folder)
                judge(found, run, what, folder)
                if run.code == 0:
                    found.defect("stale certificate", what, run.text)
    return found


def _record(folder: Path) -> None:
    (folder / "box.py").write_text(BOX)
    _must(command(RECOVER, folder))
    (folder / "out.json").unlink()


def _must(run: Run) -> None:
    if run.code != 0:
        raise RuntimeError(f"the run to be damaged did not go well: {run.text}")


def _check_right(found: Findings, run: Run, what: Any, folder: Path) -> None:
    if run.code != 0:
        return
    X = np.random.default_rng(0).standard_normal((50, 3))
    if np.abs(gs.SigmoidCombination.load(folder / "out.json").predict(X) - truth(X)).max() > 1e-6:
        found.defect("wrong certificate", what, run.text)


def _flip_answer(rng: random.Random, path: Path) -> tuple[int, int]:
    with sqlite3.connect(path) as connection:
        n = connection.execute("SELECT count(*) FROM answers").fetchone()[0]
        position, bit = rng.randrange(n), rng.randrange(64)
        (answer,) = connection.execute("SELECT answer FROM answers WHERE position = ?", (position,)).fetchone()
        changed = bytearray(answer)
        changed[bit // 8] ^= 1 << bit % 8
        connection.execute("UPDATE answers SET answer = ? WHERE position = ?", (bytes(changed), position))
    connection.close()
    return position, bit


# Ways to damage a file


def _apply(way: Callable[[random.Random, Path], None], rng: random.Random, path: Path) -> None:
    with contextlib.suppress(sqlite3.Error):  # the damage went further than was meant
        way(rng, path)


def flip_bits(rng: random.Random, path: Path) -> None:
    content = bytearray(path.read_bytes())
    for _ in range(rng.choice([1, 1, 3, 30])):
        content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
    path.write_bytes(content)


def cut_off(rng: random.Random, path: Path) -> None:
    content = path.read_bytes()
    path.write_bytes(content[: rng.randrange(len(content))])


def blank(rng: random.Random, path: Path) -> None:
    content = bytearray(path.read_bytes())
    start = rng.randrange(len(content))
    stop = min(len(content), start + rng.choice([16, 512, 4096]))
    content[start:stop] = rng.choice([bytes(stop - start), rng.randbytes(stop - start)])
    path.write_bytes(content)


def strange_log(rng: random.Random, path: Path) -> None:
    path.with_name(path.name + rng.choice(["-wal", "-shm", "-journal"])).write_bytes(
        rng.randbytes(rng.choice([0, 32, 5000]))
    )


def sql(rng: random.Random, path: Path) -> None:
    """Say something false in correct SQL."""
    field, value = (
        rng.choice(["n_features", "seed", "format", "version", "model", "plan"]),
        rng.choice(["", "x", "-1", "1e9", "9" * 30, "None", "\u0663", "gradsift.journal 9"]),
    )
    where = f"WHERE position = {rng.randrange(30)}"
    blob = rng.choice(["NULL", "'text'", "1", "1.5", "x''", "x'00'", "zeroblob(8)", "zeroblob(16)", "zeroblob(7)"])
    statements = [
        f"UPDATE header SET value = '{value}' WHERE name = '{field}'", f"DELETE FROM header WHERE name = '{field}'",
        "DELETE FROM header", "DROP TABLE header", "DROP TABLE answers", f"DELETE FROM answers {where}",
        f"UPDATE answers SET answer = {blob} {where}", f"UPDATE answers SET row = {blob} {where}",
        f"UPDATE answers SET seal = {blob} {where}", f"UPDATE answers SET position = position + 1000 {where}",
        "ALTER TABLE answers ADD COLUMN more TEXT", "CREATE TABLE more (x)", "CREATE VIEW v AS SELECT 1",
        "CREATE TRIGGER t AFTER INSERT ON answers BEGIN DELETE FROM answers; END",
        f"UPDATE answers SET answer = {blob}",
        "UPDATE answers SET answer = (SELECT answer FROM answers WHERE position = 3)",
    ]  # fmt: skip
    with sqlite3.connect(path) as connection:
        connection.execute(rng.choice(statements))
    connection.close()


def another_file(rng: random.Random, path: Path) -> None:
    path.write_bytes(rng.choice([b"", b"x", rng.randbytes(4096), b"SQLite format 3\0" + rng.randbytes(200)]))


def folder_instead(rng: random.Random, path: Path) -> None:
    path.unlink()
    path.mkdir()


def cut_and_doubled(rng: random.Random, path: Path) -> None:
    copy = path.with_suffix(".copy")
    shutil.copyfile(path, copy)
    path.write_bytes(path.read_bytes() + copy.read_bytes()[: rng.randrange(4096)])
    copy.unlink()


WAYS = [flip_bits, flip_bits, flip_bits, cut_off, blank, strange_log, sql, sql, sql, another_file, folder_instead]
WAYS += [cut_and_doubled]
