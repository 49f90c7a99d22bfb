"""scikit-learn estimators: a regressor for sums of sigmoids, a classifier for mixtures of logistic classifiers."""

from __future__ import annotations

from .classifier import SigmoidMixtureClassifier
from .regressor import SigmoidCombinationRegressor

__all__ = ["SigmoidCombinationRegressor", "SigmoidMixtureClassifier"]
