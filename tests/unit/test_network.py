"""Networks with several layers: what they compute, and the same function written otherwise."""

import numpy as np
import pytest

import gradsift as gs
from gradsift.activations import ACTIVATIONS
from gradsift.errors import GradsiftError

ROWS = np.random.default_rng(4).standard_normal((40, 5)) * 2


def network(activation="tanh", n_outputs=1, linear=False, widths=(4, 3), seed=3):
    net = gs.simulate.random_network(5, widths, n_outputs=n_outputs, activation=activation, rng=seed)
    skip = np.random.default_rng(seed).standard_normal((n_outputs, 5)) if linear else 0.0
    return gs.Network(net.layers, activation, skip)


def by_hand(net, x):
    """One row, unit by unit."""
    f, h = ACTIVATIONS[net.activation].value, list(x)
    for weights, offsets in net.layers[:-1]:
        h = [float(f(np.array(sum(w * v for w, v in zip(row, h)) + b))) for row, b in zip(weights, offsets)]
    weights, offsets = net.layers[-1]
    out = [sum(w * v for w, v in zip(row, h)) + b for row, b in zip(weights, offsets)]
    return [o + sum(g * v for g, v in zip(skip, x)) for o, skip in zip(out, net.linear)]


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize(("n_outputs", "linear"), [(1, False), (1, True), (3, False), (3, True)])
def test_predictions_are_the_sum_written_out(activation, n_outputs, linear):
    net = network(activation, n_outputs, linear)
    found = net.predict(ROWS)
    assert found.shape == ((40,) if n_outputs == 1 else (40, 3))
    np.testing.assert_allclose(found.reshape(40, -1), [by_hand(net, x) for x in ROWS], atol=1e-12)


def test_a_network_knows_its_sizes():
    net = network(n_outputs=2, linear=True)
    assert (net.widths, net.n_features, net.n_outputs) == ((4, 3), 5, 2)
    assert net.n_parameters == 4 * 6 + 3 * 5 + 2 * 4 + 2 * 5
    assert repr(net) == "Network(4, 3 tanh units in dimension 5, 2 outputs)"


@pytest.mark.parametrize("activation", ["tanh", "logistic", "erf"])
def test_the_canonical_form_is_the_same_function_and_forgets_order_and_signs(activation):
    net = network(activation, 2, True, (4, 3, 3))
    rng, mixed = np.random.default_rng(0), net
    for layer, k in enumerate(net.widths):
        mixed = mixed.reordered(layer, rng.permutation(k), rng.choice([-1.0, 1.0], k))
    assert mixed != net
    np.testing.assert_allclose(mixed.predict(ROWS), net.predict(ROWS), atol=1e-12)
    for a, b in zip(mixed.canonical().layers, net.canonical().layers):
        np.testing.assert_allclose(a.weights, b.weights, atol=1e-14)
        np.testing.assert_allclose(a.offsets, b.offsets, atol=1e-13)


def test_with_one_layer_the_canonical_form_is_that_of_the_model():
    model = gs.simulate.random_combination(5, 4, offsets=True, activation="logistic", rng=2)
    found = gs.Network.of(model).canonical().to_model()
    np.testing.assert_allclose(found.weights, model.canonical().weights, atol=1e-14)
    np.testing.assert_allclose(found.units, model.canonical().units, atol=1e-14)
    assert found.intercept == pytest.approx(model.canonical().intercept)


def test_models_with_the_same_units_are_outputs_of_one_network():
    m = gs.simulate.random_combination(5, 3, offsets=True, rng=1)
    other = gs.SigmoidCombination(m.units, [1.0, 2.0, 3.0], m.slopes, m.offsets, 0.5, linear=np.arange(5.0))
    net = gs.Network.of([m, other])
    np.testing.assert_allclose(net.predict(ROWS), np.stack([m.predict(ROWS), other.predict(ROWS)], axis=1), atol=1e-12)
    with pytest.raises(ValueError, match="share units"):
        gs.Network.of([m, gs.simulate.random_combination(5, 3, rng=7)])
    with pytest.raises(TypeError, match="one per output"):
        gs.Network.of([])


@pytest.mark.parametrize("activation", ["tanh", "logistic"])
def test_matching_undoes_order_and_signs_and_measures_what_is_left(activation):
    truth, rng = network(activation, 2), np.random.default_rng(1)
    found = truth
    for layer, k in enumerate(truth.widths):
        found = found.reordered(layer, rng.permutation(k), rng.choice([-1.0, 1.0], k))
    assert gs.match_networks(found, truth).max_error < 1e-14
    layers = [list(layer) for layer in found.layers]
    layers[1][1] = layers[1][1] + 1e-3
    match = gs.match_networks(gs.Network(layers, activation), truth)
    np.testing.assert_allclose(match.errors[1], 1e-3 / np.maximum(np.linalg.norm(np.c_[truth.layers[1]], axis=1), 1))
    assert match.errors[0].max() < 1e-14
    assert gs.match_networks(network(activation, 2, widths=(4, 4)), truth).max_error == np.inf


@pytest.mark.parametrize("suffix", ["json", "npz"])
@pytest.mark.parametrize("linear", [False, True])
def test_files_read_back_to_the_same_bits(suffix, linear, tmp_path):
    net = network("logistic", 2, linear)
    net.save(tmp_path / f"n.{suffix}")
    assert gs.Network.load(tmp_path / f"n.{suffix}") == net


def test_files_of_another_kind_or_a_later_version_are_refused(tmp_path):
    gs.simulate.random_combination(5, 3, rng=1).save(tmp_path / "m.json")
    with pytest.raises(ValueError, match="does not hold a Network"):
        gs.Network.load(tmp_path / "m.json")
    network().save(tmp_path / "n.json")
    with pytest.raises(ValueError, match="does not hold a SigmoidCombination"):
        gs.SigmoidCombination.load(tmp_path / "n.json")
    text = (tmp_path / "n.json").read_text()
    (tmp_path / "n.json").write_text(text.replace('"version": 1', '"version": 9'))
    with pytest.raises(GradsiftError, match="version 9"):
        gs.Network.load(tmp_path / "n.json")
    (tmp_path / "n.json").write_text(text.replace("weights_1", "weight_1"))
    with pytest.raises(ValueError, match="damaged Network"):
        gs.Network.load(tmp_path / "n.json")


@pytest.mark.parametrize("activation", ["tanh", "logistic", "softsign"])
@pytest.mark.parametrize(("n_outputs", "linear"), [(1, True), (2, False), (2, True)])
def test_exports_predict_the_same(activation, n_outputs, linear, tmp_path):
    torch = pytest.importorskip("torch")
    pytest.importorskip("onnx")
    pytest.importorskip("onnxruntime")
    net = network(activation, n_outputs, linear)
    module = net.to_torch()
    np.testing.assert_allclose(module(torch.tensor(ROWS)).detach().numpy(), net.predict(ROWS), atol=1e-12)
    assert sum(p.numel() for p in module.parameters()) == net.n_parameters
    net.to_onnx(tmp_path / "n.onnx")
    tolerance = 1e-6 if activation == "softsign" else 1e-12
    np.testing.assert_allclose(gs.oracle.from_onnx(tmp_path / "n.onnx")(ROWS), net.predict(ROWS), atol=tolerance)


@pytest.mark.parametrize("n_outputs", [1, 2])
def test_scikit_learn_networks_predict_the_same(n_outputs):
    net = network("logistic", n_outputs, widths=(4, 3, 2))
    np.testing.assert_allclose(net.to_sklearn().predict(ROWS), net.predict(ROWS), atol=1e-12)
    with pytest.raises(ValueError, match="to_torch or to_onnx"):
        network("erf").to_sklearn()


def test_bad_layers_are_refused_in_one_sentence():
    with pytest.raises(ValueError, match="at least one hidden layer"):
        gs.Network([(np.eye(2), np.zeros(2))])
    with pytest.raises(ValueError, match="weights of layer 2 must have 2 columns"):
        gs.Network([(np.eye(2), np.zeros(2)), (np.eye(3), np.zeros(3))])
    with pytest.raises(TypeError, match="pairs"):
        gs.Network([np.eye(3)])
    with pytest.raises(ValueError, match="linear must have"):
        gs.Network([(np.eye(2), np.zeros(2)), (np.eye(2), np.zeros(2))], linear=np.eye(3, 2))
    with pytest.raises(ValueError, match="name each"):
        network().reordered(0, [0, 0, 1, 2])


def test_random_networks_have_the_requested_row_norms():
    net = gs.simulate.random_network(6, (200, 30), row_norms=[(1.0, 3.0), 2.0], offsets=[1.0, 0.0], rng=0)
    lengths = np.linalg.norm(net.layers[0].weights, axis=1)
    assert lengths.min() >= 1
    assert lengths.max() <= 3
    assert np.log(lengths).mean() == pytest.approx(np.log(3) / 2, abs=4 * np.log(3) / np.sqrt(12 * 200))
    np.testing.assert_allclose(np.linalg.norm(net.layers[1].weights, axis=1), 2.0)
    assert not net.layers[1].offsets.any()
    with pytest.raises(ValueError, match="one entry per hidden layer"):
        gs.simulate.random_network(6, (3, 3), row_norms=[1.0])


def test_units_that_have_no_other_sign_are_matched_as_they_are():
    layers = [(np.array([[1.0, 2.0], [-3.0, 0.5]]), np.array([0.1, -0.2])), (np.array([[1.0, -2.0]]), np.array([0.3]))]
    truth = gs.Network(layers, "relu")
    swapped = truth.reordered(0, [1, 0])
    assert gs.match_networks(swapped, truth).max_error == 0
    (W, b), last = layers
    assert gs.match_networks(gs.Network([(-W, -b), last], "relu"), truth).max_error == pytest.approx(2)


MIXED = ["relu", "tanh", "leaky_relu(0.2)"]


def mixed(n_outputs=1):
    return gs.Network(network("tanh", n_outputs, True, (4, 3, 3)).layers, MIXED)


def test_each_hidden_layer_may_have_its_own_activation():
    net = mixed()
    h = ROWS
    for f, (W, b) in zip(("relu", "tanh", "leaky_relu(0.2)"), net.layers):
        z = h @ W.T + b
        h = {"relu": np.maximum(z, 0), "tanh": np.tanh(z)}.get(f, np.where(z > 0, z, 0.2 * z))
    np.testing.assert_allclose(net.predict(ROWS), h @ net.layers[-1].weights[0] + net.layers[-1].offsets[0], atol=1e-12)
    assert (net.activations, net.activation) == (tuple(MIXED), "relu, tanh, leaky_relu(0.2)")
    assert gs.Network(net.layers, ["relu"] * 3) == gs.Network(net.layers, "relu")
    assert gs.Network(net.layers, "relu") != net
    with pytest.raises(ValueError, match="one for each of 3 hidden layers, got 2"):
        gs.Network(net.layers, ["relu", "tanh"])
    for unknown in ("leaky_relu(2)", "leaky_relu(-0.1)", "leaky_relu(x)"):
        with pytest.raises(ValueError, match="activation must be one of"):
            gs.Network(net.layers, ["relu", "tanh", unknown])


def test_networks_of_several_activations_keep_their_function_in_canonical_form_and_files(tmp_path):
    net = mixed(2)
    np.testing.assert_allclose(net.canonical().predict(ROWS), net.predict(ROWS), atol=1e-12)
    turned = net.reordered(1, [2, 0, 1], [-1.0, 1.0, -1.0])  # of tanh units, whose signs are free
    assert gs.match_networks(turned, net).max_error < 1e-12
    for name in ("n.json", "n.npz"):
        net.save(tmp_path / name)
        assert gs.Network.load(tmp_path / name) == net
    with pytest.raises(ValueError, match="no other sign"):
        net.reordered(0, [0, 1, 2, 3], -1.0)


def test_networks_of_several_activations_are_exported_but_to_scikit_learn(tmp_path):
    torch = pytest.importorskip("torch")
    pytest.importorskip("onnx")
    pytest.importorskip("onnxruntime")
    net = mixed(2)
    np.testing.assert_allclose(net.to_torch()(torch.tensor(ROWS)).detach().numpy(), net.predict(ROWS), atol=1e-12)
    net.to_onnx(tmp_path / "n.onnx")
    np.testing.assert_allclose(gs.oracle.from_onnx(tmp_path / "n.onnx")(ROWS), net.predict(ROWS), atol=1e-12)
    with pytest.raises(ValueError, match="one activation in all layers"):
        net.to_sklearn()


def test_a_leaky_slope_travels_through_pickle():
    import pickle

    net = mixed()
    assert pickle.loads(pickle.dumps(net)) == net
