"""A regressor that is a sum of sigmoids."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from ..arguments import Floats
from ..progress import reporting
from ..recovery import recovery_of_fit, with_outputs, within_double_precision
from ..sources import ArraySource
from ..sources.arrays import is_sparse
from ..table import fit_outputs, prediction_bounds
from .base import FitCallbacks, SigmoidEstimator, is_outside_memory, predict_rows, with_callbacks


class SigmoidCombinationRegressor(RegressorMixin, SigmoidEstimator):
    """Least-squares fit of ``c + sum_l u_l f(slope_l <w_l, x> + b_l)``.

    Parameters
    ----------
    n_units : int or {"bic", "aic", "cv"}, optional
        Number of hidden units, or what chooses it; BIC by default.
    activation : {"tanh", "logistic", "erf", "arctan", "softsign"}, or one that grows
        "relu", "leaky_relu", "softplus", "silu", "gelu", "gelu_tanh", "elu", "mish".
    slopes : {"each", "common"} or float
        One slope per unit, one for all, or a known one.
    offsets, intercept : bool or "auto"
        "auto" fits them when that lowers BIC.
    max_units : int
        Where the choice of a number ends, unless the criterion still falls there: then at three times as many.
    alpha : float or "auto"
        Ridge on slopes per standard deviation of a column, ``u_l slope_l w_lj sd_j / sd_y``:
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
    units_ : (k, d) array
        Unit vectors, ordered by decreasing weight, signed so that the weights are positive (if units grow, weights keep
        their signs).
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
    A fit draws on at most 20,000 rows to find the optimum and on all rows to polish it. X may be sparse: it is made
    dense row block by row block (a search holds 20,000 rows, at most 50 million numbers). With several targets, y
    (n, m), the units are shared, `weights_` is (m, k) and `intercept_` (m,); statistics are then those of the leading
    principal component of the targets, in which the units were found.

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
        n_units: int | str | None = None,
        *,
        activation: str = "tanh",
        slopes: str | float = "each",
        offsets: bool | str = "auto",
        intercept: bool | str = "auto",
        max_units: int = 10,
        alpha: float | str = 0.0,
        weights: str = "sampling",
        covariance: str = "sandwich",
        warm_start: bool = False,
        random_state: Any = None,
        progress: Any = None,
    ) -> None:
        self.n_units = n_units
        self.activation = activation
        self.slopes = slopes
        self.offsets = offsets
        self.intercept = intercept
        self.max_units = max_units
        self.alpha = alpha
        self.weights = weights
        self.covariance = covariance
        self.warm_start = warm_start
        self.random_state = random_state
        self.progress = progress

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> SigmoidCombinationRegressor:
        """Fit to rows X (n, d) and targets y (n,) or (n, m); `groups` (n,) are clusters of rows for the errors."""
        tasks = FitCallbacks(self, X, y, sample_weight)
        if is_outside_memory(X):
            source = self._outside_source(X, y, sample_weight)
        else:
            X, y = validate_data(
                self, X, y, dtype=np.float64, y_numeric=True, ensure_min_samples=2, accept_sparse="csr",
                multi_output=True,
            )  # fmt: skip
            if y.ndim == 2 and y.shape[1] > 1:
                self._fit_outputs(X, np.asarray(y, dtype=np.float64), sample_weight, tasks, groups)
                return self
            source = self._source(X, column_or_1d(y, warn=True), sample_weight)
        self._recover(source, self.n_units, tasks, labels=False, intercept=self.intercept, groups=groups)
        return self

    def _fit_outputs(self, X: Any, Y: Floats, sample_weight: Any, tasks: FitCallbacks, groups: Any) -> None:
        if is_sparse(X):
            raise ValueError("X must be dense for several targets.")
        with reporting(False if self.progress is None else self.progress), within_double_precision():
            joint = fit_outputs(
                X,
                Y,
                sample_weight,
                self.n_units,
                self._generator(),
                progress=tasks.step,
                groups=groups,
                **self._options(),
            )
        found = recovery_of_fit(joint.fit, ArraySource(X, Y[:, 0]))
        self._take(joint.fit, with_outputs(found, joint.models), tasks)
        self.weights_ = np.array([model.weights for model in joint.models])
        self.intercept_: Any = np.array([model.intercept for model in joint.models])

    def predict(self, X: Any, interval: float | None = None, of: str = "observation") -> Any:
        """Return r at the rows of X, shape (n,), or (n, m) with several targets; lazily where X is a Dask collection.

        Parameters
        ----------
        X : (n, d) rows
        interval : float, optional
            Between 0 and 1: return also bounds (n, 2) that hold the answer with this probability.
        of : {"observation", "mean"}
            What the bounds are for: a new observation, or the mean response.
        """
        if is_outside_memory(X):
            check_is_fitted(self)
            if interval is not None:
                raise ValueError("interval needs rows in memory.")
            return predict_rows(self.model_.predict, X)
        rows = self._rows(X)
        if interval is not None:
            if self.recovery_.outputs:
                raise ValueError("interval needs a single target.")
            return tuple(prediction_bounds(self.fit_, _dense(rows), interval, of))
        if self.recovery_.outputs:
            return np.column_stack([self._evaluate(model.predict, rows) for model in self.recovery_.outputs])
        return self._evaluate(self.model_.predict, rows)


def _dense(rows: Any) -> Floats:
    return np.asarray(rows.toarray() if is_sparse(rows) else rows)
