"""Fitted estimators as oracles, with the output link undone."""

import inspect

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import gradsift as gs
from gradsift.oracle import from_sklearn

NET = dict(hidden_layer_sizes=(4,), activation="tanh", solver="lbfgs", alpha=0.1, max_iter=2000, random_state=0)


@pytest.fixture(scope="module")
def diabetes():
    X, y = load_diabetes(return_X_y=True)
    return X, y, make_pipeline(StandardScaler(), MLPRegressor(**NET)).fit(X, y / 100)


@pytest.fixture(scope="module")
def cancer():
    X, y = load_breast_cancer(return_X_y=True)
    return X, make_pipeline(StandardScaler(), MLPClassifier(**NET)).fit(X, y)


def by_hand(net, Z):
    """The network before its output activation, from its coefficients."""
    return np.tanh(Z @ net.coefs_[0] + net.intercepts_[0]) @ net.coefs_[1] + net.intercepts_[1]


def test_a_regressor_answers_what_it_predicts(diabetes):
    X, _, pipeline = diabetes
    oracle = from_sklearn(pipeline, max_queries=1000, batch_size=100)
    assert (oracle.n_features, oracle.n_outputs) == (10, None)
    np.testing.assert_allclose(oracle(X), pipeline.predict(X), rtol=1e-13)
    np.testing.assert_allclose(oracle(X), by_hand(pipeline[-1], pipeline[0].transform(X))[:, 0], rtol=1e-12)
    assert oracle.n_queries == 2 * len(X)


def test_a_regressor_with_several_targets_has_several_outputs(diabetes):
    X, y, _ = diabetes
    net = MLPRegressor(**{**NET, "max_iter": 20}, tol=10.0).fit(X, np.column_stack([y, -y]) / 100)
    np.testing.assert_allclose(from_sklearn(net)(X), net.predict(X), rtol=1e-13)


def test_a_classifier_of_two_classes_answers_its_logit_where_probabilities_still_know_it(cancer):
    X, pipeline = cancer
    p = pipeline.predict_proba(X)
    logit = np.log(p[:, 1]) - np.log(p[:, 0])
    near = np.abs(logit) < 8
    assert near.sum() > 100
    np.testing.assert_allclose(from_sklearn(pipeline)(X)[near], logit[near], atol=1e-11)
    assert pipeline[-1].out_activation_ == "logistic"  # the user's object is as it was


def test_a_classifier_answers_its_logit_in_full_precision_far_out_where_probabilities_are_one():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 2))
    net = MLPClassifier(**{**NET, "alpha": 0.0}).fit(X, (X[:, 0] > 0).astype(int))
    net.coefs_[1] *= 5  # a very sure classifier
    far = 50 * X
    assert (net.predict_proba(far)[:, 1] == 1).any()
    np.testing.assert_allclose(from_sklearn(net)(far), by_hand(net, far)[:, 0], rtol=1e-13)
    assert np.abs(from_sklearn(net)(far)).max() > 40


def test_a_classifier_of_three_classes_has_three_outputs_whose_differences_are_log_ratios():
    X, y = load_iris(return_X_y=True)
    net = MLPClassifier(**{**NET, "alpha": 1.0}).fit(X, y)
    oracle = from_sklearn(net)
    Z, p = oracle(X), net.predict_proba(X)
    assert oracle.n_outputs == 3
    np.testing.assert_allclose(Z[:, 1:] - Z[:, :1], np.log(p[:, 1:] / p[:, :1]), atol=1e-11)


def test_the_exponential_of_a_poisson_net_is_undone():
    if "loss" not in inspect.signature(MLPRegressor).parameters:
        pytest.skip("this scikit-learn has no loss for MLPRegressor")
    X = np.random.default_rng(1).standard_normal((100, 2))
    net = MLPRegressor(loss="poisson", **{**NET, "max_iter": 3000}).fit(X, np.exp(np.tanh(X[:, 0])))
    np.testing.assert_allclose(from_sklearn(net)(X), np.log(net.predict(X)), atol=1e-12)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_column_names_of_the_fit_are_given_back_without_a_warning(frame, diabetes):
    X, y, _ = diabetes
    table = frame({f"c{i}": X[:, i] for i in range(10)})
    net = make_pipeline(StandardScaler(), MLPRegressor(**NET)).fit(table, y / 100)
    np.testing.assert_allclose(from_sklearn(net)(X), net.predict(table), rtol=1e-13)


def test_a_grid_search_answers_with_its_best_estimator(cancer):
    X, pipeline = cancer
    y = pipeline.predict(X)
    search = GridSearchCV(
        MLPClassifier(**{**NET, "hidden_layer_sizes": (2,)}), {"alpha": [0.1, 1.0]}, cv=2
    ).fit(StandardScaler().fit_transform(X), y)  # fmt: skip
    Z = StandardScaler().fit_transform(X)
    np.testing.assert_allclose(from_sklearn(search)(Z), by_hand(search.best_estimator_, Z)[:, 0], rtol=1e-11)


def test_other_classifiers_answer_with_decision_function_or_log_odds():
    X, y = load_iris(return_X_y=True)
    model = LogisticRegression(max_iter=1000).fit(X, y == 1)
    np.testing.assert_array_equal(from_sklearn(model)(X), model.decision_function(X))
    X = X[:, :1]  # more columns make a naive Bayes classifier certain to the last bit
    bayes = GaussianNB().fit(X, y == 1)
    np.testing.assert_allclose(1 / (1 + np.exp(-from_sklearn(bayes)(X))), bayes.predict_proba(X)[:, 1], atol=1e-14)
    bayes = GaussianNB().fit(X, y)
    p = bayes.predict_proba(X)
    np.testing.assert_allclose(from_sklearn(bayes)(X), np.log(p[:, 1:] / p[:, :1]), atol=1e-12)


def test_a_probability_of_exactly_one_is_a_failure_with_the_input():
    X, y = load_iris(return_X_y=True)
    with pytest.raises(gs.errors.OracleFailure, match="probability is exactly 0 or 1 for 1 of 1 inputs") as caught:
        from_sklearn(KNeighborsClassifier().fit(X, y == 1))(X[:1])
    np.testing.assert_array_equal(caught.value.partial, X[0])


class OnlyLabels(ClassifierMixin, BaseEstimator):
    def fit(self, X, y):
        self.n_features_in_ = X.shape[1]
        return self

    def predict(self, X):
        return np.zeros(len(X))


def test_what_cannot_be_an_oracle_is_refused():
    X, y = load_iris(return_X_y=True)
    with pytest.raises(TypeError, match="returns only labels"):
        from_sklearn(OnlyLabels().fit(X, y))
    with pytest.raises(NotFittedError):
        from_sklearn(MLPRegressor())
    with pytest.raises(TypeError, match="must have a predict method, got StandardScaler"):
        from_sklearn(StandardScaler().fit(X))


def test_a_journal_knows_a_reloaded_model_from_a_retrained_one(tmp_path, diabetes):
    import joblib

    X, y, pipeline = diabetes
    joblib.dump(pipeline, tmp_path / "m.joblib")
    with from_sklearn(pipeline, journal=tmp_path / "c.db") as oracle:
        first = oracle(X[:5])
    with from_sklearn(joblib.load(tmp_path / "m.joblib"), journal=tmp_path / "c.db") as oracle:
        np.testing.assert_array_equal(oracle(X[:5]), first)
        assert oracle.n_replayed == 5
    other = make_pipeline(StandardScaler(), MLPRegressor(**{**NET, "random_state": 1})).fit(X, y / 100)
    with pytest.raises(gs.errors.GradsiftError, match="was recorded with model 'Pipeline"):
        from_sklearn(other, journal=tmp_path / "c.db")
