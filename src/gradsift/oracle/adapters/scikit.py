"""Fitted scikit-learn estimators."""

from __future__ import annotations

import copy
import importlib
import importlib.util
from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np

from ...arguments import Floats
from ...errors import MissingExtra
from ..oracle import Oracle
from ..output_links import log_odds


def from_sklearn(
    estimator: Any,
    *,
    n_features: int | None = None,
    link: str | None = None,
    output: str | None = None,
    **options: Any,
) -> Oracle:
    """Return an oracle for a fitted estimator, its output link undone.

    Parameters
    ----------
    estimator : fitted regressor or classifier
        Also pipelines, grid searches and anything with ``predict``.
    n_features : int, optional
        Needed only for estimators that do not know it.
    link : {None, "logistic", "logit", "softmax", "log_softmax", "tanh"}
        Ask a classifier for ``predict_proba`` alone (the second class of two for "logistic"; "log_softmax":
        ``predict_log_proba``) and a regressor for ``predict``, and undo this link, as of a model seen from outside.
        None asks for the values before the output activation where they can be had.
    output : {None, "predict"}
        "predict": the class that a classifier decides for, and nothing else.
    **options
        For :class:`~gradsift.Oracle`.

    Notes
    -----
    What is asked, first match: multi-layer perceptrons, alone or at the end of a pipeline, answer with the values
    before the output activation, in full precision: the logit of two classes, or one value per class or target.
    Other classifiers answer with ``decision_function``, or with the log-odds of ``predict_proba`` (see
    :func:`~gradsift.oracle.output_links.log_odds` for what rounding leaves of them); regressors with ``predict``.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.neural_network import MLPRegressor
    >>> X = np.linspace(-1, 1, 40).reshape(20, 2)
    >>> net = MLPRegressor(hidden_layer_sizes=(3,), activation="tanh", solver="lbfgs", random_state=0).fit(X, X[:, 0])
    >>> oracle = from_sklearn(net, max_queries=100)
    >>> bool((oracle(X) == net.predict(X)).all())
    True
    """
    if not hasattr(estimator, "predict"):
        raise TypeError(f"estimator must have a predict method, got {type(estimator).__name__}.")
    if output not in (None, "predict"):
        raise ValueError(f"output must be None or 'predict', got {output!r}.")
    if output is not None and link is not None:
        raise ValueError(f"Decisions are behind no link: give output or link, not both, got link={link!r}.")
    from sklearn.base import is_classifier
    from sklearn.utils.validation import check_is_fitted

    check_is_fitted(estimator)
    if output is not None and not is_classifier(estimator):
        raise TypeError(f"output='predict' asks a classifier for its class; {type(estimator).__name__} is none.")
    known = getattr(estimator, "n_features_in_", n_features)
    if known is None:
        raise ValueError(f"{type(estimator).__name__} does not know its number of inputs: give n_features.")
    reads = _Estimator(estimator, link) if output is None else _Labels(estimator)
    return Oracle(reads, int(known), link=link, **options)


class _Estimator:
    """Asks an estimator, with the column names it was fitted with."""

    recheckable = False  # all that it is goes into its identity

    def __init__(self, estimator: Any, link: str | None) -> None:
        self.estimator = estimator
        best = getattr(estimator, "best_estimator_", estimator)
        self._ask = _reader(best) if link is None else _from_outside(best, link)
        self._names = getattr(estimator, "feature_names_in_", None)

    @cached_property
    def identity(self) -> str:
        """The class and a hash of everything fitted."""
        import joblib

        return f"{type(self.estimator).__name__} {joblib.hash(self.estimator)}"

    def __call__(self, rows: Floats) -> Any:
        return self._ask(rows if self._names is None else _frame(rows, self._names), rows)


class _Labels(_Estimator):
    """Asks a classifier for its class, by the place of that in ``classes_``."""

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator
        self._names = getattr(estimator, "feature_names_in_", None)
        self.classes = np.asarray(estimator.classes_)
        if self.classes.ndim != 1:
            raise TypeError("The classifier decides several things at once: ask for one of them.")
        self._ask = lambda frame, rows: np.searchsorted(self.classes, estimator.predict(frame))

    @cached_property
    def identity(self) -> str:
        """That of the estimator, and what it is asked for."""
        return f"{super().identity} predict"


def _frame(rows: Floats, names: Any) -> Any:
    """Return the rows under the column names of the data frame that the estimator was fitted on."""
    for package in ("pandas", "polars"):
        if importlib.util.find_spec(package):
            return importlib.import_module(package).DataFrame(dict(zip(names, rows.T)))
    raise MissingExtra("The estimator was fitted on a data frame: pip install pandas (or polars).")


def _reader(estimator: Any) -> Callable[[Any, Floats], Any]:
    """Return the function (frame, rows) -> values that reads the estimator best."""
    from sklearn.base import is_classifier

    bare = _without_output_activation(estimator)
    if bare is not None and not is_classifier(estimator):
        return lambda frame, rows: bare.predict(frame)
    if bare is not None:
        # Two classes come as (1 - z, z); with more, one column per class.
        two = _final(bare).n_outputs_ == 1
        return lambda frame, rows: bare.predict_proba(frame)[:, 1] if two else bare.predict_proba(frame)
    if not is_classifier(estimator):
        return lambda frame, rows: estimator.predict(frame)
    if hasattr(estimator, "decision_function"):
        return lambda frame, rows: estimator.decision_function(frame)
    if hasattr(estimator, "predict_proba"):
        return lambda frame, rows: log_odds(estimator.predict_proba(frame), rows)
    raise TypeError(f"{type(estimator).__name__} returns only labels: ask for them with output='predict'.")


def _from_outside(estimator: Any, link: str) -> Callable[[Any, Floats], Any]:
    """Return the function (frame, rows) -> values that reads what anyone may ask for."""
    if link == "log_softmax" and hasattr(estimator, "predict_log_proba"):
        return lambda frame, rows: estimator.predict_log_proba(frame)
    if not hasattr(estimator, "predict_proba"):
        return lambda frame, rows: estimator.predict(frame)
    two = link in ("logistic", "logit") and len(estimator.classes_) == 2
    return lambda frame, rows: estimator.predict_proba(frame)[:, 1] if two else estimator.predict_proba(frame)


def _final(estimator: Any) -> Any:
    from sklearn.pipeline import Pipeline

    return estimator.steps[-1][1] if isinstance(estimator, Pipeline) else estimator


def _without_output_activation(estimator: Any) -> Any:
    """Return a shallow copy of a perceptron, or of a pipeline that ends in one, with a linear output; else None."""
    from sklearn.neural_network import MLPClassifier, MLPRegressor

    final = _final(estimator)
    if not isinstance(final, (MLPClassifier, MLPRegressor)):
        return None
    linear = copy.copy(final)
    linear.out_activation_ = "identity"
    if final is estimator:
        return linear
    pipeline = copy.copy(estimator)
    pipeline.steps = [*estimator.steps[:-1], (estimator.steps[-1][0], linear)]
    return pipeline
