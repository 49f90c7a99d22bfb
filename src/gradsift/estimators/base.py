"""What both estimators share: the fit, its callbacks and attributes, statistics, and rows that stay where they are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from ..activations import get_activation
from ..arguments import Floats
from ..progress import report, reporting
from ..recovery import Recovery, recovery_of_fit, warn_unless_certified, within_double_precision
from ..runtime import load_extra, warn_of_size
from ..sources import ArraySource, Source, as_source
from ..sources.arrays import SparseSource, in_dense_blocks, is_sparse, module_of
from ..table import Coefficients, Fit, coefficients, search

try:
    from sklearn.callback import CallbackSupportMixin
    from sklearn.callback import with_callbacks as _torn_down
except ImportError:  # scikit-learn before 1.9
    _torn_down = None

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Stands in for scikit-learn's, and supports nothing."""


N_FRAMES = 0 if _torn_down is None else 1  # that the decorator puts between a caller and `fit`
Method = TypeVar("Method", bound=Callable[..., Any])


def with_callbacks(method: Method) -> Method:
    """Return `fit` such that callbacks are torn down whatever happens in it."""
    return method if _torn_down is None else _torn_down(method)


class FitCallbacks:
    """The tasks of one fit as callbacks see them: the fit itself and, within it, every step of the search.

    Steps carry a name and no fitted estimator, so a callback that scores one hears of the whole fit only. A callback
    that asks to stop is not obeyed: a search left halfway has nothing to vouch for.

    Parameters
    ----------
    estimator : estimator
        Whose ``fit`` runs under ``with_callbacks``.
    X, y, sample_weight
        As `fit` received them.
    """

    def __init__(self, estimator: Any, X: Any, y: Any, sample_weight: Any) -> None:
        self.estimator = estimator
        metadata = None if sample_weight is None else {"sample_weight": sample_weight}
        self.given = {"estimator": estimator, "X": X, "y": y, "metadata": metadata}
        begin = getattr(estimator, "_init_callback_context", None)  # documented for authors of estimators
        self.whole = None if begin is None else begin(max_subtasks=None)
        if self.whole is not None:
            self.whole.call_on_fit_task_begin(**self.given)

    def step(self, stage: str, done: float, total: float | None = None) -> None:
        """Pass a progress report on, to whoever listens and to the callbacks."""
        report(stage, done, total)
        if self.whole is not None:
            task = self.whole.subcontext(task_name=stage)
            task.call_on_fit_task_begin(estimator=self.estimator)
            task.call_on_fit_task_end(estimator=self.estimator)

    def end(self) -> None:
        """Say that the estimator is fitted."""
        if self.whole is not None:
            self.whole.call_on_fit_task_end(**self.given, reconstruction_attributes={})


class SigmoidEstimator(CallbackSupportMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """The fit, the fitted attributes, and hidden-unit activations as features."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _options(self) -> dict[str, Any]:
        """Return what both estimators hand to the search."""
        options = {
            name: getattr(self, name)
            for name in ("activation", "slopes", "offsets", "max_units", "alpha", "weights", "covariance")
        }
        if self.warm_start and hasattr(self, "model_") and self.model_.n_features == self.n_features_in_:
            options["starts"] = [self.model_]
        return options

    def _generator(self) -> np.random.Generator:
        return np.random.default_rng(check_random_state(self.random_state).randint(2**31, size=4))

    def _recover(self, source: Source, n_units: int | str | None, tasks: FitCallbacks, **options: Any) -> Any:
        """Run the pipeline and set the fitted attributes. The only place that knows what stands behind `fit`."""
        with reporting(False if self.progress is None else self.progress), within_double_precision():
            warn_of_size(source.n_rows, source.n_features, n_units if isinstance(n_units, int) else None)
            source.require_moderate_weights()
            fit = search(source, n_units, rng=self._generator(), progress=tasks.step, **self._options(), **options)
        return self._take(fit, recovery_of_fit(fit, source), tasks)

    def _take(self, fit: Fit, found: Recovery, tasks: FitCallbacks) -> Any:
        model = found.model
        self.fit_, self.recovery_ = fit, found
        self.model_, self.n_units_ = model, model.n_units
        self.units_, self.weights_, self.slopes_ = model.units, model.weights, model.slopes
        self.offsets_, self.intercept_ = model.offsets, model.intercept
        tasks.end()
        warn_unless_certified(self.recovery_, stacklevel=5 + N_FRAMES)
        return self

    def _source(self, X: Any, y: Any, sample_weight: Any) -> Source:
        return SparseSource(X, y, sample_weight) if is_sparse(X) else ArraySource(X, y, sample_weight)

    def _outside_source(self, X: Any, y: Any, sample_weight: Any) -> Source:
        """Return Dask collections or device tensors as a source, noting what ``validate_data`` would note."""
        source = as_source((X, y) if sample_weight is None else (X, y, sample_weight))
        self.n_features_in_ = source.n_features
        names = column_names(X)
        if names is not None:
            self.feature_names_in_ = names
        return source

    def _rows(self, X: Any) -> Any:
        check_is_fitted(self)
        return validate_data(self, X, reset=False, dtype=np.float64, accept_sparse="csr")

    def _evaluate(self, function: Any, rows: Any) -> Floats:
        """Apply a function of dense rows."""
        return np.asarray(in_dense_blocks(function, rows) if is_sparse(rows) else function(rows))

    def transform(self, X: Any) -> Floats:
        """Return the activations of the hidden units, shape (n, k)."""
        rows = self._rows(X)
        f = get_activation(self.model_.activation).value
        return self._evaluate(lambda dense: f(self.model_.arguments(dense)), rows)

    def coefficients(self) -> Coefficients:
        """Return every fitted number by name, with errors, z and p."""
        check_is_fitted(self)
        return coefficients(self.fit_, getattr(self, "feature_names_in_", None))

    def summary(self) -> str:
        """Return verdict, likelihood, information criteria, coefficients with errors and intervals, and the checks."""
        check_is_fitted(self)
        return self.recovery_.summary(getattr(self, "feature_names_in_", None))

    def conf_int(self, level: float = 0.95) -> Floats:
        """Return (p, 2) confidence bounds, in the order of ``coefficients().names``."""
        return self.coefficients().conf_int(level)

    def as_frame(self, level: float = 0.95) -> Any:
        """Return the coefficients as a pandas frame."""
        return self.coefficients().as_frame(level)

    @property
    def _n_features_out(self) -> int:
        return int(self.n_units_)


def is_outside_memory(values: Any) -> bool:
    """Whether turning `values` into an array would move rows to this process or fail."""
    if module_of(values) == "torch":
        return bool(values.device.type != "cpu")
    return module_of(values) in ("dask", "dask_expr")


def column_names(X: Any) -> Any:
    """Return the names of a Dask frame's columns as an object array, or None where there are none."""
    names = list(getattr(X, "columns", ()))
    return np.array(names, dtype=object) if names and all(isinstance(name, str) for name in names) else None


def distinct(y: Any) -> Any:
    """Return the different values of y, sorted, as an array."""
    if module_of(y) == "torch":
        return np.unique(y.unique().cpu().numpy())
    arrays = load_extra("dask.array", "dask")
    values = y.unique() if hasattr(y, "to_dask_array") else arrays.unique(y)
    return np.unique(np.asarray(values.compute()))


def signs(y: Any, positive: Any) -> Any:
    """Return +1 where y equals `positive` and -1 elsewhere, where y is."""
    if module_of(y) == "torch":
        return 2.0 * (y == positive).double() - 1.0
    equal = y.eq(positive) if hasattr(y, "to_dask_array") else y == positive
    return 2.0 * equal.astype(np.float64) - 1.0


def predict_rows(function: Callable[[Floats], Any], X: Any, dtype: Any = np.float64) -> Any:
    """Apply a function of (n, d) arrays to all rows: lazily for a Dask collection, at once for tensors."""
    if module_of(X) == "torch":
        return function(X.double().cpu().numpy())
    array = X.to_dask_array() if hasattr(X, "to_dask_array") else X.rechunk({1: -1})
    return array.map_blocks(function, drop_axis=1, dtype=dtype, meta=np.empty(0, dtype))
