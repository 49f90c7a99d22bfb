"""Algorithm CandidateGeneration and its filters."""

import numpy as np
import pytest

import gradsift as gs
from gradsift.paper.method.kernel import GradientEstimates


class Exact:
    """An estimator with infinitely many samples."""

    def __init__(self, model):
        self.model = model

    def estimate(self, source, points, rng=None):
        v = self.model.smoothed_gradient(points)
        return GradientEstimates(v, np.full(len(v), np.inf), np.zeros_like(v))


MODEL = gs.SigmoidCombination(np.eye(3), [0.5, -0.4, 0.3])
ORACLE = gs.Oracle(MODEL.predict, 3)


@pytest.mark.paper("algo:Candidates")
def test_the_algorithm_line_by_line():
    rng = np.random.default_rng(4)
    points = 10.0 * rng.standard_normal((200, 3))
    gradients = MODEL.smoothed_gradient(points)
    kept, normalised = [], []
    for xi, w in zip(points, gradients):
        if np.linalg.norm(w) >= 0.05:
            kept.append(xi)
            normalised.append(w / np.linalg.norm(w))
    found = gs.generate_candidates(Exact(MODEL), ORACLE, n_points=200, point_scale=10.0, min_norm=0.05, rng=4)
    np.testing.assert_allclose(found.points, kept)
    np.testing.assert_allclose(found.directions, normalised, atol=1e-15)
    assert 0 < len(found) < 200


def test_top_keeps_the_largest_norms():
    found = gs.generate_candidates(Exact(MODEL), ORACLE, n_points=300, point_scale=10.0, top=20, rng=0)
    norms = np.sort(found.estimates.norms)
    np.testing.assert_allclose(np.sort(found.norms), norms[-20:])
    assert found.min_norm == norms[-20]


def test_candidates_point_along_sign_of_weight_times_unit():
    found = gs.generate_candidates(Exact(MODEL), ORACLE, n_points=2000, point_scale=40.0, min_norm=0.1, rng=1)
    cone = MODEL.units * np.sign(MODEL.weights)[:, None]
    assert (found.directions @ cone.T).max(axis=1).min() > 0.5  # never the opposite direction


def test_the_longest_gradients_are_the_spurious_ones_and_the_purity_filter_removes_them():
    # Exact gradients, xi0 = 8, k = 3: nearly all of the top 2% have two units active; purity leaves single ones.
    model = gs.SigmoidCombination(np.eye(10)[:3], [0.5, 0.5, 0.5])

    def doubly_active(points):
        return np.mean(np.sum(np.abs(points[:, :3]) < 1.5, axis=1) >= 2)

    how = dict(n_points=3000, point_scale=8.0, rng=2)
    top = gs.generate_candidates(Exact(model), gs.Oracle(model.predict, 10), top=60, **how)
    pure = gs.generate_candidates(
        Exact(model), gs.Oracle(model.predict, 10), min_norm=0.1, min_purity=0.9, slide=6.0, **how
    )
    assert doubly_active(top.points) > 0.9
    assert doubly_active(pure.points) < 0.1


def test_too_few_candidates_carry_numbers_cause_remedy_and_what_was_found():
    with pytest.raises(gs.errors.CandidateShortage, match="lower point_scale") as caught:
        gs.generate_candidates(
            Exact(MODEL), ORACLE, n_points=50, point_scale=1e4, min_norm=0.1, min_candidates=3, rng=0
        )
    assert "of 50 gradient estimates survived and 3 are needed" in str(caught.value)
    assert len(caught.value.partial) < 3
    assert caught.value.partial.estimates.norms.shape == (50,)


def test_a_shortage_names_the_filter_that_bit():
    how = dict(n_points=50, point_scale=5.0, min_candidates=3, rng=0)
    X, y = MODEL.sample(500, 0.1, rng=0)
    with pytest.raises(gs.errors.CandidateShortage, match=r"min_support=1e\+06; lower"):
        gs.generate_candidates(gs.KernelGradients(), (X, y), top=9, min_support=1e6, **how)
    with pytest.raises(gs.errors.CandidateShortage, match=r"0 pure.*lower min_purity"):
        gs.generate_candidates(gs.KernelGradients(), (X, y), min_norm=0.0, min_purity=0.999, slide=9.0, **how)


def test_the_purity_filter_slides_inside_the_subspace_that_the_estimator_sees():
    # d = 60, k = 2, exact gradients inside the true plane: the filter must bite as it does in the plane itself.
    units = gs.simulate.random_units(60, 2, 1.0, rng=0)
    model, flat = gs.SigmoidCombination(units, [0.5, 0.5]), gs.SigmoidCombination(np.eye(2), [0.5, 0.5])
    how = dict(n_points=2000, point_scale=2.0, min_norm=0.05, min_purity=0.8, rng=1)

    class Projected(Exact):
        def estimate(self, source, points, rng=None):
            return super().estimate(source, points @ units.T @ units)

    wide = gs.generate_candidates(Projected(model), gs.Oracle(model.predict, 60), **how)
    narrow = gs.generate_candidates(Exact(flat), gs.Oracle(flat.predict, 2), **how)
    assert len(narrow) < 1000
    assert len(wide) / 2000 == pytest.approx(len(narrow) / 2000, abs=0.1)


def test_low_support_is_warned_about_and_can_be_filtered():
    X, y = MODEL.sample(2000, 0.1, rng=0)
    how = dict(n_points=300, point_scale=5.0, top=150, rng=1)
    with pytest.warns(gs.errors.LowSupportWarning, match="effective samples.*Raise n_points"):
        gs.generate_candidates(gs.KernelGradients(), (X, y), **how)
    # Many candidates average out: no warning (which would be an error here).
    gs.generate_candidates(gs.KernelGradients(), (X, y), **(how | dict(top=200)))
    found = gs.generate_candidates(gs.KernelGradients(), (X, y), min_support=50.0, **how)
    assert found.support.min() >= 50


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (dict(n_points=0), "n_points must be at least 1"),
        (dict(n_points=10.5), "n_points must be a whole number"),
        (dict(point_scale=-1.0), "point_scale must be above 0"),
        (dict(top=5), "exactly one of min_norm and top"),
        (dict(min_norm=None), "exactly one of min_norm and top"),
        (dict(min_norm=None, top=0), "top must be at least 1"),
        (dict(min_purity=1.5), "min_purity must lie in"),
    ],
)
def test_bad_settings_get_one_sentence(change, message):
    how = {**dict(n_points=10, point_scale=1.0, min_norm=0.0), **change}
    with pytest.raises(ValueError, match=message):
        gs.generate_candidates(Exact(MODEL), ORACLE, **how)


@pytest.mark.parametrize("source", [5, len, (np.ones(4), np.ones(4)), "rows.csv"])
def test_what_is_no_source_gets_one_sentence(source):
    with pytest.raises((TypeError, ValueError), match=r"source must be|X must be a non-empty matrix"):
        gs.generate_candidates(gs.KernelGradients(), source, n_points=3, point_scale=1.0, top=2)


def test_anything_with_an_estimate_method_can_stand_behind_the_algorithm():
    from gradsift.paper.method.kernel import GradientEstimator

    assert isinstance(Exact(MODEL), GradientEstimator)
    for own in (
        gs.KernelGradients(),
        gs.OracleGradients(),
        gs.LocalLinearGradients(),
        gs.ProjectedGradients(np.eye(2)),
    ):
        assert isinstance(own, GradientEstimator)
