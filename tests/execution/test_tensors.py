"""The formulas for rows on a device (a GPU where there is one, else the CPU) against NumPy."""

import numpy as np
import pytest

import gradsift as gs
from gradsift.activations import ACTIVATIONS
from gradsift.fit import Family, NormalEquations, Parameters
from gradsift.paper.method.gradients import LocalLinearSummary, ProjectedGradients
from gradsift.paper.method.kernel import KernelSummary
from gradsift.paper.method.subspace import SpectralMirror
from gradsift.paper.method.weights import fit_weights
from gradsift.sources import ArraySource, MomentSummary
from gradsift.sources.source import LabelSummary

torch = pytest.importorskip("torch")
from gradsift.sources.torch_tensors import TorchSource  # noqa: E402

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
D = 5
RNG = np.random.default_rng(3)
MODEL = gs.simulate.random_combination(D, 3, slope=2.0, rng=1)
X, Y = MODEL.sample(20_000, 0.2, rng=2)
WEIGHT = RNG.integers(0, 3, len(Y)).astype(float)
POINTS = RNG.standard_normal((15, D))


def pair(weight=None, kind=None):
    kind = kind or torch.float64
    tensors = [None if a is None else torch.tensor(a, dtype=kind, device=DEVICE) for a in (X, Y, weight)]
    return ArraySource(X, Y, weight), TorchSource(*tensors)


def assert_states_agree(summary, weight=None, kind=None, tolerance=1e-10):
    ours, theirs = (source.collect(summary) for source in pair(weight, kind))
    for a, b in zip(ours, theirs):
        if a is not None:
            np.testing.assert_allclose(b, a, rtol=0, atol=tolerance * max(1.0, np.abs(a).max()))


@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["plain", "weighted"])
@pytest.mark.parametrize("summary", [MomentSummary(), LocalLinearSummary(POINTS, 1.0, 1e-3)], ids=["moments", "local"])
def test_moments_and_summaries_without_device_code_agree(summary, weight):
    assert_states_agree(summary, weight)


@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["plain", "weighted"])
@pytest.mark.parametrize(("kind", "tolerance"), [(torch.float64, 1e-10), (torch.float32, 1e-5)])
def test_kernel_gradients_agree(weight, kind, tolerance):
    ours, theirs = (source.reduce(KernelSummary(POINTS)) for source in pair(weight, kind))
    assert np.linalg.norm(theirs.values - ours.values) < tolerance * np.linalg.norm(ours.values)
    np.testing.assert_allclose(theirs.support, ours.support, rtol=10 * tolerance)
    np.testing.assert_allclose(theirs.standard_errors, ours.standard_errors, rtol=10 * tolerance)


@pytest.mark.parametrize(
    ("labels", "activation"),
    [(True, "tanh"), (True, "softsign"), *((False, name) for name in ACTIVATIONS)],
)
def test_normal_equations_agree(labels, activation):
    family = Family.of(activation, labels=labels, offsets=True, intercept=not labels)
    theta = Parameters(RNG.standard_normal((3, D)), np.array([0.3, 0.2, 0.2]), np.array([0.1, 0.0, -0.4]), 0.0)
    y = np.where(Y > 0, 1.0, -1.0) if labels else Y
    summary = NormalEquations(family, theta, single=False)
    ours = ArraySource(X, y, WEIGHT).reduce(summary)
    theirs = TorchSource(*(torch.tensor(a, device=DEVICE) for a in (X, y, WEIGHT))).reduce(summary)
    for a, b in zip(ours, theirs):
        np.testing.assert_allclose(b, a, rtol=0, atol=1e-10 * np.abs(a).max())


def test_weights_mirror_and_projection_agree():
    ours, theirs = pair(WEIGHT)
    np.testing.assert_allclose(
        fit_weights(MODEL.units, theirs).weights, fit_weights(MODEL.units, ours).weights, atol=1e-10
    )
    a, b = (SpectralMirror(3).fit_source(s).components_ for s in (ours, theirs))
    np.testing.assert_allclose(b, a, atol=1e-10)
    a, b = (ProjectedGradients(SpectralMirror(3)).estimate(s, POINTS).values for s in (ours, theirs))
    np.testing.assert_allclose(b, a, atol=1e-10)


def test_labels_are_recognised():
    ones = torch.where(torch.tensor(Y) > 0, 1.0, -1.0)
    assert TorchSource(torch.tensor(X), ones).reduce(LabelSummary())
    ones[17] = 0.5
    assert not TorchSource(torch.tensor(X), ones).reduce(LabelSummary())


def test_a_whole_recovery_agrees():
    ours, theirs = (gs.recover(s, 3, random_state=0).model for s in pair())
    np.testing.assert_allclose(theirs.units, ours.units, atol=1e-8)


def test_samples_are_the_same_rows():
    ours, theirs = (s.sample(300, np.random.default_rng(1)) for s in pair(WEIGHT))
    for a, b in zip(ours, theirs):
        np.testing.assert_array_equal(a, b)


def test_tensors_in_memory_are_shared_and_not_copied():
    t = torch.tensor(X)
    assert np.shares_memory(gs.sources.tensors(t, torch.tensor(Y)).X, t.numpy())


def test_bfloat16_integers_and_columns_are_accepted():
    source = gs.sources.tensors(torch.tensor(X[:10]).bfloat16(), torch.arange(10)[:, None])
    assert source.moments.y_mean == 4.5
    assert TorchSource(torch.arange(20).reshape(10, 2), torch.arange(10)[:, None]).moments.y_mean == 4.5


@pytest.mark.parametrize(
    ("x", "y", "weight", "message"),
    [
        (torch.ones(5, 2), torch.ones(4), None, "same number of rows, got 5 and 4"),
        (torch.ones(5), torch.ones(5), None, "non-empty matrix"),
        (torch.tensor([[1.0], [float("nan")]]), torch.ones(2), None, "X must be finite, but row 1"),
        (torch.ones(2, 1), torch.tensor([1.0, float("inf")]), None, "y must be finite, but row 1"),
        (torch.ones(2, 1), torch.ones(2), torch.tensor([1.0, -1.0]), "sample_weight must be at least 0"),
        (torch.ones(2, 1), torch.ones(2, device="meta"), None, "one device, got cpu and meta"),
    ],
)
def test_bad_tensors_are_refused_in_one_sentence(x, y, weight, message):
    with pytest.raises(ValueError, match=message):
        TorchSource(x, y, weight)


def test_complex_tensors_are_refused():
    with pytest.raises(TypeError, match="real numbers"):
        TorchSource(torch.ones(2, 1, dtype=torch.complex64), torch.ones(2))


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA device")
def test_cuda_asked_for_and_absent_is_said():
    with pytest.raises(ValueError, match="'cuda' was asked for, but torch sees no CUDA device"):
        gs.sources.tensors(X, Y, device="cuda")
