"""Progress reports reach a listener, and nobody else."""

import io
import re
import time

import numpy as np

import gradsift as gs
from gradsift import progress


def test_a_function_hears_the_stages_and_silence_is_the_default(capsys):
    heard = []
    model = gs.SigmoidCombination(np.eye(3), [0.5, 0.3, 0.2])
    oracle = gs.Oracle(model.predict, 3)
    with progress.reporting(lambda *report: heard.append(report)):
        gs.OracleGradients(10).estimate(oracle, np.zeros((2, 3)), rng=0)
    assert heard == [("gradients", 2, 2)]
    gs.OracleGradients(10).estimate(oracle, np.zeros((2, 3)), rng=0)
    assert len(heard) == 1
    assert capsys.readouterr() == ("", "")


def test_the_bar_appears_only_after_two_seconds(monkeypatch, capsys):
    clock = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: clock[0])
    with progress.reporting(True):
        progress.report("rows", 1, 10)
        bar = progress._reporter.get()
        assert bar.display is None
        clock[0] = 2.5
        progress.report("rows", 2, 10)
        assert bar.display is not None
    assert progress._reporter.get() is None


def test_the_bar_says_which_pass_and_how_many_rows_a_second(monkeypatch):
    clock = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: clock[0])
    with progress.reporting(True):
        clock[0] = 3.0
        progress.report("pass 2, rows", 1_000, 10_000)
        clock[0] = 5.0
        progress.report("pass 2, rows", 5_000, 10_000)
        (task,) = progress._reporter.get().display.tasks
        assert task.description == "pass 2, rows"
        assert task.fields["rate"] == "2,000/s"


def test_passes_over_rows_are_numbered():
    heard = []
    source = gs.sources.ArraySource(np.arange(10.0)[:, None], np.arange(10.0))
    with progress.reporting(lambda *report: heard.append(report)):
        for _ in range(2):
            source.reduce(gs.sources.MomentSummary())
    assert heard == [("pass 1, rows", 10, 10), ("pass 2, rows", 10, 10)]


def wait_for(condition):
    for _ in range(500):
        if condition():
            return True
        time.sleep(0.01)
    return False


def test_work_too_busy_to_report_is_not_silent_where_there_is_no_terminal(monkeypatch, capsys):
    monkeypatch.setattr(progress, "_SILENCE", 0.01)
    said = []
    with progress.reporting(True):
        progress.report("2,401 unknowns, about 2 min of work", 0)
        assert wait_for(lambda: said.append(capsys.readouterr().err) or "at work for" in "".join(said))
        progress.report("rows", 1, 10)  # when the stage began: one report has no rate
        progress.report("rows", 2, 10)
        assert wait_for(lambda: said.append(capsys.readouterr().err) or " s left\n" in "".join(said))
    assert "s: 2,401 unknowns, about 2 min of work\n" in "".join(said)
    assert re.search(r"s: rows, 2 of 10, about \d+ s left\n", "".join(said))


def test_a_bar_on_a_terminal_opens_by_itself(monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    monkeypatch.setattr(progress, "_BAR_AFTER", 0.05)
    monkeypatch.setattr("sys.stderr", Terminal())
    with progress.reporting(True):
        bar = progress._reporter.get()
        assert wait_for(lambda: bar.display is not None and bar.tasks)
        assert list(bar.tasks) == ["working"]


def test_short_work_stays_silent(capsys):
    with progress.reporting(True):
        progress.report("rows", 1, 10)
    assert capsys.readouterr().err == ""
