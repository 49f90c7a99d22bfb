"""What the estimators must find, and beside it what they must not claim."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest

import gradsift as gs
from gradsift.errors import UncertifiedWarning
from gradsift.sources import ArraySource
from gradsift.table import search

from .mixture_em import expectation_maximization

TRUTH = gs.SigmoidCombination([[1, 0, 0, 0], [0, 1, 0, 0]], [1.0, 0.7], 3.0)


def _regressor(**options):
    return gs.SigmoidCombinationRegressor(random_state=0, **options)


def _classifier(**options):
    return gs.SigmoidMixtureClassifier(random_state=0, **options)


@pytest.fixture(scope="module")
def table():
    return TRUTH.sample(3000, noise=0.2, rng=1)


@pytest.fixture(scope="module")
def labels():
    mixture = gs.SigmoidCombination(TRUTH.units, [0.6, 0.4], 3.0)
    X, y = mixture.sample(6000, noise="labels", rng=2)
    return mixture, X, np.where(y > 0, "yes", "no")


# What must be found


@pytest.mark.parametrize(
    "options",
    [
        {"n_units": 2},
        {},
        {"n_units": 2, "slopes": "common"},
        {"n_units": 2, "slopes": 3.0},
        {"n_units": 2, "offsets": True, "intercept": True},
        {"n_units": 2, "activation": "logistic"},
    ],
    ids=str,
)
def test_units_are_found_and_certified(table, options):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fit = _regressor(**options).fit(*table)
    assert fit.n_units_ == 2
    errors = gs.match_units(fit.units_, TRUTH.units).errors
    assert (errors < 4 * fit.recovery_.standard_errors["units"]).all()
    assert fit.recovery_.verdict.startswith("Certified:")
    slopes = 6.0 if options.get("activation") == "logistic" else 3.0  # a logistic unit is tanh at half the argument
    assert np.abs(fit.slopes_ - slopes).max() < 5 * max(fit.recovery_.standard_errors["slopes"].max(), 1e-6)


@pytest.mark.parametrize("scales", [(1e-150, 1e150), (1e150, 1e-150), (1e150, 1e150)])
def test_huge_scales_change_nothing(table, scales):
    X, y = table
    plain, scaled = _regressor(n_units=2).fit(X, y), _regressor(n_units=2).fit(X * scales[0], y * scales[1])
    np.testing.assert_allclose(scaled.units_, plain.units_, atol=1e-6)
    np.testing.assert_allclose(scaled.predict(X * scales[0]) / scales[1], plain.predict(X), atol=1e-6)


def test_weights_are_relative_unless_they_count(table):
    X, y = table
    X, y = X[:600], y[:600]
    weight = np.random.default_rng(0).uniform(0.5, 1.5, 600)
    plain, tiny = (_regressor(n_units=2).fit(X, y, sample_weight=weight * s) for s in (1.0, 1e-9))
    np.testing.assert_allclose(tiny.units_, plain.units_, atol=1e-6)
    assert plain.fit_.refined.mass == pytest.approx(600)
    double = _regressor(n_units=2).fit(X, y, sample_weight=np.full(600, 2))
    assert double.fit_.refined.mass == pytest.approx(600)
    counted = _regressor(n_units=2, weights="frequency").fit(X, y, sample_weight=np.full(600, 2))
    assert counted.fit_.refined.mass == 1200


def test_rows_far_from_the_origin_need_no_preparation(table):
    X, y = table
    fit = _regressor(n_units=2).fit(X + 100, y)
    assert gs.match_units(fit.units_, TRUTH.units).max_error < 0.05


def test_a_mixture_of_classifiers_is_found(labels):
    mixture, X, y = labels
    fit = _classifier().fit(X, y)
    assert fit.n_units_ == 2
    assert fit.recovery_.certified
    match = gs.match_units(fit.units_, mixture.units)
    assert (match.errors < 4 * fit.recovery_.standard_errors["units"][match.order]).all()
    assert (match.signs == 1).all()  # with positive weights a unit has no other sign
    probability = fit.predict_proba(X)
    np.testing.assert_allclose(probability[:, 1], (1 + mixture.predict(X)) / 2, atol=0.1)
    np.testing.assert_allclose(probability.sum(axis=1), 1)
    shares = fit.responsibilities(X, y)
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    np.testing.assert_allclose(shares.mean(axis=0), fit.weights_, atol=0.02)  # a fixed point of EM


def test_frames_names_and_outputs_pass_through(table):
    X, y = table
    frame = pd.DataFrame(X, columns=list("abcd"))
    fit = _regressor(n_units=2).set_output(transform="pandas").fit(frame, pd.Series(y))
    assert list(fit.feature_names_in_) == list("abcd")
    hidden = fit.transform(frame)
    assert list(hidden.columns) == ["sigmoidcombinationregressor0", "sigmoidcombinationregressor1"]
    np.testing.assert_allclose(hidden.to_numpy() @ fit.weights_ + fit.intercept_, fit.predict(frame))
    polars = _regressor(n_units=2).fit(pl.DataFrame(dict(zip("abcd", X.T))), y)
    np.testing.assert_array_equal(polars.units_, fit.units_)
    assert "SigmoidCombinationRegressor" in fit._repr_html_()


@pytest.mark.parametrize("suffix", [".json", ".npz"])
def test_pickled_and_saved_models_predict_the_same(table, tmp_path, suffix):
    X, y = table
    fit = _regressor(n_units=2).fit(X, y)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(fit)).predict(X), fit.predict(X))
    path = tmp_path / f"model{suffix}"
    fit.model_.save(path)
    np.testing.assert_array_equal(gs.SigmoidCombination.load(path).predict(X), fit.predict(X))


def test_a_file_of_the_first_format_still_loads(tmp_path):
    path = tmp_path / "old.json"
    path.write_text(
        """{"format": "gradsift.SigmoidCombination", "version": 1, "activation": "tanh", "intercept": 0.25,
        "units": [[0.6, 0.8]], "weights": [2.0], "slopes": [1.5], "offsets": [-0.5]}"""
    )
    value = gs.SigmoidCombination.load(path).predict([[1.0, 1.0]])[0]
    assert value == pytest.approx(0.25 + 2 * np.tanh(1.5 * 1.4 - 0.5))


# What must not be claimed


def _noise(kind, rng):
    X = rng.standard_normal((2000, 4))
    return X, rng.standard_normal(2000) if kind == "numbers" else rng.choice([0, 1], 2000)


@pytest.mark.parametrize("n_units", [None, 3])
@pytest.mark.parametrize("kind", ["numbers", "labels"])
def test_pure_noise_is_not_certified(kind, n_units):
    X, y = _noise(kind, np.random.default_rng(5))
    estimator = _regressor(n_units=n_units) if kind == "numbers" else _classifier(n_components=n_units)
    with pytest.warns(UncertifiedWarning, match="no signal"):
        fit = estimator.fit(X, y)
    assert not fit.recovery_.certified


@pytest.mark.parametrize("n_units", [None, 1, 2])
def test_linear_data_is_not_certified(n_units):
    rng = np.random.default_rng(6)
    X = rng.standard_normal((2000, 4))
    with pytest.warns(UncertifiedWarning, match="linear function does as well"):
        _regressor(n_units=n_units).fit(X, X @ [1.0, 2.0, 0.0, 0.0] + 0.1 * rng.standard_normal(2000))


def test_too_few_units_are_not_certified(table):
    with pytest.warns(UncertifiedWarning, match="further unit exists"):
        _regressor(n_units=1).fit(*table)


@pytest.mark.parametrize("seed", [0, 5, 7, 12, 15, 19])
def test_a_given_number_of_components_is_held_against_one_more(seed):
    # 600 labels of two components, of which the halves' test (p = .011 to .040) certified one in 6 of seeds 0 to 19.
    rng = np.random.default_rng([7, seed, 1])
    units = np.linalg.qr(rng.standard_normal((3, 3)))[0][:2]
    X = rng.standard_normal((600, 3))
    y = np.where(rng.random(600) < 0.5 + 0.25 * np.tanh(3 * X @ units.T).sum(axis=1), 1, -1)
    with pytest.warns(UncertifiedWarning, match="more units"):
        _classifier(n_components=1).fit(X, y)


def test_too_many_units_are_not_certified(table):
    with pytest.warns(UncertifiedWarning, match="too many units|overlap|information-limited"):
        _regressor(n_units=4).fit(*table)


def test_twin_units_are_not_certified():
    twins = gs.SigmoidCombination([[1, 0, 0, 0], [1, 0.02, 0, 0]], [1.0, 0.7], 3.0)
    with pytest.warns(UncertifiedWarning, match="overlap|information-limited"):
        _regressor(n_units=2).fit(*twins.sample(3000, noise=0.2, rng=1))


def test_information_limited_labels_say_so():
    # Five units, slope 1, 2000 labels: the Cramer-Rao bound itself is above half a radian.
    truth = gs.simulate.random_combination(10, 5, min_singular_value=0.5, mixture=True, rng=0)
    X, y = truth.sample(2000, noise="labels", rng=1)
    assert gs.inference.cramer_rao(truth, X, noise="labels").angles.max() > 0.5
    with pytest.warns(UncertifiedWarning, match="information-limited|no signal"):
        _classifier(n_components=5).fit(X, y)


def test_collinear_columns_are_reported(table):
    X, y = table
    with pytest.warns(UncertifiedWarning, match="without spread"):
        fit = _regressor(n_units=2).fit(np.column_stack((X, X[:, 0] + X[:, 1])), y)
    assert np.isfinite(fit.units_).all()


@pytest.mark.filterwarnings("ignore::gradsift.errors.UncertifiedWarning")
def test_one_column_and_few_rows_work_without_claims(table):
    X, y = table
    one = _regressor(n_units=1).fit(X[:, :1], np.tanh(3 * X[:, 0]) + 0.1 * (y - TRUTH.predict(X)))
    assert one.slopes_[0] == pytest.approx(3, abs=0.2)
    rng = np.random.default_rng(0)
    few = _regressor(n_units=2).fit(rng.standard_normal((8, 20)), rng.standard_normal(8))
    assert not few.recovery_.certified


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda X, y: (X, np.full(len(y), 3.0)), "y must vary"),
        (lambda X, y: (np.where(X[3, 1] == X, np.nan, X), y), "NaN"),
        (lambda X, y: (X, np.where(y == y[5], np.inf, y)), "infinity"),
        (lambda X, y: (X.astype(str)[:, :1] + "?", y), "could not convert"),
        (lambda X, y: (X[:1], y[:1]), "minimum of 2"),
        (lambda X, y: (X, y[:-1]), "inconsistent numbers of samples"),
    ],
)
def test_bad_tables_are_refused(table, change, said):
    with pytest.raises(ValueError, match=said):
        _regressor(n_units=1).fit(*change(*table))


def test_bad_classes_are_refused(labels):
    _, X, _ = labels
    with pytest.raises(ValueError, match="one class"):
        _classifier(n_components=2).fit(X, np.ones(len(X)))
    with pytest.raises(ValueError, match="Only binary classification"):
        _classifier(n_components=2).fit(X, np.arange(len(X)) % 3)


def test_responsibilities_ask_for_known_classes(labels):
    _, X, y = labels
    fit = _classifier(n_components=2).fit(X[:2000], y[:2000])
    with pytest.raises(ValueError, match="must hold only the classes"):
        fit.responsibilities(X[:3], ["yes", "no", "perhaps"])
    with pytest.raises(ValueError, match="y must have length 3"):
        fit.responsibilities(X[:3], y[:2])


def test_suggested_starts_are_used():
    truth = gs.simulate.random_combination(4, 2, slope=3.0, mixture=True, rng=4)
    source = ArraySource(*truth.sample(4000, noise="labels", rng=1004))
    em = expectation_maximization(source, 2, rng=0)
    assert (np.diff(em.trace) > -1e-9).all()
    fit = search(source, 2, labels=True, starts=[em.model], rng=0)
    assert fit.log_likelihood > em.log_likelihood - 0.5  # the prior may cost a little
    assert gs.match_units(em.model.units, truth.units).max_error < 0.3
