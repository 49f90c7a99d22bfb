"""The paper's figures, drawn small, and what their captions claim."""

import json

import numpy as np
import pytest

plt = pytest.importorskip("matplotlib.pyplot", reason="figures need the plot extra")

from gradsift.paper import figures  # noqa: E402
from gradsift.show import plots  # noqa: E402


@pytest.fixture(autouse=True)
def _one_run_per_caption(monkeypatch):
    plt.switch_backend("Agg")
    monkeypatch.setattr(figures, "_N_SEEDS", 1)
    yield
    plt.close("all")


@pytest.mark.paper("fig:execution")
def test_the_literal_execution_fails_like_chance_and_the_far_ones_work():
    literal, rows, oracle = (draw(seed=2) for draw in (figures.draw_as_printed, figures.draw_rows, figures.draw_oracle))
    assert literal.numbers["angle"] > 30
    assert literal.numbers["support"] < 10
    assert literal.numbers["exact_gradients"] > 30
    assert rows.numbers["angle"] < 30 < rows.numbers["permuted"]
    assert oracle.numbers["angle"] < 6
    for figure in (literal, rows, oracle):
        assert f"{figure.numbers['chance']:.0f}" in figure.caption
        assert len(figure.figure.axes) == 3
    assert "13, 22, 41 degrees" in literal.caption
    assert "our assumption" in literal.caption
    assert "our assumption" in rows.caption


@pytest.mark.paper("fig:execution")
def test_the_figure_has_the_papers_parameters():
    assert {"n_points": 5000, "point_scale": pytest.approx(3.4641016151), "top": 50} == figures.LITERAL
    np.testing.assert_array_equal(figures._TEACHER.units, np.eye(3))
    np.testing.assert_allclose(figures._TEACHER.weights, [1 / 3] * 3)
    assert len(figures._on_rows(1, "labels", False, {**figures.LITERAL, "n_points": 60})[0].candidates) == 50
    # Three cosines by hand: .96253/.98765, .90685/.98010, .73389/.97866.
    np.testing.assert_allclose(figures.angles_in_paper(), [12.93, 22.28, 41.42], atol=0.02)


@pytest.mark.paper("fig:vectorfield")
def test_the_vector_field_is_close_to_the_truth_near_the_origin():
    drawn = figures.draw_field(seed=2)
    assert drawn.numbers["relative_error_inside_2"] < 0.15 < drawn.numbers["relative_error_outside_2"]


def test_all_figures_are_written_as_png_and_svg_with_captions(tmp_path, monkeypatch):
    monkeypatch.setattr(figures, "FIGURES", (figures.draw_field,))
    paths = figures.draw_all(tmp_path / "new")
    assert sorted(p.name for p in paths) == ["captions.json", "vector_field.png", "vector_field.svg"]
    assert sorted(p.name for p in (tmp_path / "new").iterdir()) == sorted(p.name for p in paths)
    captions = json.loads((tmp_path / "new" / "captions.json").read_text())
    assert "20,000" in captions["vector_field"]["caption"]


def test_plots_draw_on_the_axes_they_are_given():
    _, ax = plt.subplots()
    points = np.random.default_rng(0).standard_normal((9, 2))
    assert plots.gradient_field(points, points, units=np.eye(2), ax=ax) is ax
    with pytest.raises(ValueError, match="draws three dimensions"):
        plots.candidate_panels(None, [0], np.eye(4))
    with pytest.raises(ValueError, match="points must have 2 columns"):
        plots.gradient_field(np.ones((2, 3)), np.ones((2, 3)))


def test_the_demo_compares_the_paper_s_method_with_the_default_ones():
    from gradsift.cli.demo import compare

    rows = list(compare(seed=3, n_rows=100_000))
    assert [r.used for r in rows] == ["queries", "rows", "rows", "queries", "rows"]
    assert [r.n_matched for r in rows] == [2] * 5
    assert rows[0].angle < 20
    assert rows[3].angle < 1e-8
    assert rows[3].n_used < rows[0].n_used / 1000
    assert all("no certificate" in r.verdict for r in rows[:3])
