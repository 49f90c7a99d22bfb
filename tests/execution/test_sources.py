"""The same rows in any holder give the same numbers, and each row is read as often as the source says."""

import warnings

import numpy as np
import pytest

import gradsift as gs
from gradsift.paper.method.kernel import KernelSummary
from gradsift.paper.method.subspace import SpectralMirror
from gradsift.sources import ArraySource, MomentSummary, Summary

POINTS = np.random.default_rng(7).standard_normal((20, 4))


def recovered(source):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", gs.errors.UncertifiedWarning)
        return gs.recover(source, 2, random_state=5)


@pytest.fixture(scope="module")
def reference(table):
    return recovered((table[1], table[2]))


def test_every_holder_gives_the_same_recovery(source, reference, table):
    found = recovered(source)
    for name in ("units", "weights", "slopes", "offsets"):
        np.testing.assert_allclose(getattr(found.model, name), getattr(reference.model, name), rtol=0, atol=1e-8)
    # Second way: the truth, within five standard errors of directions from 24,000 rows.
    error = gs.match_units(found.model.units, table[0].units).max_error
    assert error < 5 * found.standard_errors["units"].max()


def test_every_holder_gives_the_same_numbers_to_their_last_bit(source, in_memory):
    for summary in (MomentSummary(), KernelSummary(POINTS)):
        for ours, theirs in zip(source.collect(summary), in_memory.collect(summary)):
            np.testing.assert_allclose(ours, theirs, rtol=4e-16)  # products round by where arrays lie in memory
    ours, theirs = (SpectralMirror(2).fit_source(s).components_ for s in (source, in_memory))
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-12)


@pytest.mark.parametrize("shift", [0.0, 2.9, 3.1, 1e6])
@pytest.mark.parametrize("d", [1, 3, 20, 151])
def test_moments_are_those_of_long_arithmetic_wherever_the_rows_lie(d, shift):
    rng = np.random.default_rng([d, 5])
    X = rng.standard_normal((700, d)) * np.geomspace(1e-3, 1e3, d)
    X += shift * X.std(axis=0) * rng.choice([-1.0, 0.0, 1.0], d)
    y = X[:, 0] + shift
    found = ArraySource(X, y).moments
    both = np.column_stack((X, y)).astype(np.longdouble)
    centred = both - both.mean(axis=0)
    covariance = centred.T @ centred / len(both)
    spread = np.sqrt(np.diag(covariance))
    expected, limit = (covariance / spread[:, None] / spread).astype(float), 1e-15 * (30 + shift)
    np.testing.assert_allclose(found.covariance / spread[:-1, None] / spread[:-1], expected[:-1, :-1], atol=limit)
    np.testing.assert_allclose(found.cross / spread[:-1] / spread[-1], expected[:-1, -1], atol=limit)
    assert found.y_variance / spread[-1] ** 2 == pytest.approx(1, abs=limit)


def test_every_holder_draws_the_same_sample(source, in_memory):
    ours, theirs = (s.sample(500, np.random.default_rng(3)) for s in (source, in_memory))
    np.testing.assert_array_equal(ours.X, theirs.X)
    np.testing.assert_array_equal(ours.y, theirs.y)


@pytest.mark.parametrize("cut", [(0, 24_000), (0, 1), (6_999, 7_003), (14_999, 15_001), (23_999, 24_000), (5, 20_000)])
def test_a_range_of_rows_is_that_range(source, table, cut):
    _, X, y = table
    part = source.rows(*cut)
    blocks = list(part.blocks(777))
    np.testing.assert_array_equal(np.concatenate([b.X for b in blocks]), X[slice(*cut)])
    np.testing.assert_array_equal(np.concatenate([b.y for b in blocks]), y[slice(*cut)])
    assert part.n_rows == cut[1] - cut[0]


def test_passes_are_counted_with_halves_as_halves(source):
    before = source.n_passes
    source.reduce(MomentSummary())
    assert source.n_passes == before + 1
    source.rows(0, 12_000).reduce(MomentSummary())
    assert source.n_passes == before + 1.5


def test_an_empty_or_outside_range_is_refused(source):
    for bad in ((5, 5), (0, 24_001), (-1, 3)):
        with pytest.raises(ValueError, match=r"non-empty range within 0\.\.24000"):
            source.rows(*bad)


def test_an_interrupt_leaves_the_count_and_the_source_as_they_were(source):
    class Stopping(MomentSummary):
        def chunk(self, rows):
            raise KeyboardInterrupt

    before = source.n_passes
    with pytest.raises(KeyboardInterrupt):
        source.reduce(Stopping())
    assert source.n_passes == before
    assert source.reduce(MomentSummary()).n_rows == 24_000


def test_row_weights_travel_with_the_rows(table, tmp_path):
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    arrays = pytest.importorskip("dask.array")
    _, X, y = table
    w = np.random.default_rng(8).integers(0, 3, len(y)).astype(float)
    parquet.write_table(arrow.table({"y": y, "w": w, **{f"x{j}": X[:, j] for j in range(4)}}), tmp_path / "t.parquet")
    truth = ArraySource(X, y, w).reduce(KernelSummary(POINTS)).values
    by_file = gs.sources.parquet(tmp_path / "t.parquet", target="y", weight="w").reduce(KernelSummary(POINTS)).values
    by_dask = gs.sources.dask(*(arrays.from_array(a, chunks=1000) for a in (X, y, w))).reduce(KernelSummary(POINTS))
    np.testing.assert_array_equal(by_file, truth)
    np.testing.assert_array_equal(by_dask.values, truth)
    # Second way: integer weights are repeated rows.
    repeated = ArraySource(np.repeat(X, w.astype(int), axis=0), np.repeat(y, w.astype(int)))
    np.testing.assert_allclose(repeated.reduce(KernelSummary(POINTS)).values, truth, atol=1e-12)


def test_chunks_that_weigh_nothing_change_nothing():
    arrays = pytest.importorskip("dask.array")
    rng = np.random.default_rng(3)
    X, y, w = rng.standard_normal((300_000, 4)), rng.standard_normal(300_000), np.ones(300_000)
    w[:150_000] = 0.0
    chunked = gs.sources.dask(*(arrays.from_array(a, chunks=70_000) for a in (X, y, w)))
    for summary in (MomentSummary(), KernelSummary(POINTS)):
        found, truth = chunked.reduce(summary), ArraySource(X[150_000:], y[150_000:]).reduce(summary)
        for name in ("covariance", "values", "support"):
            if hasattr(truth, name):
                np.testing.assert_allclose(getattr(found, name), getattr(truth, name), rtol=1e-9, atol=1e-12)


def test_columns_come_in_the_order_asked_for(folder, table):
    part = gs.sources.parquet(folder, target="x0", features=["y", "x3"]).rows(0, 10)
    rows = next(part.blocks(10))
    np.testing.assert_array_equal(rows.X, np.column_stack((table[2], table[1][:, 3]))[:10])
    np.testing.assert_array_equal(rows.y, table[1][:10, 0])


def test_a_summary_of_ones_own_runs_on_every_source(source, table):
    class Largest(Summary):
        def chunk(self, rows):
            return rows.y.max()

        def merge(self, left, right):
            return max(left, right)

        def finalize(self, state):
            return float(state)

    assert source.reduce(Largest()) == table[2].max()
