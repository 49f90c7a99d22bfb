"""SigmoidCombination: values, gradients, canonical form, files."""

import json
import math
from pathlib import Path

import numpy as np
import pytest

import gradsift as gs
from gradsift.activations import ACTIVATIONS

NAMES = sorted(ACTIVATIONS)
SIGMOIDS = sorted(name for name, f in ACTIVATIONS.items() if f.saturates)


def some_model(activation="tanh", rng=0):
    rng = np.random.default_rng(rng)
    return gs.SigmoidCombination(
        rng.standard_normal((3, 4)), [0.7, -0.4, 0.2], [1.0, 2.0, 0.5], [0.1, -0.3, 0.0], 0.25, activation
    )


def test_prediction_is_the_written_out_sum():
    m = some_model()
    x = np.array([[0.3, -1.0, 0.5, 2.0]])
    by_hand = m.intercept + sum(
        m.weights[i] * np.tanh(m.slopes[i] * (m.units[i] @ x[0]) + m.offsets[i]) for i in range(3)
    )
    assert m.predict(x)[0] == pytest.approx(by_hand, abs=1e-15)


@pytest.mark.paper("eq:Model")
def test_rows_of_any_length_keep_the_function_and_become_units():
    rows = np.array([[3.0, 4.0], [0.0, 2.0]])
    m = gs.SigmoidCombination(rows, [1.0, -1.0])
    X = np.random.default_rng(1).standard_normal((20, 2))
    np.testing.assert_allclose(m.predict(X), np.tanh(X @ rows.T) @ [1.0, -1.0], atol=1e-14)
    np.testing.assert_allclose(np.linalg.norm(m.units, axis=1), 1.0, atol=1e-15)
    np.testing.assert_allclose(m.slopes, [5.0, 2.0])


@pytest.mark.paper("gradient")
@pytest.mark.parametrize("name", NAMES)
def test_gradient_agrees_with_central_differences(name):
    m = some_model(name)
    X = np.random.default_rng(2).standard_normal((6, 4))
    h = 1e-5
    steps = h * np.eye(4)
    numeric = np.stack([(m.predict(X + s) - m.predict(X - s)) / (2 * h) for s in steps], axis=1)
    np.testing.assert_allclose(m.gradient(X), numeric, atol=1e-9)


@pytest.mark.paper("population")
@pytest.mark.parametrize("name", NAMES)
def test_smoothed_gradient_agrees_with_monte_carlo(name):
    # n = 100,000 draws; standard error of each entry below 0.35 / sqrt(n) = 0.0011; tolerance five of them.
    m = some_model(name)
    points = np.array([[0.0, 0, 0, 0], [1.0, -2, 0.5, 0]])
    z = np.random.default_rng(3).standard_normal((100_000, 4))
    monte_carlo = np.stack([m.gradient(p + z).mean(axis=0) for p in points])
    np.testing.assert_allclose(m.smoothed_gradient(points), monte_carlo, atol=0.0055)


@pytest.mark.parametrize("name", SIGMOIDS)
def test_canonical_form_has_positive_ordered_weights_and_the_same_values(name):
    m = some_model(name)
    c = m.canonical()
    X = np.random.default_rng(4).standard_normal((30, 4))
    np.testing.assert_allclose(c.predict(X), m.predict(X), atol=1e-14)
    assert (c.weights > 0).all()
    assert (np.diff(c.weights) <= 0).all()
    assert c.canonical() == c


@pytest.mark.parametrize("suffix", [".json", ".npz"])
@pytest.mark.parametrize("name", NAMES)
def test_saved_models_load_to_the_same_bits(tmp_path, suffix, name):
    m = some_model(name)
    m.save(tmp_path / f"m{suffix}")
    assert gs.SigmoidCombination.load(tmp_path / f"m{suffix}") == m


@pytest.mark.parametrize("suffix", [".json", ".npz"])
def test_stored_files_of_the_first_format_are_read_to_the_same_numbers(suffix):
    stored = gs.SigmoidCombination.load(Path(__file__).parents[1] / "data" / f"model_format_1{suffix}")
    assert stored == gs.SigmoidCombination(
        [[0.6, 0.8, 0.0], [0.0, 0.0, 1.0]], [1.5, -0.1], [2.0, 0.3], [0.1, -0.7], 0.25, "logistic"
    )
    first, second = 2.0 * (0.6 * 1 + 0.8 * 2) + 0.1, 0.3 * 3 - 0.7  # at (1, 2, 3), by hand
    expected = 0.25 + 1.5 / (1 + math.exp(-first)) - 0.1 / (1 + math.exp(-second))
    np.testing.assert_allclose(stored.predict([[1.0, 2.0, 3.0]]), [expected], rtol=1e-15)


def test_a_file_from_the_future_or_of_another_kind_is_refused(tmp_path):
    path = tmp_path / "m.json"
    some_model().save(path)
    fields = json.loads(path.read_text())
    path.write_text(json.dumps({**fields, "version": 99}))
    with pytest.raises(gs.errors.GradsiftError, match="version 99"):
        gs.SigmoidCombination.load(path)
    path.write_text("{}")
    with pytest.raises(ValueError, match="does not hold"):
        gs.SigmoidCombination.load(path)
    path.write_text("not json")
    with pytest.raises(ValueError, match="does not hold"):
        gs.SigmoidCombination.load(path)


@pytest.mark.parametrize(
    ("name", "content"),
    [("m.npz", b""), ("m.npz", b"text"), ("m.npz", b"PK\x03\x04"), ("m.json", b"[]"), ("m.json", b'{"format": 1}')],
)
def test_a_damaged_file_is_refused_in_one_sentence(tmp_path, name, content):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ValueError, match="does not hold a SigmoidCombination") as caught:
        gs.SigmoidCombination.load(tmp_path / name)
    assert "\n" not in str(caught.value)


def test_a_file_with_a_missing_field_says_which(tmp_path):
    path = tmp_path / "m.json"
    some_model().save(path)
    fields = json.loads(path.read_text())
    path.write_text(json.dumps({k: v for k, v in fields.items() if k != "slopes"}))
    with pytest.raises(ValueError, match="damaged SigmoidCombination: 'slopes'"):
        gs.SigmoidCombination.load(path)


def test_saving_through_a_link_keeps_the_link_and_the_mode(tmp_path):
    real, link = tmp_path / "real.json", tmp_path / "link.json"
    real.write_text("")
    real.chmod(0o640)
    link.symlink_to(real)
    some_model().save(link)
    assert link.is_symlink()
    assert real.stat().st_mode & 0o777 == 0o640
    assert gs.SigmoidCombination.load(real) == some_model()


@pytest.mark.parametrize("size", [1e-200, 1e200])
def test_rows_of_extreme_length_become_units(size):
    m = gs.SigmoidCombination([[3 * size, 4 * size]], [1.0])
    np.testing.assert_allclose(m.units, [[0.6, 0.8]], rtol=1e-15)
    assert m.slopes[0] == pytest.approx(5 * size)


def test_a_failed_save_leaves_nothing_behind(tmp_path):
    with pytest.raises(ValueError, match="must end in"):
        some_model().save(tmp_path / "m.pickle")
    with pytest.raises(FileNotFoundError):
        some_model().save(tmp_path / "nowhere" / "m.json")
    assert list(tmp_path.iterdir()) == []


def test_samples_have_the_asked_for_noise_labels_and_covariance():
    m = some_model()
    X, y = m.sample(50_000, noise=0.3, rng=5)
    assert np.std(y - m.predict(X)) == pytest.approx(0.3, abs=5 * 0.3 / np.sqrt(2 * 50_000))
    small = gs.SigmoidCombination(m.units, [0.5, 0.3, 0.2])
    X, y = small.sample(50_000, noise="labels", rng=6)
    assert set(y) == {-1.0, 1.0}
    assert np.mean(y - small.predict(X)) == pytest.approx(0.0, abs=5 / np.sqrt(50_000))
    S = np.diag([1.0, 4.0, 9.0, 0.25]) + 0.2
    X, y = m.sample(50_000, noise=None, rng=7, mean=[1, 2, 3, 4], covariance=S)
    np.testing.assert_array_equal(y, m.predict(X))
    np.testing.assert_allclose(np.cov(X.T), S, atol=0.3)
    np.testing.assert_allclose(X.mean(axis=0), [1, 2, 3, 4], atol=0.07)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (dict(units=[[1.0, 0.0]], weights=[1.0, 2.0]), "weights must have length 1"),
        (dict(units=[[1.0, np.nan]], weights=[1.0]), "units must be finite"),
        (dict(units=[[0.0, 0.0]], weights=[1.0]), "units must have a direction"),
        (dict(units=[[1e100, 0.0]], weights=[1.0], slopes=1e250), "must be finite and above 0, got inf"),
        (dict(units=[[1.0, 0.0]], weights=[1.0], slopes=-1.0), "must be finite and above 0, got -1"),
        (dict(units=[1.0, 0.0], weights=[1.0]), "units must be a non-empty matrix"),
        (dict(units=[[1.0, 0.0]], weights=[1.0], activation="sine"), "activation must be one of"),
    ],
)
def test_bad_parameters_get_one_sentence(arguments, message):
    with pytest.raises(ValueError, match=message):
        gs.SigmoidCombination(**arguments)


@pytest.mark.parametrize(
    ("how", "message"),
    [
        (dict(covariance=np.triu(np.ones((4, 4)))), "covariance must be symmetric"),
        (dict(covariance=-np.eye(4)), "positive definite"),
        (dict(noise=np.inf), "noise must be finite, got inf"),
        (dict(noise="loud"), "noise must be a number"),
        (dict(n=2.5), "n must be a whole number"),
    ],
)
def test_bad_samples_get_one_sentence(how, message):
    with pytest.raises(ValueError, match=message):
        some_model().sample(**{"n": 5, **how})


def test_text_in_place_of_numbers_is_a_type_error():
    with pytest.raises(TypeError, match="X must hold real numbers"):
        some_model().predict([["a", "b", "c", "d"]])


def test_unknowns_are_counted():
    assert some_model().n_parameters == 3 * (4 + 2) + 1


def skipping():
    m = some_model()
    return gs.SigmoidCombination(
        m.units, m.weights, m.slopes, m.offsets, m.intercept, m.activation, [1.0, -2.0, 0.5, 0.0]
    )


def test_a_linear_term_adds_to_values_and_gradients_and_survives_the_canonical_form():
    m, plain = skipping(), some_model()
    X = np.random.default_rng(7).standard_normal((12, 4))
    np.testing.assert_allclose(m.predict(X), plain.predict(X) + X @ m.linear, atol=1e-14)
    np.testing.assert_allclose(m.gradient(X), plain.gradient(X) + m.linear, atol=1e-14)
    np.testing.assert_allclose(m.smoothed_gradient(X), plain.smoothed_gradient(X) + m.linear, atol=1e-14)
    np.testing.assert_allclose(m.canonical().predict(X), m.predict(X), atol=1e-14)
    assert m.n_parameters == plain.n_parameters + 4
    assert m != plain


@pytest.mark.parametrize("suffix", [".json", ".npz"])
def test_a_linear_term_is_saved_in_format_two_and_other_files_stay_at_one(tmp_path, suffix):
    skipping().save(tmp_path / f"m{suffix}")
    assert gs.SigmoidCombination.load(tmp_path / f"m{suffix}") == skipping()
    for model, version in ((skipping(), 2), (some_model(), 1)):
        model.save(tmp_path / "m.json")
        fields = json.loads((tmp_path / "m.json").read_text())
        assert fields["version"] == version
        assert ("linear" in fields) == (version == 2)


def test_a_linear_term_of_the_wrong_length_is_refused():
    with pytest.raises(ValueError, match="linear must have length 4, got 2"):
        gs.SigmoidCombination(np.eye(4), np.ones(4), linear=[1.0, 2.0])
