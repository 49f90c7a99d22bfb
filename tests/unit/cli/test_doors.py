"""`gradsift bench` measures what it says, on draws that the seed fixes."""

import json

import pytest
from typer.testing import CliRunner

from benchmarks.speed import quick
from gradsift.cli.app import app


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(quick, "BOXES", ((3, 2),))
    monkeypatch.setattr(quick, "TABLES", ((4, 2, 2000),))


def measured(*arguments):
    result = CliRunner().invoke(app, ["bench", "--json", *arguments])
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def without_times(rows):
    return [{name: value for name, value in row.items() if "seconds" not in name} for row in rows]


def test_boxes_are_found_and_tables_are_fitted_next_to_scikit_learn(small):
    told = measured("--repeats", "2")
    assert [len(told["boxes"]), len(told["tables"])] == [2, 2]
    for box in told["boxes"]:
        assert box["unknowns"] == 2 * (3 + 2) + 1
        assert box["queries_per_unknown"] == pytest.approx(box["queries"] / box["unknowns"])
        assert box["certified"]
        assert box["largest_error"] < 1e-8
    for table in told["tables"]:
        assert table["error"] < 0.2
        assert table["misfit"] < 0.1
        assert table["seconds"] > 0
        assert table["sklearn_seconds"] > 0


def test_a_seed_repeats_everything_but_the_seconds_and_the_next_draw_is_the_next_seed(small):
    both, second = measured("--seed", "3", "--repeats", "2"), measured("--seed", "4", "--repeats", "1")
    for kind in ("boxes", "tables"):
        assert without_times(both[kind])[1:] == without_times(second[kind])
        assert without_times(both[kind])[:1] != without_times(second[kind])


def test_the_tables_count_what_was_found_and_show_the_ratio(small, monkeypatch):
    slow = quick.TableRow(4, 2, 2000, 0.01, 0.9, 0.02, 0.2, 1.0, 4.0)
    monkeypatch.setattr(quick, "measure_table", lambda *_: slow)
    shown = CliRunner().invoke(app, ["bench", "--repeats", "3"]).stdout
    assert "3 of 3" in shown  # certified boxes and our units
    assert "0 of 3" in shown  # scikit-learn's units
    ratios = next(line for line in shown.splitlines() if "ratio" in line)
    assert [float(cell) for cell in ratios.split("│")[-3:-1]] == [10.0, 4.0]


def test_no_draws_are_refused():
    result = CliRunner().invoke(app, ["bench", "--repeats", "0"])
    assert isinstance(result.exception, ValueError)
    assert "--repeats must be at least 1" in str(result.exception)
