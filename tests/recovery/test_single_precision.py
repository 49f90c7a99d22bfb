"""Boxes that calculate in single precision, and boxes with several outputs: certified, and exported."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import gradsift as gs
from gradsift.reading import solve_outputs

torch = pytest.importorskip("torch")


def module(d, k, m, seed):
    torch.manual_seed(seed)
    net = torch.nn.Sequential(torch.nn.Linear(d, k), torch.nn.Tanh(), torch.nn.Linear(k, m))
    with torch.no_grad():
        net[0].weight.mul_(3)
    return net


@pytest.mark.parametrize(("d", "k", "seed"), [(4, 2, 0), (8, 12, 1), (20, 6, 2)])
def test_a_float32_module_is_read_with_whatever_batches_there_are(d, k, seed):
    net = module(d, k, 1, seed)
    found = gs.recover(gs.oracle.from_torch(net), random_state=seed)
    assert found.certified
    assert found.diagnostics["answers"] == "answers are float32 numbers"
    match = gs.match_units(found.model.units, net[0].weight.detach().double().numpy())
    assert (match.errors <= np.array(found.diagnostics["error_bounds"])[match.order]).all()
    assert match.max_error < 1e-3
    X = np.random.default_rng(seed).standard_normal((100, d))
    expected = net(torch.as_tensor(X, dtype=torch.float32)).detach().numpy()[:, 0]
    np.testing.assert_allclose(found.network.predict(X), expected, atol=2e-5)


def claims(oracle, seed):
    """Whether anything is certified, by a result or instead of a refusal."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", gs.errors.UncertifiedWarning)
        try:
            return gs.recover(oracle, random_state=seed).certified
        except gs.errors.GradsiftError:
            return False


def test_what_is_no_sum_of_sigmoids_is_not_certified_in_float32():
    torch.manual_seed(4)
    square = torch.nn.Sequential(torch.nn.Linear(4, 5), torch.nn.Softplus(), torch.nn.Linear(5, 1), torch.nn.Tanh())
    assert not claims(gs.oracle.from_torch(square, max_queries=5000), 0)


def test_every_output_of_a_float32_module_has_its_check():
    net = module(6, 5, 3, 7)
    found = gs.recover(gs.oracle.from_torch(net), random_state=1)
    assert found.certified
    assert {"output 1", "output 2", "output 3"} <= {check.name for check in found.checks}
    assert found.network.n_outputs == 3


def test_an_output_that_is_no_sum_of_the_units_spoils_the_certificate():
    rng = np.random.default_rng(8)
    W, V = rng.standard_normal((3, 4)), rng.standard_normal((2, 3))

    def box(X, share):
        y = np.tanh(X @ W.T) @ V.T
        y[:, 1] += share * np.sin(3 * X[:, 0])
        return np.round(y, 6)

    assert claims(gs.Oracle(lambda X: box(X, 0.0), 4), 0)
    assert not claims(gs.Oracle(lambda X: box(X, 3e-5), 4), 0)


def test_the_check_of_an_output_knows_its_own_rounding():
    net = gs.simulate.random_combination(4, 3, slope=2.0, rng=5)
    X = np.random.default_rng(6).standard_normal((200, 4))
    hidden = np.tanh(X @ (net.units * net.slopes[:, None]).T + net.offsets)
    Y = hidden @ np.random.default_rng(7).standard_normal((3, 2))
    Y[:, 1] += 1e-4 * np.cos(X[:, 1])
    layer = solve_outputs(net, X, np.round(Y, 6), np.full(Y.shape, 5e-7))
    assert layer.chi[0] < 2
    assert layer.chi[1] > 20


def test_exported_networks_of_several_outputs_agree_with_the_box(tmp_path):
    net = module(5, 4, 3, 9)
    found = gs.recover(gs.oracle.from_torch(net), random_state=3)
    X = np.random.default_rng(0).standard_normal((60, 5))
    expected = net(torch.as_tensor(X, dtype=torch.float32)).detach().numpy()
    np.testing.assert_allclose(found.network.predict(X), expected, atol=1e-5)
    np.testing.assert_allclose(found.network.to_sklearn().predict(X), expected, atol=1e-5)
    as_module = found.network.to_torch()
    np.testing.assert_allclose(as_module(torch.as_tensor(X)).detach().numpy(), expected, atol=1e-5)
    runtime = pytest.importorskip("onnxruntime")
    found.network.to_onnx(tmp_path / "net.onnx")
    session = runtime.InferenceSession(str(tmp_path / "net.onnx"), providers=["CPUExecutionProvider"])
    np.testing.assert_allclose(session.run(None, {"X": X})[0], expected, atol=1e-5)
