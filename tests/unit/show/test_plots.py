"""Every figure draws on the axes it is given, shows the numbers it was given, and refuses what it cannot draw."""

import numpy as np
import pytest

import gradsift as gs

plt = pytest.importorskip("matplotlib.pyplot", reason="figures need the plot extra")

plots = gs.plots


@pytest.fixture(autouse=True)
def _no_windows():
    plt.switch_backend("Agg")
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def candidates():
    model = gs.SigmoidCombination(np.eye(2), [0.5, 0.5], 3.0)
    return gs.generate_candidates(
        gs.OracleGradients(50), gs.Oracle(model.predict, 2), n_points=200, point_scale=5.0, min_norm=0.2, rng=0
    )


def drawn(function, *arguments, **options):
    """Draw twice, on given axes and on new ones, and return the given ones."""
    _, ax = plt.subplots()
    assert function(*arguments, ax=ax, **options) is ax
    new = function(*arguments, **options)
    assert new is not ax
    new.figure.canvas.draw()  # constrained layout fails here, if at all
    return ax


def line(ax, label):
    (found,) = [one for one in ax.get_lines() if one.get_label() == label]
    return found.get_xydata()


def test_the_norm_histogram_counts_every_point_and_marks_the_threshold(candidates):
    ax = drawn(plots.norm_histogram, candidates)
    heights = [patch.get_height() for patch in ax.patches]
    assert sum(heights) == np.sum(candidates.estimates.norms > 0) + len(candidates)
    np.testing.assert_allclose(line(ax, "threshold")[:, 0], np.log10(0.2))


def test_the_scree_ranks_eigenvalues_by_distance_from_the_median():
    ax = drawn(plots.mirror_scree, [0.0, 5.0, 1.0, -2.0, 1.5], noise_edge=0.7, n_chosen=2)
    np.testing.assert_allclose(line(ax, "taken")[:, 1], [4.0, 3.0])
    np.testing.assert_allclose(line(ax, "left")[:, 1], [1.0, 0.5, 0.0])
    np.testing.assert_allclose(line(ax, "edge of the noise")[:, 1], 0.7)


def test_unit_errors_show_intervals_only_where_errors_are_known():
    model = gs.simulate.random_combination(4, 3, rng=0)
    errors = {"weights": np.full(3, 0.1), "slopes": np.full(3, np.nan)}
    axes = plots.unit_errors(model, errors)
    assert [ax.get_title() for ax in axes] == ["weights", "slopes (no interval)", "offsets (no interval)"]
    bars = axes[0].containers[0].lines[2][0].get_segments()
    np.testing.assert_allclose([np.ptp(bar[:, 0]) for bar in bars], 2 * 1.96 * 0.1)
    _, given = plt.subplots(1, 3)
    assert plots.unit_errors(model, None, axes=given) is given


def test_similarities_are_cosines():
    units = np.array([[1.0, 0.0], [0.6, 0.8]])
    ax = drawn(plots.unit_similarity, units)
    np.testing.assert_allclose(ax.images[0].get_array(), [[1.0, 0.6], [0.6, 1.0]])
    assert len(ax.texts) == 4
    assert not drawn(plots.unit_similarity, np.eye(11)).texts


def test_the_scan_is_drawn_in_the_order_of_the_circle():
    ax = drawn(plots.step_scan, [np.pi, 0.0, np.pi / 2], [3.0, 1.0, 2.0], centers=[1.0])
    np.testing.assert_allclose(ax.get_lines()[0].get_xydata(), [[0, 1], [90, 2], [180, 3]])
    with pytest.raises(ValueError, match="same number of rows"):
        plots.step_scan([0.0, 1.0], [1.0])


def test_spending_adds_up_from_left_to_right():
    ax = drawn(plots.query_spending, {"rays": 10, "scan": 30, "probe": 5}, n_parameters=40)
    ends = [patch.get_x() + patch.get_width() for patch in ax.patches]
    assert ends == [10, 40, 45]
    assert "45 in all" in ax.get_xlabel()
    with pytest.raises(ValueError, match="at least one step"):
        plots.query_spending({})


def test_residual_means_are_those_of_equal_groups():
    rng = np.random.default_rng(1)
    r = rng.standard_normal(400)
    e = rng.standard_normal(400)
    ax = drawn(plots.residual_plot, r, r + e)
    means = (
        line(ax, "mean, 95%")
        if "mean, 95%" in [x.get_label() for x in ax.get_lines()]
        else ax.get_lines()[0].get_xydata()
    )
    by_hand = e[np.argsort(r)].reshape(20, 20).mean(axis=1)
    np.testing.assert_allclose(means[:, 1], by_hand, atol=1e-12)


def test_calibration_shares_are_counted_and_nonsense_is_refused():
    p = np.repeat([0.1, 0.9], 50)
    seen = np.concatenate([np.repeat([1.0, 0.0], [5, 45]), np.repeat([1.0, 0.0], [40, 10])])
    ax = drawn(plots.calibration, p, seen, n_bins=2)
    np.testing.assert_allclose(ax.get_lines()[1].get_xydata(), [[0.1, 0.1], [0.9, 0.8]])
    for bad in ((p + 1, seen), (p, 2 * seen)):
        with pytest.raises(ValueError, match="probabilities in"):
            plots.calibration(*bad)


def test_the_bic_path_is_zero_at_the_best():
    ax = drawn(plots.bic_path, [3, 1, 2], [5.0, 9.0, 4.0])
    np.testing.assert_allclose(ax.get_lines()[0].get_xydata(), [[1, 5], [2, 0], [3, 1]])
    assert ax.get_legend().get_texts()[0].get_text() == "chosen: 2"


def test_errors_against_rows_are_root_mean_squares_beside_the_bound():
    ax = drawn(plots.error_against_rows, [100, 1000], [[3.0, 4.0], [0.3, 0.4]], bound=[2.0, 0.2])
    np.testing.assert_allclose(line(ax, "root mean square")[:, 1], [np.sqrt(12.5), np.sqrt(0.125)])
    np.testing.assert_allclose(line(ax, "Cramer-Rao bound")[:, 1], [2.0, 0.2])
    assert ax.get_xscale() == ax.get_yscale() == "log"


def test_without_matplotlib_the_extra_is_named(monkeypatch):
    def absent(name):
        raise ModuleNotFoundError(f"No module named {name!r}", name="matplotlib")

    monkeypatch.setattr("gradsift.runtime.importlib.import_module", absent)
    with pytest.raises(gs.errors.MissingExtra, match=r"gradsift\[plot\]"):
        plots.unit_similarity(np.eye(2))
