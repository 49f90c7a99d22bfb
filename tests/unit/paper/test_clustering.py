"""Directional k-means."""

import numpy as np
import pytest

import gradsift as gs


def bundle(centers, n, spread, rng):
    rng = np.random.default_rng(rng)
    rows = np.repeat(centers, n, axis=0)
    return rows + spread * rng.standard_normal(rows.shape)


def test_separated_bundles_are_found():
    truth = gs.simulate.random_units(6, 4, rng=0)
    rows = bundle(truth, 30, 0.05, 1)
    found = gs.DirectionalKMeans(4, random_state=0).fit(rows)
    assert gs.match_units(found.cluster_centers_, truth).max_error < 0.05
    assert sorted(np.bincount(found.labels_)) == [30, 30, 30, 30]
    np.testing.assert_array_equal(found.predict(rows), found.labels_)


def test_opposite_directions_are_different_clusters():
    found = gs.DirectionalKMeans(2, random_state=0).fit(bundle(np.array([[1.0, 0, 0], [-1, 0, 0]]), 20, 0.1, 2))
    assert found.cluster_centers_[0] @ found.cluster_centers_[1] < -0.9


def test_spurious_rows_are_left_out_and_do_not_pull():
    truth = np.eye(5)[:2]
    noise = gs.simulate.random_units(5, 40, rng=3)
    rows = np.vstack((bundle(truth, 50, 0.03, 4), noise))
    plain = gs.DirectionalKMeans(2, random_state=0).fit(rows)
    trimmed = gs.DirectionalKMeans(2, trim=0.3, random_state=0).fit(rows)
    assert (trimmed.labels_ == -1).sum() == int(0.3 * len(rows))
    error = gs.match_units(trimmed.cluster_centers_, truth).max_error
    assert error < 0.05 < gs.match_units(plain.cluster_centers_, truth).max_error


def test_lengths_do_not_matter():
    rows = bundle(np.eye(3), 15, 0.1, 5)
    scaled = rows * np.random.default_rng(6).uniform(1e-3, 1e3, (45, 1))
    a, b = (gs.DirectionalKMeans(3, random_state=1).fit(r).cluster_centers_ for r in (rows, scaled))
    np.testing.assert_allclose(a, b, atol=1e-12)


def test_one_cluster_is_the_mean_direction():
    rows = bundle(np.array([[1.0, 2, 3]]), 25, 0.5, 7)
    mean = gs.geometry.normalize_rows(rows).sum(axis=0)
    found = gs.DirectionalKMeans(1, random_state=0).fit(rows)
    np.testing.assert_allclose(found.cluster_centers_[0], mean / np.linalg.norm(mean), atol=1e-12)


def test_as_many_clusters_as_rows_and_identical_rows_do_not_hang():
    assert set(gs.DirectionalKMeans(4, random_state=0).fit(np.eye(4)).labels_) == {0, 1, 2, 3}
    found = gs.DirectionalKMeans(2, random_state=0).fit(np.ones((5, 3)))
    assert set(found.labels_) == {0, 1}


def test_centres_have_length_one_even_where_rows_cancel():
    for rows in (np.array([[1.0, 0], [-1, 0]]), np.zeros((3, 2))):
        found = gs.DirectionalKMeans(1, random_state=0).fit(rows)
        assert np.linalg.norm(found.cluster_centers_) == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (dict(n_clusters=9), "n_clusters must be between 1 and the 8 rows kept, got 9"),
        (dict(n_clusters=0), "n_clusters must be"),
        (dict(n_clusters=2.5), "n_clusters must be a whole number"),
        (dict(n_clusters="a"), "n_clusters must be at least 1, got 'a'"),
        (dict(n_clusters=2, max_iter=0), "max_iter must be at least 1"),
        (dict(n_clusters=2, n_init=-1), "n_init must be at least 1"),
        (dict(n_clusters=5, trim=0.5), "the 4 rows kept"),
        (dict(n_clusters=2, trim=1.0), "trim must lie in"),
    ],
)
def test_more_clusters_than_candidates_is_an_error(settings, message):
    with pytest.raises(ValueError, match=message):
        gs.DirectionalKMeans(**settings).fit(np.random.default_rng(0).standard_normal((8, 3)))
