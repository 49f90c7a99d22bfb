"""Ctrl-C in a real process: exit code 130, what is kept in one line, and never half a file."""

import signal
import subprocess
import sys
import time

import pytest

import gradsift as gs

# A pytest that runs in the background may have passed on an ignored SIGINT.
PROGRAM = (
    "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); from gradsift.cli import main; main()"
)
BOX = """
import pathlib, time
import numpy as np
asked = 0
def f(X):
    global asked
    asked += len(X)
    if asked > 20 and not pathlib.Path("fast").exists():
        pathlib.Path("begun").touch()
        time.sleep(60)
    return np.tanh(X @ np.array([[2.0, 0, 1], [0, 1.5, -1]]).T) @ [0.8, 0.5]
"""


def start(folder, *arguments, before=""):
    command = [sys.executable, "-c", before + PROGRAM, *map(str, arguments)]
    return subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def interrupt(process, ready):
    """Send Ctrl-C once `ready` holds; return what the process says on its way out."""
    for _ in range(600):
        if ready() or process.poll() is not None:
            break
        time.sleep(0.1)
    assert process.poll() is None, process.communicate()
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    return process.returncode, out, err


def names(folder):
    return sorted(path.name for path in folder.iterdir() if path.name != "__pycache__")


def test_an_interrupted_recovery_keeps_its_journal_and_the_same_command_goes_on(tmp_path):
    (tmp_path / "slow.py").write_text(BOX)
    how = ("recover", "--oracle", "slow:f", "--features", 3, "--journal", "answers.db", "--out", "x.json")
    code, out, err = interrupt(start(tmp_path, *how, "--report", "x.html"), (tmp_path / "begun").exists)
    assert (code, out) == (130, "")
    with gs.oracle.from_journal(tmp_path / "answers.db") as held:
        n = held.journal.n_recorded
    assert n >= 10
    assert err == f"gradsift: interrupted; answers.db keeps {n} answers: run the same command again to go on.\n"
    assert names(tmp_path) == ["answers.db", "begun", "slow.py"]
    (tmp_path / "fast").touch()
    process = start(tmp_path, *how)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (0, "")
    assert gs.SigmoidCombination.load(tmp_path / "x.json").n_units == 2


@pytest.mark.parametrize("journal", [(), ("--journal", "new.db")])
def test_without_an_answer_kept_nothing_is_left(tmp_path, journal):
    (tmp_path / "slow.py").write_text(BOX.replace("asked > 20", "True"))
    how = ("recover", "--oracle", "slow:f", "--features", 3, "--out", "x.json", *journal)
    code, _, err = interrupt(start(tmp_path, *how), (tmp_path / "begun").exists)
    assert code == 130
    assert err.count("\n") == 1
    assert err.startswith("gradsift: interrupted; nothing was written")
    assert names(tmp_path) == ["begun", "slow.py"]


STALL = """
import os, pathlib, time
def stall(handle):
    pathlib.Path("begun").touch()
    time.sleep(60)
os.fsync = stall
"""


def test_an_interrupt_in_the_middle_of_a_file_leaves_the_earlier_one(tmp_path):
    """Every file is flushed to the disk before it takes its place: the interrupt comes exactly there."""
    gs.SigmoidCombination([[1.0, 0.0]], [1.0]).save(tmp_path / "m.json")
    (tmp_path / "d.csv").write_text("a,b\n1,2\n3,4\n")
    (tmp_path / "p.csv").write_text("earlier")
    how = ("predict", "m.json", "d.csv", "--out", "p.csv")
    code, out, err = interrupt(start(tmp_path, *how, before=STALL), (tmp_path / "begun").exists)
    assert (code, out, err) == (130, "", "gradsift: interrupted; nothing was written.\n")
    assert names(tmp_path) == ["begun", "d.csv", "m.json", "p.csv"]
    assert (tmp_path / "p.csv").read_text() == "earlier"


def test_a_finished_report_is_named_when_the_model_file_is_interrupted(tmp_path):
    pytest.importorskip("matplotlib", reason="the report draws")
    (tmp_path / "slow.py").write_text(BOX)
    (tmp_path / "fast").touch()
    second = STALL.replace(
        "def stall(handle):", "def stall(handle):\n    if not pathlib.Path('x.html').exists(): return"
    )
    how = ("recover", "--oracle", "slow:f", "--features", 3, "--out", "x.json", "--report", "x.html")
    code, _, err = interrupt(start(tmp_path, *how, before=second), (tmp_path / "begun").exists)
    assert (code, err) == (130, "gradsift: interrupted; x.html is complete.\n")
    assert names(tmp_path) == ["begun", "fast", "slow.py", "x.html"]
    assert (tmp_path / "x.html").read_text().rstrip().endswith("</html>")
