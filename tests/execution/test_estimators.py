"""The scikit-learn estimators take Dask collections, leave the rows where they are, and predict lazily."""

import warnings

import numpy as np
import pytest

import gradsift as gs

arrays, frames = pytest.importorskip("dask.array"), pytest.importorskip("dask.dataframe")
pandas = pytest.importorskip("pandas")

MIXTURE = gs.simulate.random_combination(3, 2, slope=3.0, mixture=True, rng=4)


@pytest.fixture(autouse=True)
def _quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", gs.errors.UncertifiedWarning)
        yield


def as_array(X):
    return arrays.from_array(X, chunks=(1_000, 2))


def as_frame(X):
    return frames.from_pandas(pandas.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])]), npartitions=4)


@pytest.mark.parametrize("hold", [as_array, as_frame])
def test_the_regressor_fits_and_predicts_as_in_memory(hold, table):
    _, X, y = table
    X, y = X[:22_000].astype(float), y[:22_000].astype(float)
    ours = gs.SigmoidCombinationRegressor(2, random_state=0).fit(X, y)
    target = (
        arrays.from_array(y, chunks=700) if hold is as_array else frames.from_pandas(pandas.Series(y), npartitions=4)
    )
    theirs = gs.SigmoidCombinationRegressor(2, random_state=0).fit(hold(X), target)
    np.testing.assert_allclose(theirs.units_, ours.units_, rtol=0, atol=1e-8)
    assert theirs.n_features_in_ == 4
    assert hasattr(theirs, "feature_names_in_") == (hold is as_frame)
    lazy = theirs.predict(hold(X))
    assert not isinstance(lazy, np.ndarray)
    np.testing.assert_allclose(lazy.compute(), ours.predict(X), rtol=0, atol=1e-8)


@pytest.mark.parametrize("classes", [(0, 1), (-1.0, 1.0)])
def test_the_classifier_finds_the_classes_and_fits_as_in_memory(classes):
    X, y = MIXTURE.sample(6_000, "labels", rng=5)
    labels = np.where(y > 0, classes[1], classes[0])
    ours = gs.SigmoidMixtureClassifier(2, random_state=0).fit(X, labels)
    theirs = gs.SigmoidMixtureClassifier(2, random_state=0).fit(as_array(X), arrays.from_array(labels, chunks=500))
    np.testing.assert_array_equal(theirs.classes_, ours.classes_)
    np.testing.assert_allclose(theirs.units_, ours.units_, rtol=0, atol=1e-8)
    np.testing.assert_array_equal(theirs.predict(as_array(X)).compute(), ours.predict(X))


def test_three_classes_in_a_collection_are_refused():
    with pytest.raises(ValueError, match="two classes, but it holds 3"):
        gs.SigmoidMixtureClassifier(2).fit(as_array(np.ones((9, 2))), arrays.from_array(np.arange(9) % 3))
