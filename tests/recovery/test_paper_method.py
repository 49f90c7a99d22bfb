"""recover(method="paper") under the three access models, and what it says when it cannot."""

import warnings

import numpy as np
import pytest

import gradsift as gs
from gradsift.paper.method.literal import run_paper
from gradsift.sources import as_source

MODEL = gs.SigmoidCombination(np.eye(6)[:3], [0.6, -0.5, 0.4], 2.0)


def recover_quietly(*args, **kwargs):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", gs.errors.UncertifiedWarning)
        warnings.simplefilter("ignore", gs.errors.LowSupportWarning)
        return gs.recover(*args, method="paper", **kwargs)


@pytest.mark.paper("maintheorem")
def test_a_value_oracle_gives_units_weights_and_slope():
    oracle = gs.Oracle(MODEL.predict, 6)
    found = recover_quietly(oracle, 3, random_state=0)
    assert gs.match_units(found.model.units, MODEL.units).max_error < 0.25
    np.testing.assert_allclose(found.model.weights, [0.6, 0.5, 0.4], atol=0.1)
    assert found.n_queries == oracle.n_queries == 450 * 1000 + 500
    assert not found.certified
    assert "carries no certificate" in found.verdict
    assert found.candidates is not None
    assert found.verdict in found.summary()


def test_the_canonical_units_are_those_the_gradients_point_along():
    found = recover_quietly(gs.Oracle(MODEL.predict, 6), 3, slope=2.0, random_state=1)
    signed = MODEL.units * np.sign(MODEL.weights)[:, None]
    match = gs.match_units(found.model.units, signed)
    np.testing.assert_array_equal(match.signs, 1.0)


def test_weights_that_contradict_their_own_gradients_are_counted():
    # Answers that are noise: seed 0, 400 rows. The record keeps the weights as they were fitted, signs included.
    rng = np.random.default_rng(0)
    rows = as_source((rng.standard_normal((400, 3)), rng.standard_normal(400)))
    with pytest.warns(gs.errors.LowSupportWarning):
        run = run_paper(rows, 3, n_points=60, rng=rng)
    against = run.model.weights[run.model.weights < 0]
    assert run.diagnostics["n_contradicted"] == len(against) == 1
    assert against[0] > -1


def test_gaussian_rows_in_the_plane_give_units():
    # d = k = 2, slope 5, n = 300,000 noise-free rows: the kernel still reaches points where one unit is active.
    model = gs.SigmoidCombination(np.eye(2), [0.5, 0.5], 5.0)
    rows = model.sample(300_000, None, rng=0)
    how = dict(n_points=400, point_scale=2.0, min_norm=0.05, min_support=100.0, min_purity=0.8, slide=1.0)
    found = recover_quietly(rows, 2, random_state=1, **how)
    assert gs.match_units(found.model.units, model.units).max_error < 0.35
    assert found.n_queries == 0


DEMO = dict(slope=4.0, min_singular_value=1.0, mixture=True, min_weight=1.0)


def worst_angle(found, model):
    return np.degrees(2 * np.arcsin(gs.match_units(found.model.units, model.units).max_error / 2))


@pytest.mark.paper("maintheorem")
@pytest.mark.paper("dimredtheorem")
def test_rows_in_ten_dimensions_give_units_by_default_and_the_projection_gives_them_more_closely():
    # n = 200,000 rows, seeds 3 to 5; the control has the same rows and permuted answers.
    model = gs.simulate.random_combination(10, 2, **DEMO, rng=3)
    X, y = model.sample(200_000, 0.1, rng=4)
    plain = recover_quietly((X, y), 2, access="gaussian", mixture=True, random_state=5)
    projected = recover_quietly((X, y), 2, access="projected", mixture=True, random_state=5)
    permuted = recover_quietly((X, np.random.default_rng(6).permutation(y)), 2, access="gaussian", random_state=5)
    assert worst_angle(projected, model) < worst_angle(plain, model) < 30 < 40 < worst_angle(permuted, model)
    assert projected.model.weights.sum() == pytest.approx(1.0)
    assert len(projected.diagnostics["mirror_eigenvalues"]) == 10


def test_near_points_and_the_longest_gradients_mix_units_however_exact_they_are():
    # The old default: points where 100 rows support an estimate, the longest fifth. Exact gradients miss there, too.
    model = gs.simulate.random_combination(10, 2, **DEMO, rng=3)
    scale = np.sqrt(np.log(200_000 / 100) / 10)
    points = scale * np.random.default_rng(7).standard_normal((2000, 10))
    exact = model.smoothed_gradient(points)
    longest = np.argsort(-np.linalg.norm(exact, axis=1))[:400]
    centers = gs.DirectionalKMeans(2, random_state=0).fit(exact[longest]).cluster_centers_
    assert gs.match_units(centers, model.units).max_error > 2 * np.sin(np.radians(15))
    assert (np.abs(points[longest] @ model.units.T) < 1).all(axis=1).mean() > 0.5  # both units are active


def test_the_same_seed_gives_the_same_bits_and_another_seed_does_not():
    oracle = gs.Oracle(MODEL.predict, 6)
    how = dict(n_points=60, n_queries_per_point=100)
    a, b, c = (recover_quietly(oracle, 3, random_state=s, **how).model for s in (7, 7, 8))
    assert a == b
    assert a != c


def test_pure_noise_is_doubted_aloud():
    rng = np.random.default_rng(0)
    with pytest.warns(gs.errors.UncertifiedWarning, match="no certificate"):
        gs.recover((rng.standard_normal((2000, 4)), rng.standard_normal(2000)), 2, method="paper", random_state=0)


def test_points_too_far_out_raise_a_shortage_with_the_candidates_so_far():
    with pytest.raises(gs.errors.CandidateShortage) as caught:
        recover_quietly(gs.Oracle(MODEL.predict, 6), 3, point_scale=1e6, min_norm=0.4, n_points=30, random_state=0)
    assert len(caught.value.partial) < 3


X, Y = MODEL.sample(300, 0.1, rng=1)


@pytest.mark.parametrize(
    ("source", "options", "error", "message"),
    [
        ((np.where(np.arange(300)[:, None] == 7, np.nan, X), Y), {}, ValueError, "row 7 holds NaN or inf"),
        ((X, np.where(np.arange(300) == 3, np.inf, Y)), {}, ValueError, "y must be finite, but row 3"),
        ((X * [1, 1, 0, 1, 1, 1], Y), {}, ValueError, "column 2 is constant"),
        ((X[:5], Y[:5]), {}, ValueError, "more rows than columns, got 5 rows and 6 columns"),
        ((X[0], Y), {}, ValueError, "X must be a non-empty matrix"),
        ((X, Y[:10]), {}, ValueError, "same number of rows, got 300 and 10"),
        (([["a"] * 6] * 9, Y[:9]), {}, TypeError, "X must hold real numbers"),
        ("rows.csv", {}, TypeError, "source must be a Source or a pair"),
        ((X, Y), dict(n_units=None), ValueError, "needs n_units"),
        ((X, Y), dict(n_units=0), ValueError, "n_units must be at least 1"),
        ((X, Y), dict(access="oracle"), ValueError, "access must be 'gaussian' or 'projected'"),
        (gs.Oracle(MODEL.predict, 6), dict(access="projected"), ValueError, "needs rows"),
        (gs.Oracle(lambda Z: np.zeros(3), 6), {}, ValueError, "The oracle must return"),
        (gs.Oracle(lambda Z: ["a", 1.0] * len(Z), 6), {}, TypeError, "The oracle must return real numbers"),
        ((X, Y), dict(activation="sine"), ValueError, "activation must be one of"),
    ],
)
def test_bad_input_gets_one_sentence(source, options, error, message):
    n_units = options.pop("n_units", 2) if "n_units" in options else 2
    with pytest.raises(error, match=message) as caught:
        recover_quietly(source, n_units, random_state=0, **options)
    assert "\n" not in str(caught.value)


def test_an_unknown_method_or_option_is_refused():
    with pytest.raises(ValueError, match="method must be 'auto' or 'paper'"):
        gs.recover((X, Y), 2, method="magic")
    with pytest.raises(TypeError, match="n_pionts"):
        gs.recover((X, Y), 2, method="paper", n_pionts=3)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        (dict(activation="sine"), ValueError, "activation must be one of"),
        (dict(slope=-1.0), ValueError, "slope must be above 0"),
        (dict(trim=2), ValueError, "trim must lie in"),
        (dict(mixture="no"), TypeError, "mixture must be True or False"),
        (dict(design="sobol"), ValueError, "design must be one of"),
        (dict(n_queries_per_point=1), ValueError, "n_queries_per_point"),
    ],
)
def test_nothing_is_asked_before_the_arguments_are_checked(options, error, message):
    oracle = gs.Oracle(MODEL.predict, 6)
    with pytest.raises(error, match=message):
        recover_quietly(oracle, 3, random_state=0, **options)
    assert oracle.n_queries == 0


@pytest.mark.parametrize("share", [0.0, 1.0, -0.2])
def test_a_subspace_share_that_leaves_no_rows_is_refused(share):
    with pytest.raises(ValueError, match="subspace_share must lie in"):
        recover_quietly((X, Y), 2, access="projected", subspace_share=share)


def test_more_units_than_candidates_is_a_shortage():
    with pytest.raises(gs.errors.CandidateShortage, match="8 are needed"):
        recover_quietly((X, Y), 8, n_points=5, point_scale=0.5, top=5, random_state=0)
