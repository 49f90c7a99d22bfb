"""scikit-learn estimators: a regressor for sums of sigmoids, a classifier for mixtures of logistic classifiers."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import (
    BaseEstimator,
    ClassifierMixin,
    ClassNamePrefixFeaturesOutMixin,
    RegressorMixin,
    TransformerMixin,
)
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import check_is_fitted, validate_data

from .activations import get_activation
from .callbacks import N_FRAMES, CallbackSupportMixin, FitTasks, with_callbacks
from .checking import Floats
from .progress import reporting
from .recovery import for_a_table, recovery_of_fit, warn_unless_certified, within_double_precision
from .sources import ArraySource, Source, as_source
from .sources.remote import column_names, distinct, is_remote, predict_rows, signs
from .table import Fit, search
from .workload import announce

__all__ = ["SigmoidCombinationRegressor", "SigmoidMixtureClassifier"]


class _SigmoidEstimator(CallbackSupportMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """What both estimators share: the fit, the fitted attributes, and hidden-unit activations as features."""

    def _recover(self, source: Source, n_units: int | None, tasks: FitTasks, **options: Any) -> Any:
        """Run the pipeline and set the fitted attributes. The only place that knows what stands behind `fit`."""
        seeds = check_random_state(self.random_state).randint(2**31, size=4)
        with reporting(False if self.progress is None else self.progress), within_double_precision():
            for_a_table(self.activation)
            announce(source.n_rows, source.n_features, n_units)
            fit: Fit = search(
                source,
                n_units,
                activation=self.activation,
                slopes=self.slopes,
                offsets=self.offsets,
                max_units=self.max_units,
                rng=np.random.default_rng(seeds),
                progress=tasks.step,
                **options,
            )
        model = fit.model
        self.fit_, self.recovery_ = fit, recovery_of_fit(fit, source)
        self.model_, self.n_units_ = model, model.n_units
        self.units_, self.weights_, self.slopes_ = model.units, model.weights, model.slopes
        self.offsets_, self.intercept_ = model.offsets, model.intercept
        tasks.end()
        warn_unless_certified(self.recovery_, stacklevel=4 + N_FRAMES)
        return self

    def _remote(self, X: Any, y: Any, sample_weight: Any) -> Source:
        """Return Dask collections or device tensors as a source, noting what ``validate_data`` would note."""
        source = as_source((X, y) if sample_weight is None else (X, y, sample_weight))
        self.n_features_in_ = source.n_features
        names = column_names(X)
        if names is not None:
            self.feature_names_in_ = names
        return source

    def _rows(self, X: Any) -> Floats:
        check_is_fitted(self)
        return np.asarray(validate_data(self, X, reset=False, dtype=np.float64))

    def transform(self, X: Any) -> Floats:
        """Return the activations of the hidden units, shape (n, k)."""
        return np.asarray(get_activation(self.model_.activation).value(self.model_.arguments(self._rows(X))))

    @property
    def _n_features_out(self) -> int:
        return int(self.n_units_)


def _weighted(source: ArraySource) -> ArraySource:
    """Return the source with fractional weights scaled to mean one, so that their unit does not matter."""
    weight = source.weight
    if weight is None or (weight == np.round(weight)).all():
        return source
    return ArraySource(source.X, source.y, weight * (np.count_nonzero(weight) / weight.sum()))


class SigmoidCombinationRegressor(RegressorMixin, _SigmoidEstimator):
    """Least-squares fit of ``c + sum_l u_l f(slope_l <w_l, x> + b_l)``.

    Parameters
    ----------
    n_units : int, optional
        Number of hidden units; chosen by BIC up to `max_units` when not given.
    activation : {"tanh", "logistic", "erf", "arctan", "softsign"}
    slopes : {"each", "common"} or float
        One slope per unit, one for all, or a known one.
    offsets, intercept : bool or "auto"
        "auto" fits them when a score test at level 0.001 finds them needed.
    max_units : int
    random_state : int, RandomState or None
    progress : bool or callable, optional
        Show a bar for anything over two seconds, or call ``progress(stage, done, total)``. Callbacks of scikit-learn
        (``set_callbacks``, from version 1.9) hear of the same steps.

    Attributes
    ----------
    units_ : (k, d) array
        Unit vectors, ordered by decreasing weight, signed so that the weights are positive.
    weights_, slopes_, offsets_ : (k,) arrays
    intercept_ : float
    n_units_ : int
    model_ : SigmoidCombination
    recovery_ : Recovery
        Standard errors, verdict and diagnostics.
    fit_ : Fit
        The same in full: likelihood, information criteria, covariance of all parameters.

    Notes
    -----
    Whole-numbered `sample_weight` counts rows: weight 2 equals the row written twice. Other weights are relative, and
    are scaled to mean one over the rows that have any. A fit draws on at most 20,000 rows to find the
    optimum and on all rows to polish it.

    Examples
    --------
    >>> import gradsift as gs
    >>> truth = gs.simulate.random_combination(4, 2, slope=3.0, rng=0)
    >>> X, y = truth.sample(2000, noise=0.1, rng=1)
    >>> fit = gs.SigmoidCombinationRegressor(n_units=2, random_state=0).fit(X, y)
    >>> bool(gs.match_units(fit.units_, truth.units).max_error < 0.05)
    True
    """

    def __init__(
        self,
        n_units: int | None = None,
        *,
        activation: str = "tanh",
        slopes: str | float = "each",
        offsets: bool | str = "auto",
        intercept: bool | str = "auto",
        max_units: int = 10,
        random_state: Any = None,
        progress: Any = None,
    ) -> None:
        self.n_units = n_units
        self.activation = activation
        self.slopes = slopes
        self.offsets = offsets
        self.intercept = intercept
        self.max_units = max_units
        self.random_state = random_state
        self.progress = progress

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> SigmoidCombinationRegressor:
        """Fit to rows X (n, d) and targets y (n,)."""
        tasks = FitTasks(self, X, y, sample_weight)
        if is_remote(X):
            source = self._remote(X, y, sample_weight)
        else:
            X, y = validate_data(self, X, y, dtype=np.float64, y_numeric=True, ensure_min_samples=2)
            source = _weighted(ArraySource(X, y, sample_weight))
        self._recover(source, self.n_units, tasks, labels=False, intercept=self.intercept)
        return self

    def predict(self, X: Any) -> Floats:
        """Return r at the rows of X, shape (n,); lazily where X is a Dask collection."""
        if is_remote(X):
            check_is_fitted(self)
            return predict_rows(self.model_.predict, X)  # type: ignore[no-any-return]
        rows = self._rows(X)
        return np.asarray(self.model_.predict(rows))


class SigmoidMixtureClassifier(ClassifierMixin, _SigmoidEstimator):
    """A mixture of logistic classifiers: ``P(y = second class | x) = (1 + r(x)) / 2``, weights on the simplex.

    Each component l labels a row by ``(1 + f(slope_l <w_l, x> + b_l)) / 2`` (a logistic regression for tanh), and is
    chosen with probability ``weights_[l]``.

    Parameters
    ----------
    n_components : int, optional
        Number of components; chosen by BIC up to `max_units` when not given.
    activation : {"tanh", "erf", "softsign"}
    slopes : {"each", "common"} or float
    offsets : bool or "auto"
    max_units : int
    random_state : int, RandomState or None
    progress : bool or callable, optional
        Show a bar for anything over two seconds, or call ``progress(stage, done, total)``. Callbacks of scikit-learn
        (``set_callbacks``, from version 1.9) hear of the same steps.

    Attributes
    ----------
    classes_ : (2,) array
    units_, weights_, slopes_, offsets_, intercept_, n_units_, model_, recovery_
        As in :class:`SigmoidCombinationRegressor`; the intercept is zero.
    """

    def __init__(
        self,
        n_components: int | None = None,
        *,
        activation: str = "tanh",
        slopes: str | float = "each",
        offsets: bool | str = "auto",
        max_units: int = 10,
        random_state: Any = None,
        progress: Any = None,
    ) -> None:
        self.n_components = n_components
        self.activation = activation
        self.slopes = slopes
        self.offsets = offsets
        self.max_units = max_units
        self.random_state = random_state
        self.progress = progress

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> SigmoidMixtureClassifier:
        """Fit to rows X (n, d) and labels y (n,) of two classes."""
        tasks = FitTasks(self, X, y, sample_weight)
        if is_remote(X):
            self.classes_ = distinct(y)
            if len(self.classes_) != 2:
                raise ValueError(f"y must hold two classes, but it holds {len(self.classes_)}.")
            source = self._remote(X, signs(y, self.classes_[1]), sample_weight)
            self._recover(source, self.n_components, tasks, labels=True, intercept=False)
            return self
        X, y = validate_data(self, X, y, dtype=np.float64, ensure_min_samples=2)
        check_classification_targets(y)
        kind = type_of_target(y, input_name="y", raise_unknown=True)
        self.classes_ = np.unique(y)
        if kind != "binary" or len(self.classes_) > 2:
            raise ValueError(f"Only binary classification is supported. The type of the target is {kind}.")
        if len(self.classes_) < 2:
            raise ValueError(f"y must hold two classes, but it holds only one class: {self.classes_[0]!r}.")
        source = _weighted(ArraySource(X, np.where(y == self.classes_[1], 1.0, -1.0), sample_weight))
        self._recover(source, self.n_components, tasks, labels=True, intercept=False)
        return self

    def decision_function(self, X: Any) -> Floats:
        """Return r at the rows of X, shape (n,): positive where the second class is likelier."""
        if is_remote(X):
            check_is_fitted(self)
            return predict_rows(self.model_.predict, X)  # type: ignore[no-any-return]
        rows = self._rows(X)
        return np.asarray(self.model_.predict(rows))

    def predict_proba(self, X: Any) -> Floats:
        """Return the probabilities of both classes, shape (n, 2)."""
        second = np.clip(0.5 * (1 + self.decision_function(X)), 0.0, 1.0)
        return np.column_stack((1 - second, second))

    def predict(self, X: Any) -> Any:
        """Return the likelier class of each row."""
        if is_remote(X):
            check_is_fitted(self)
            return predict_rows(self._classify, X, self.classes_.dtype)
        return self._classify(self._rows(X))

    def _classify(self, rows: Floats) -> Any:
        positive = self.model_.predict(rows) > 0
        return self.classes_[positive.astype(int)]

    def responsibilities(self, X: Any, y: Any) -> Floats:
        """Return the probability that component l produced label y_i at x_i, shape (n, k)."""
        rows = self._rows(X)
        labels = np.asarray(y)
        if labels.shape != (len(rows),):
            raise ValueError(f"y must have length {len(rows)}, got shape {labels.shape}.")
        if not np.isin(labels, self.classes_).all():
            raise ValueError(f"y must hold only the classes {self.classes_.tolist()}.")
        side = np.where(labels == self.classes_[1], 1.0, -1.0)
        share = self.model_.weights * 0.5 * (1 + side[:, None] * self.transform(X))
        return np.asarray(share / np.maximum(share.sum(axis=1, keepdims=True), np.finfo(np.float64).tiny))
