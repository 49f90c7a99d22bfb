"""Progress reports reach a listener, and nobody else."""

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
