"""What both estimators share: the fit, the fitted attributes, statistics, and activations as features."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from ..activations import get_activation
from ..arguments import Floats
from ..progress import reporting
from ..recovery import Recovery, recovery_of_fit, warn_unless_certified, within_double_precision
from ..runtime import announce
from ..sources import ArraySource, Source, as_source
from ..sources.arrays import SparseSource, in_dense_blocks, is_sparse
from ..sources.remote import column_names
from ..table import Coefficients, Fit, coefficients, search
from .callbacks import N_FRAMES, CallbackSupportMixin, FitTasks


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

    def _rng(self) -> np.random.Generator:
        return np.random.default_rng(check_random_state(self.random_state).randint(2**31, size=4))

    def _recover(self, source: Source, n_units: int | str | None, tasks: FitTasks, **options: Any) -> Any:
        """Run the pipeline and set the fitted attributes. The only place that knows what stands behind `fit`."""
        with reporting(False if self.progress is None else self.progress), within_double_precision():
            announce(source.n_rows, source.n_features, n_units if isinstance(n_units, int) else None)
            source.require_moderate_weights()
            fit = search(source, n_units, rng=self._rng(), progress=tasks.step, **self._options(), **options)
        return self._take(fit, recovery_of_fit(fit, source), tasks)

    def _take(self, fit: Fit, found: Recovery, tasks: FitTasks) -> Any:
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

    def _remote(self, X: Any, y: Any, sample_weight: Any) -> Source:
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

    def _apply(self, function: Any, rows: Any) -> Floats:
        """Apply a function of dense rows."""
        return np.asarray(in_dense_blocks(function, rows) if is_sparse(rows) else function(rows))

    def transform(self, X: Any) -> Floats:
        """Return the activations of the hidden units, shape (n, k)."""
        rows = self._rows(X)
        f = get_activation(self.model_.activation).value
        return self._apply(lambda dense: f(self.model_.arguments(dense)), rows)

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
