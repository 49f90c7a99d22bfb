"""Matching, principal angles, random units."""

import numpy as np
import pytest

import gradsift as gs
from gradsift.geometry import orthonormal_rows, subspace_angle


def test_matching_undoes_a_shuffle_and_sign_flips():
    rng = np.random.default_rng(0)
    truth = gs.simulate.random_units(6, 4, rng=rng)
    order, signs = rng.permutation(4), np.array([1.0, -1, 1, -1])
    match = gs.match_units((truth * signs[:, None])[order], truth)
    assert match.max_error < 1e-15
    np.testing.assert_array_equal(order[match.order], np.arange(4))
    np.testing.assert_array_equal(match.signs, signs)


def test_matching_sees_angles_far_below_what_a_cosine_can_show():
    truth = np.eye(3)
    found = truth + 1e-11 * np.array([[0, 1, 0], [0, 0, 1], [1, 0, 0]])
    assert gs.match_units(found, truth).max_error == pytest.approx(1e-11, rel=1e-3)


@pytest.mark.parametrize("k", [1, 3])
def test_a_wrong_number_of_units_is_an_infinite_error(k):
    assert gs.match_units(np.eye(4)[:k], np.eye(4)[:2]).max_error == np.inf


def test_a_surplus_leaves_the_matched_errors_finite():
    match = gs.match_units(np.eye(3), np.eye(3)[:2])
    np.testing.assert_array_equal(match.errors, 0.0)
    assert match.n_surplus == 1


def test_a_zero_row_has_no_direction_to_match():
    with pytest.raises(ValueError, match="found must have a direction"):
        gs.match_units(np.zeros((2, 3)), np.eye(3)[:2])


def test_principal_angle_of_a_known_tilt():
    tilt = 1e-9
    a = np.eye(4)[:2]
    b = np.array([[1.0, 0, 0, 0], [0, np.cos(tilt), np.sin(tilt), 0]])
    assert subspace_angle(a, b) == pytest.approx(tilt, rel=1e-6)
    assert subspace_angle(a, np.eye(4)[2:]) == pytest.approx(np.pi / 2)


@pytest.mark.parametrize("kappa", [1.0, 0.7, 0.05])
def test_random_units_have_the_requested_smallest_singular_value(kappa):
    units = gs.simulate.random_units(8, 5, kappa, rng=1)
    assert np.linalg.svd(units, compute_uv=False)[-1] == pytest.approx(kappa, abs=1e-12)
    np.testing.assert_allclose(np.linalg.norm(units, axis=1), 1.0, atol=1e-14)


def test_orthonormal_rows_are_orthonormal():
    q = orthonormal_rows(3, 7, np.random.default_rng(2))
    np.testing.assert_allclose(q @ q.T, np.eye(3), atol=1e-14)


def test_random_combinations_follow_the_request():
    m = gs.simulate.random_combination(5, 3, mixture=True, slope=2.5, rng=0)
    assert m.weights.sum() == pytest.approx(1.0)
    assert (m.weights > 0).all()
    assert set(m.slopes) == {2.5}
    assert gs.simulate.random_combination(5, 3, rng=7) == gs.simulate.random_combination(5, 3, rng=7)
    with pytest.raises(ValueError, match="n_units <= n_features"):
        gs.simulate.random_units(2, 3, 0.5)
    with pytest.raises(ValueError, match="min_singular_value"):
        gs.simulate.random_units(3, 2, 1.5)
