"""scikit-learn's callbacks for our estimators (``set_callbacks``, scikit-learn 1.9 and newer; before that, nothing)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from ..progress import report

__all__ = ["N_FRAMES", "CallbackSupportMixin", "FitTasks", "with_callbacks"]

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


class FitTasks:
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
