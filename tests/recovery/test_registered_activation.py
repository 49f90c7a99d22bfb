"""An activation that the package does not know: one record, and everything works with it."""

from __future__ import annotations

import pickle
from dataclasses import replace

import numpy as np
import pytest

import gradsift as gs
from gradsift.activations import ACTIVATIONS, Activation, End, OnnxTwin, TorchTwin, get_activation, register
from gradsift.reading.odd_form import with_tails


def onnx_nodes(helper, inside, outside):
    """x / sqrt(1 + x^2), in float64."""
    from onnx import TensorProto

    return [
        helper.make_node("Constant", [], ["one"], value=helper.make_tensor("one", TensorProto.DOUBLE, [], [1.0])),
        helper.make_node("Mul", [inside, inside], ["square"]),
        helper.make_node("Add", ["square", "one"], ["more"]),
        helper.make_node("Sqrt", ["more"], ["root"]),
        helper.make_node("Div", [inside, "root"], [outside]),
    ]


ALGEBRAIC = Activation(
    "algebraic sigmoid",
    value=lambda z: z / np.sqrt(1 + z * z),
    derivative=lambda z: (1 + z * z) ** -1.5,
    second_derivative=lambda z: -3 * z * (1 + z * z) ** -2.5,
    left=End(-1.0),
    right=End(1.0),
    tails="algebraic",
    inverse=lambda v: v / np.sqrt(1 - v * v),
    torch=lambda torch: TorchTwin(lambda z: z / torch.sqrt(1 + z * z), lambda z: (1 + z * z) ** -1.5),
    onnx=OnnxTwin(onnx_nodes),
)


@pytest.fixture
def name():
    register(ALGEBRAIC)
    yield ALGEBRAIC.name
    del ACTIVATIONS[ALGEBRAIC.name]


def teacher(d: int, k: int, seed: int) -> gs.SigmoidCombination:
    rng = np.random.default_rng([14, d, k, seed])
    units = np.linalg.qr(rng.standard_normal((d, k)))[0].T
    return gs.SigmoidCombination(
        units, rng.uniform(0.6, 1.0, k), rng.uniform(1.0, 2.5, k), 0.5 * rng.standard_normal(k), 0.3, ALGEBRAIC.name
    )


def error(found: gs.Recovery, truth: gs.SigmoidCombination) -> float:
    assert found.model.activation == truth.activation
    assert found.n_units == truth.n_units
    return gs.match_units(found.model.units, truth.units).max_error


def test_an_exact_box_is_recovered_and_certified(name):
    truth = teacher(4, 2, 0)
    found = gs.recover(gs.Oracle(truth.predict, 4), activation=name, random_state=1)
    assert found.certified
    assert error(found, truth) < 1e-9


def test_limits_other_than_one_are_read_as_well():
    shifted = Activation(
        "shifted",
        value=lambda z: 2 + 0.5 * ALGEBRAIC.value(z),
        derivative=lambda z: 0.5 * ALGEBRAIC.derivative(z),
        second_derivative=lambda z: 0.5 * ALGEBRAIC.second_derivative(z),
        left=End(1.5),
        right=End(2.5),
        tails="algebraic",
        inverse=lambda v: ALGEBRAIC.inverse(2 * (v - 2)),
    )
    register(shifted)
    try:
        truth = gs.SigmoidCombination([[0.6, 0.8]], [0.7], 2.0, 0.4, -0.3, "shifted")
        found = gs.recover(gs.Oracle(truth.predict, 2), activation="shifted", random_state=1)
        assert found.certified
        assert error(found, truth) < 1e-9
        np.testing.assert_allclose([found.model.weights[0], found.model.intercept], [0.7, -0.3], atol=1e-8)
    finally:
        del ACTIVATIONS["shifted"]


def test_the_wrong_activation_is_not_certified_for_the_same_box(name):
    truth = teacher(2, 1, 0)
    with pytest.raises((gs.errors.NotIdentifiable, gs.errors.UncertifiedWarning)):  # warnings are errors here
        gs.recover(gs.Oracle(truth.predict, 2), activation="softsign", random_state=1)


def test_a_noisy_box_is_recovered_and_certified(name):
    truth = teacher(4, 2, 1)
    noise = np.random.default_rng(2)
    box = gs.Oracle(lambda X: truth.predict(X) + 0.05 * noise.standard_normal(len(X)), 4)
    found = gs.recover(box, activation=name, random_state=1)
    assert found.certified
    assert error(found, truth) < 0.1  # the accuracy that noisy boxes are recovered to


def test_a_table_is_recovered_and_certified(name):
    truth = teacher(4, 2, 3)
    X, y = truth.sample(4000, noise=0.1, rng=5)
    found = gs.recover((X, y), n_units=2, activation=name, random_state=1)
    assert found.certified
    assert error(found, truth) < 4 * float(np.max(found.standard_errors["units"]))


def test_it_is_exported_by_its_twins_and_refused_without_them(name, tmp_path):
    torch = pytest.importorskip("torch")
    runtime = pytest.importorskip("onnxruntime")
    pytest.importorskip("onnx")
    truth = teacher(4, 2, 3)
    X = np.random.default_rng(0).standard_normal((50, 4))
    np.testing.assert_allclose(truth.to_torch()(torch.tensor(X)).detach().numpy(), truth.predict(X), atol=1e-13)
    truth.to_onnx(tmp_path / "m.onnx")
    session = runtime.InferenceSession(tmp_path / "m.onnx", providers=["CPUExecutionProvider"])
    np.testing.assert_allclose(session.run(None, {"X": X})[0], truth.predict(X), atol=1e-13)
    with pytest.raises(ValueError, match="tanh and logistic and relu units, not algebraic sigmoid"):
        truth.to_sklearn()
    register(replace(ALGEBRAIC, torch=None, onnx=None))  # the same function may be registered again
    with pytest.raises(ValueError, match="no torch twin"):
        truth.to_torch()
    with pytest.raises(ValueError, match="no ONNX twin"):
        truth.to_onnx(tmp_path / "n.onnx")


def test_rows_on_a_device_use_the_torch_twin(name):
    torch = pytest.importorskip("torch")
    X, y = teacher(3, 1, 3).sample(500, noise=0.1, rng=5)
    fits = [
        gs.recover(rows, 1, activation=name, random_state=1) for rows in ((X, y), (torch.tensor(X), torch.tensor(y)))
    ]
    np.testing.assert_allclose(fits[0].model.units, fits[1].model.units, atol=1e-4)


def test_files_and_pickles_hold_its_name_and_say_what_to_do_where_it_is_unknown(name, tmp_path):
    truth = teacher(3, 2, 0)
    truth.save(tmp_path / "m.json")
    assert gs.SigmoidCombination.load(tmp_path / "m.json") == truth
    assert pickle.loads(pickle.dumps(get_activation(name))) is ALGEBRAIC
    packed = pickle.dumps(truth)
    assert pickle.loads(packed) == truth
    del ACTIVATIONS[name]
    with pytest.raises(ValueError, match="algebraic sigmoid"):
        pickle.loads(packed)
    with pytest.raises(pickle.PicklingError, match="not registered"):
        pickle.dumps(ALGEBRAIC)
    register(ALGEBRAIC)


def test_a_family_that_is_not_given_may_be_one_that_was_registered(name):
    assert [link.activation.name for link in with_tails()] == ["arctan", "softsign", name]


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"derivative": lambda z: (1 + z * z) ** -1.4}, "derivative is off by"),
        ({"second_derivative": lambda z: 3 * z * (1 + z * z) ** -2.5}, "second_derivative is off by"),
        ({"inverse": lambda v: v / (1 - v * v)}, "inverse does not invert"),
        ({"inverse": None}, "needs its inverse"),
        ({"right": End(2.0)}, "where the right end"),
        ({"tails": "exponential"}, "exponential tails say"),
        ({"tails": "fat"}, "tails must be one of"),
        ({"name": "auto"}, "a name of its own"),
        ({"name": "tanh"}, "known already, as another function"),
    ],
)
def test_a_record_that_contradicts_itself_is_refused_in_one_sentence(wrong, sentence):
    with pytest.raises(ValueError, match=sentence):
        register(replace(ALGEBRAIC, **wrong))
    assert list(ACTIVATIONS)[:5] == ["tanh", "logistic", "erf", "arctan", "softsign"]
    assert get_activation("tanh").tails == "exponential"


def test_a_sigmoid_that_is_not_odd_has_no_odd_form_and_boxes_of_it_are_refused():
    gompertz = Activation(
        "gompertz",
        value=lambda z: np.exp(-np.exp(-z)),
        derivative=lambda z: np.exp(-z - np.exp(-z)),
        second_derivative=lambda z: np.exp(-z - np.exp(-z)) * np.expm1(-z),
        left=End(0.0),
        right=End(1.0),
        tails="exponential",
        inverse=lambda v: -np.log(-np.log(v)),
    )
    try:
        assert register(gompertz).odd_form is None
        with pytest.raises(ValueError, match="odd about their centre, and gompertz is not"):
            gs.recover(gs.Oracle(lambda X: gompertz.value(X[:, 0]), 2), activation="gompertz")
        model = gs.SigmoidCombination([[1.0, 0.0], [0.0, 1.0]], [-1.0, 2.0], activation="gompertz")
        np.testing.assert_allclose(model.canonical().predict([[0.3, 0.4]]), model.predict([[0.3, 0.4]]))
    finally:
        ACTIVATIONS.pop("gompertz", None)


def test_an_activation_that_grows_fits_into_the_record():
    softplus = Activation(
        "my softplus",
        value=lambda z: np.logaddexp(0, z),
        derivative=lambda z: 0.5 * (1 + np.tanh(0.5 * z)),
        second_derivative=lambda z: 0.25 / np.cosh(0.5 * z) ** 2,
        left=End(0.0),
        right=End(0.0, slope=1.0),
        tails="exponential",
    )
    relu = Activation(
        "my relu",
        value=lambda z: np.maximum(z, 0.0),
        derivative=lambda z: (z > 0).astype(float),
        second_derivative=np.zeros_like,
        left=End(0.0),
        right=End(0.0, slope=1.0),
        tails="exact",
        kinks=(0.0,),
    )
    for record in (softplus, relu):
        try:
            register(record)
            assert not record.saturates
            assert record.odd_form is None
            assert (record.low, record.high) == (0.0, np.inf)
        finally:
            ACTIVATIONS.pop(record.name, None)


def test_a_registered_activation_that_grows_is_found_behind_a_box():
    smooth = Activation(
        "squareplus",
        value=lambda z: 0.5 * (z + np.logaddexp(z, -z)),
        derivative=lambda z: 0.5 * (1 + np.tanh(z)),
        second_derivative=lambda z: 0.5 / np.cosh(np.clip(z, -300, 300)) ** 2,
        left=End(0.0),
        right=End(0.0, 1.0),
        tails="exponential",
    )
    register(smooth)
    try:
        rng = np.random.default_rng(4)
        W, b, u = rng.standard_normal((3, 5)), rng.standard_normal(3), rng.uniform(0.5, 1, 3)
        found = gs.recover(
            gs.Oracle(lambda X: smooth.value(X @ W.T + b) @ u, 5), activation="squareplus", random_state=0
        )
        assert found.certified
        X = rng.standard_normal((40, 5))
        np.testing.assert_allclose(found.model.predict(X), smooth.value(X @ W.T + b) @ u, atol=1e-8)
    finally:
        del ACTIVATIONS["squareplus"]
