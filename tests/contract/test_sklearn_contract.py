"""Both estimators keep scikit-learn's contract, without expected failures."""

from __future__ import annotations

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

import gradsift as gs

# Most checks fit noise, on which a verdict rightly warns.
pytestmark = pytest.mark.filterwarnings("ignore::gradsift.errors.UncertifiedWarning")


@parametrize_with_checks(
    [
        gs.SigmoidCombinationRegressor(n_units=2, random_state=0),
        gs.SigmoidMixtureClassifier(max_units=2, random_state=0),
    ]
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)
