"""Our transformers and clusterers keep scikit-learn's contract, without expected failures."""

import pickle

import numpy as np
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

import gradsift as gs


@parametrize_with_checks([gs.DirectionalKMeans(n_clusters=2), gs.SpectralMirror(n_components=1)])
def test_estimator_contract(estimator, check):
    check(estimator)


def test_clones_and_pickles_predict_the_same():
    X = np.random.default_rng(0).standard_normal((60, 4))
    fitted = gs.DirectionalKMeans(3, random_state=1).fit(X)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(fitted)).predict(X), fitted.predict(X))
    np.testing.assert_array_equal(clone(fitted).fit(X).labels_, fitted.labels_)
