"""Processes killed at any moment: what they leave is whole, and the campaign goes on to the same result."""

from __future__ import annotations

import json
import random
from pathlib import Path

import numpy as np

import gradsift as gs

from .fixtures import truth
from .runner import Findings, command, folder_of, judge

SLOW = """
import time
import numpy as np
A = np.array([[2.0, 0.5, 1.0], [0.0, 1.5, -1.0]])
def f(X):
    time.sleep(0.01)
    with open("asked.txt", "a") as stream:
        stream.writelines(row.tobytes().hex() + "\\n" for row in X)
    return np.tanh(X @ A.T + np.array([0.3, -0.7])) @ np.array([0.8, -0.5]) + 0.25
"""
RECOVER = [
    "recover",
    "--oracle",
    "slow:f",
    "--features",
    "3",
    "--out",
    "out.json",
    "--journal",
    "out.db",
    "--recheck",
    "0",
]


def kills(n: int, seed: int) -> Findings:
    """Kill a recovery `n` times, letting it end now and then."""
    rng, found = random.Random(seed), Findings("kills")
    with folder_of() as straight:
        (straight / "slow.py").write_text(SLOW)
        whole = command(RECOVER, straight)
        if whole.code != 0:
            raise RuntimeError(whole.text)
        model = gs.SigmoidCombination.load(straight / "out.json")
        n_asked = len((straight / "asked.txt").read_text().splitlines())
    while found.outcomes["killed"] < n:
        with folder_of() as folder:
            (folder / "slow.py").write_text(SLOW)
            _one_campaign(rng, found, folder, whole.seconds, rng.randint(3, 12))
            run = command(RECOVER, folder)
            if run.code != 0 or gs.SigmoidCombination.load(folder / "out.json") != model:
                found.defect("another result after kills", run.code, run.text)
            asked = (folder / "asked.txt").read_text().splitlines()
            found.outcomes["rows asked twice"] += len(asked) - n_asked
    return found


def _one_campaign(rng: random.Random, found: Findings, folder: Path, seconds: float, n: int) -> None:
    recorded = 0
    report = rng.random() < 0.3
    for _ in range(n):
        arguments = [*RECOVER, "--report", "out.html"] if report else RECOVER
        run = command(arguments, folder, kill_at=rng.uniform(0.02, 1.1 * seconds))
        for left in folder.glob(".out*"):  # a kill in the middle of writing leaves the file under its temporary name
            left.unlink()
        expected = run._replace(code=0) if run.code == -9 else run
        judge(found, expected, "kill" if run.code == -9 else "ended before", folder)
        found.outcomes["killed" if run.code == -9 else "ended before the kill"] += 1
        recorded = _check_journal(found, folder, recorded)
        _check_model(found, folder)


def _check_journal(found: Findings, folder: Path, before: int) -> int:
    """The journal opens, and no answer that it held is gone."""
    if not (folder / "out.db").exists():
        return before
    journal = gs.oracle.Journal(folder / "out.db")
    try:
        journal.open_to_read()
        n = journal.n_recorded
        journal.close()
    except gs.errors.GradsiftError as problem:
        if before == 0 and (folder / "out.db").stat().st_size < 20_000:  # killed while the empty file was made
            return 0
        found.defect("journal unreadable", str(problem))
        return before
    if n < before:
        found.defect("answers lost", [before, n])
    return n


def _check_model(found: Findings, folder: Path) -> None:
    if (folder / "out.json").exists():
        held = json.loads((folder / "out.json").read_text())
        X = np.random.default_rng(0).standard_normal((20, 3))
        if (
            held["certified"]
            and np.abs(gs.SigmoidCombination.load(folder / "out.json").predict(X) - truth(X)).max() > 1e-6
        ):
            found.defect("wrong certificate", "after a kill")
