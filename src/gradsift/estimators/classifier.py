"""A classifier that is a mixture of logistic classifiers."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import expit
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import check_is_fitted, validate_data

from ..arguments import Floats
from ..likelihood import CERTAINTY
from .base import FitCallbacks, SigmoidEstimator, distinct, is_outside_memory, predict_rows, signs, with_callbacks


class SigmoidMixtureClassifier(ClassifierMixin, SigmoidEstimator):
    """A mixture of logistic classifiers: ``P(y = second class | x) = (1 + r(x)) / 2``, weights on the simplex.

    Each component l labels a row by ``(1 + f(slope_l <w_l, x> + b_l)) / 2`` (a logistic regression for tanh), and is
    chosen with probability ``weights_[l]``. A mixture changes its mind only so often: along any line its probability
    rises and falls by one in all. With ``link="logit"`` the log-odds are a sum of sigmoids instead, as in a network
    with one hidden layer, and there is no such bound.

    Parameters
    ----------
    n_components : int or {"bic", "aic", "cv"}, optional
        Number of components, or what chooses it; BIC by default.
    activation : {"tanh", "erf", "softsign"}
    slopes : {"each", "common"} or float
    offsets : bool or "auto"
        "auto" fits them when that lowers BIC, and always with ``link="logit"``.
    link : {"identity", "logit", "auto"}
        Whether r(x) is the mean of the labels -1 and +1 (a mixture), or their log-odds, with an intercept and free
        weights. "auto" takes log-odds unless a mixture predicts left-out rows clearly better (``alpha="auto"``), or has
        the lower BIC. Log-odds with ``alpha="auto"`` get five units unless another number predicts clearly better.
    max_units : int
        Where the choice of a number ends, unless the criterion still falls there: then at three times as many.
    alpha : float or "auto"
        Ridge on slopes per standard deviation of a column, ``slope_l w_lj sd_j``:
        they have a Gaussian prior of standard deviation ``alpha ** -0.5``. 0 is maximum likelihood; "auto" takes, with
        the number of units if that is not given, what predicts left-out rows best. See
        :func:`gradsift.table.search`.
    weights : {"sampling", "frequency", "precision"}
        What `sample_weight` means: how many others a row stands for (scaled to mean one), how often it was seen, or one
        over its variance (scaled to mean one).
    covariance : {"sandwich", "model", "cluster"}
        How errors are had: from the scatter of the scores, from the noise model, or from their sums over `groups`.
    warm_start : bool
        Begin from the last fit as well.
    random_state : int, RandomState or None
    progress : bool or callable, optional
        Show a bar for anything over two seconds, or call ``progress(stage, done, total)``. Callbacks of scikit-learn
        (``set_callbacks``, from version 1.9) hear of the same steps.

    Attributes
    ----------
    classes_ : (2,) array
    units_, weights_, slopes_, offsets_, intercept_, n_units_, model_, recovery_
        As in :class:`SigmoidCombinationRegressor`; the intercept of a mixture is zero.
    link_ : {"identity", "logit"}
        What r(x) is.
    """

    def __init__(
        self,
        n_components: int | str | None = None,
        *,
        activation: str = "tanh",
        slopes: str | float = "each",
        offsets: bool | str = "auto",
        link: str = "identity",
        max_units: int = 10,
        alpha: float | str = 0.0,
        weights: str = "sampling",
        covariance: str = "sandwich",
        warm_start: bool = False,
        random_state: Any = None,
        progress: Any = None,
    ) -> None:
        self.n_components = n_components
        self.activation = activation
        self.slopes = slopes
        self.offsets = offsets
        self.link = link
        self.max_units = max_units
        self.alpha = alpha
        self.weights = weights
        self.covariance = covariance
        self.warm_start = warm_start
        self.random_state = random_state
        self.progress = progress

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> SigmoidMixtureClassifier:
        """Fit to rows X (n, d) and labels y (n,) of two classes; `groups` (n,) are clusters of rows for the errors."""
        tasks = FitCallbacks(self, X, y, sample_weight)
        if is_outside_memory(X):
            self.classes_ = distinct(y)
            if len(self.classes_) != 2:
                raise ValueError(f"y must hold two classes, but it holds {len(self.classes_)}.")
            source = self._outside_source(X, signs(y, self.classes_[1]), sample_weight)
            return self._fit_labels(source, tasks, groups)
        X, y = validate_data(self, X, y, dtype=np.float64, ensure_min_samples=2, accept_sparse="csr")
        check_classification_targets(y)
        kind = type_of_target(y, input_name="y", raise_unknown=True)
        self.classes_ = np.unique(y)
        if kind != "binary" or len(self.classes_) > 2:
            raise ValueError(
                f"Only binary classification is supported. The type of the target is {kind}. Classifiers mixed for one "
                "class against the rest would not agree on their components."
            )
        if len(self.classes_) < 2:
            raise ValueError(f"y must hold two classes, but it holds only one class: {self.classes_[0]!r}.")
        source = self._source(X, np.where(y == self.classes_[1], 1.0, -1.0), sample_weight)
        return self._fit_labels(source, tasks, groups)

    def _fit_labels(self, source: Any, tasks: FitCallbacks, groups: Any) -> SigmoidMixtureClassifier:
        self._recover(source, self.n_components, tasks, labels=True, intercept="auto", link=self.link, groups=groups)
        self.link_ = self.fit_.family.link
        return self

    def decision_function(self, X: Any) -> Floats:
        """Return r at the rows of X, shape (n,): positive where the second class is likelier."""
        if is_outside_memory(X):
            check_is_fitted(self)
            return predict_rows(self.model_.predict, X)  # type: ignore[no-any-return]
        rows = self._rows(X)
        return self._evaluate(self.model_.predict, rows)

    def predict_proba(self, X: Any) -> Floats:
        """Return the probabilities of both classes, shape (n, 2): no smaller than the likelihood of the fit takes them
        to be."""
        r = self.decision_function(X)
        if self.link_ == "logit":
            return np.column_stack((expit(-r), expit(r)))
        least = 0.25 * CERTAINTY.simplex
        second = np.clip(0.5 * (1 + r), least, 1 - least)
        return np.column_stack((1 - second, second))

    def predict(self, X: Any) -> Any:
        """Return the likelier class of each row."""
        if is_outside_memory(X):
            check_is_fitted(self)
            return predict_rows(self._labels_of, X, self.classes_.dtype)
        return self._labels_of(self._rows(X))

    def _labels_of(self, rows: Any) -> Any:
        positive = self._evaluate(self.model_.predict, rows) > 0
        return self.classes_[positive.astype(int)]

    def responsibilities(self, X: Any, y: Any) -> Floats:
        """Return the probability that component l produced label y_i at x_i, shape (n, k)."""
        n = self._rows(X).shape[0]
        if self.link_ == "logit":
            raise ValueError("Only a mixture (link='identity') has components that produce labels.")
        labels = np.asarray(y)
        if labels.shape != (n,):
            raise ValueError(f"y must have length {n}, got shape {labels.shape}.")
        if not np.isin(labels, self.classes_).all():
            raise ValueError(f"y must hold only the classes {self.classes_.tolist()}.")
        side = np.where(labels == self.classes_[1], 1.0, -1.0)
        # Bayes: P(l | y, x) is proportional to u_l (1 + y f_l(x)) / 2, the chance that component l gives this label.
        share = self.model_.weights * 0.5 * (1 + side[:, None] * self.transform(X))
        return np.asarray(share / np.maximum(share.sum(axis=1, keepdims=True), np.finfo(np.float64).tiny))
