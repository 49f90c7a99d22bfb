"""An exported model predicts what the model predicts."""

import sys

import numpy as np
import pytest

import gradsift as gs
from gradsift.activations import ACTIVATIONS
from gradsift.errors import MissingExtra


def model(activation="tanh"):
    m = gs.simulate.random_combination(6, 4, slope=2.0, offsets=True, rng=3)
    return gs.SigmoidCombination(m.units, m.weights, m.slopes, m.offsets, 0.7, activation)


ROWS = np.random.default_rng(4).standard_normal((50, 6)) * 3


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_torch_modules_predict_the_same(activation):
    torch = pytest.importorskip("torch")
    m = model(activation)
    module = m.to_torch()
    found = module(torch.tensor(ROWS)).detach().numpy()
    np.testing.assert_allclose(found, m.predict(ROWS), rtol=0, atol=1e-12)
    assert found.shape == (50,)
    assert sum(p.numel() for p in module.parameters()) == m.n_parameters


def test_torch_gradients_are_the_models_gradients():
    torch = pytest.importorskip("torch")
    X = torch.tensor(ROWS, requires_grad=True)
    model().to_torch()(X).sum().backward()
    np.testing.assert_allclose(X.grad.numpy(), model().gradient(ROWS), atol=1e-12)


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_onnx_files_predict_the_same(activation, tmp_path):
    runtime = pytest.importorskip("onnxruntime")
    pytest.importorskip("onnx")
    m = model(activation)
    m.to_onnx(tmp_path / "m.onnx")
    session = runtime.InferenceSession(tmp_path / "m.onnx", providers=["CPUExecutionProvider"])
    (found,) = session.run(None, {"X": ROWS})
    np.testing.assert_allclose(
        found, m.predict(ROWS), rtol=0, atol=1e-12 if ACTIVATIONS[activation].onnx_twin().double else 5e-6
    )


def test_a_linear_term_is_exported_or_refused(tmp_path):
    torch = pytest.importorskip("torch")
    pytest.importorskip("onnx")
    pytest.importorskip("onnxruntime")
    m = model()
    m = gs.SigmoidCombination(m.units, m.weights, m.slopes, m.offsets, m.intercept, linear=np.arange(6.0))
    module = m.to_torch()
    np.testing.assert_allclose(module(torch.tensor(ROWS)).detach().numpy(), m.predict(ROWS), rtol=0, atol=1e-11)
    assert sum(p.numel() for p in module.parameters()) == m.n_parameters
    m.to_onnx(tmp_path / "m.onnx")
    np.testing.assert_allclose(gs.oracle.from_onnx(tmp_path / "m.onnx")(ROWS), m.predict(ROWS), atol=1e-11)
    with pytest.raises(ValueError, match="no linear term"):
        m.to_sklearn()


def test_an_exported_file_is_an_oracle_again(tmp_path):
    pytest.importorskip("onnx")
    pytest.importorskip("onnxruntime")
    m = model()
    m.to_onnx(tmp_path / "m.onnx")
    np.testing.assert_allclose(gs.oracle.from_onnx(tmp_path / "m.onnx")(ROWS), m.predict(ROWS), atol=1e-12)


@pytest.mark.parametrize("activation", ["tanh", "logistic"])
def test_scikit_learn_networks_predict_the_same(activation):
    m = model(activation)
    np.testing.assert_allclose(m.to_sklearn().predict(ROWS), m.predict(ROWS), rtol=0, atol=1e-12)


def test_scikit_learn_has_no_arctan_and_the_error_says_what_to_use():
    with pytest.raises(ValueError, match="to_torch or to_onnx"):
        model("arctan").to_sklearn()


@pytest.mark.parametrize(("package", "export"), [("torch", "to_torch"), ("onnx", "to_onnx")])
def test_a_missing_package_is_named_with_its_extra(package, export, monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, package, None)
    arguments = [tmp_path / "m.onnx"] if export == "to_onnx" else []
    with pytest.raises(MissingExtra, match=rf"gradsift\[{package}\]"):
        getattr(model(), export)(*arguments)
    assert not list(tmp_path.iterdir())
