"""The kernel summary, moments and mirror on a CUDA device against NumPy in float64. Skipped without one."""

import numpy as np
import pytest

import gradsift as gs
from gradsift.paper.method.kernel import KernelSummary
from gradsift.sources import Rows

torch = pytest.importorskip("torch")
if not torch.cuda.is_available():
    pytest.skip("no CUDA device", allow_module_level=True)

from gradsift.paper.method.kernel_on_device import kernel_state  # noqa: E402


def rows(n, d, seed=0, offset=0.0):
    m = gs.simulate.random_combination(d, 3, slope=2.0, rng=seed)
    X, y = m.sample(n, 0.1, rng=seed + 1)
    return (X + offset).astype(np.float32), (y + offset).astype(np.float32)


def against_numpy(X, y, points, weight=None, *, double=False, precision="full"):
    """Relative error of the gradients, and the largest one of the supports."""
    wide = [None if a is None else a.astype(np.float64) for a in (X, y, weight)]
    summary = KernelSummary(points)
    truth = summary.finalize(summary.chunk(Rows(*wide)))
    kind = torch.float64 if double else torch.float32
    on_card = [None if a is None else torch.as_tensor(a, dtype=kind, device="cuda") for a in (X, y, weight)]
    found = summary.finalize(kernel_state(points, *on_card, precision=precision))
    error = np.linalg.norm(found.values - truth.values) / np.linalg.norm(truth.values)
    return error, np.abs(found.support / truth.support - 1).max()


@pytest.mark.parametrize("d", [1, 3, 8, 16, 17, 32, 50, 64, 80])
@pytest.mark.parametrize("n", [5, 1000, 30_001])
def test_float32_rows_agree_to_1e_minus_5(d, n):
    X, y = rows(n, max(d, 3))
    X = X[:, :d]
    points = np.random.default_rng(5).standard_normal((137, d)) * 2 / np.sqrt(d)
    error, support = against_numpy(X, y, points)
    assert error < 1e-5
    assert support < 1e-4


@pytest.mark.parametrize("d", [3, 64])
def test_float64_rows_agree_to_1e_minus_10(d):
    X, y = rows(20_000, d)
    points = np.random.default_rng(5).standard_normal((40, d))
    error, support = against_numpy(X, y, points, double=True)
    assert error < 1e-10
    assert support < 1e-10


def test_tf32_is_within_its_stated_error_and_not_exact():
    X, y = rows(50_000, 20)
    points = np.random.default_rng(5).standard_normal((200, 20)) * 2 / np.sqrt(20)
    error, _ = against_numpy(X, y, points, precision="tf32")
    assert 1e-6 < error < 3e-3


def test_sample_weights_count_and_rows_that_weigh_nothing_do_not():
    X, y = rows(10_000, 6)
    weight = np.random.default_rng(2).choice([0.0, 0.5, 3.0], 10_000).astype(np.float32)
    X[np.flatnonzero(weight == 0)[0]] = 50.0  # far out, and weighing nothing
    points = np.random.default_rng(5).standard_normal((33, 6))
    keep = weight > 0
    error, support = against_numpy(X[keep], y[keep], points, weight[keep])
    assert error < 1e-5
    assert support < 1e-4
    on_card = [torch.as_tensor(a, device="cuda") for a in (X, y, weight)]
    some = [torch.as_tensor(a[keep], device="cuda") for a in (X, y, weight)]
    summary = KernelSummary(points)
    with_zero, without = (summary.finalize(kernel_state(points, *a)).values for a in (on_card, some))
    np.testing.assert_allclose(with_zero, without, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("scale", [0.0, 10.0, 100.0])
def test_points_at_the_origin_and_far_out_work(scale):
    # Far out, a handful of rows carry all the weight: support 1 to 3.
    X, y = rows(5000, 10)
    points = scale * gs.simulate.random_units(10, 64, rng=3)
    error, support = against_numpy(X, y, points)
    assert error < 1e-4
    assert support < 1e-3


def test_columns_of_very_different_scale_keep_their_accuracy():
    X, y = rows(20_000, 8)
    scales = 10.0 ** np.arange(-4, 4)
    points = np.random.default_rng(5).standard_normal((50, 8)) / np.sqrt(8)
    error, _ = against_numpy((X * scales).astype(np.float32), (1e5 * y).astype(np.float32), points / scales)
    assert error < 1e-5


def test_offsets_cost_no_more_than_float32_itself():
    X, y = rows(20_000, 5, offset=100.0)
    points = np.random.default_rng(5).standard_normal((50, 5))
    error, _ = against_numpy(X, y, points)
    assert error < 1e-5


def test_the_answer_does_not_change_between_runs():
    X, y = (torch.as_tensor(a, device="cuda") for a in rows(30_000, 12))
    points = np.random.default_rng(5).standard_normal((300, 12))
    first, second = (kernel_state(points, X, y) for _ in range(2))
    for a, b in zip(first, second):
        np.testing.assert_array_equal(a, b)
