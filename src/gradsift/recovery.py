"""``recover``: one verb for both jobs, and the record it returns."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .candidates import Candidates
from .checking import Floats, as_generator
from .errors import UncertifiedWarning
from .literal import PaperRun, paper_method
from .model import SigmoidCombination
from .oracle import Oracle
from .progress import Reporter, reporting
from .sources import as_source

__all__ = ["Recovery", "recover"]


@dataclass(frozen=True)
class Recovery:
    """What was found, and how sure it is.

    Attributes
    ----------
    model : SigmoidCombination
        In canonical form: positive weights, largest first.
    certified : bool
        True only when every check of the method vouches for the result.
    verdict : str
        One or two sentences: what was found, what is doubtful, what to try.
    standard_errors : dict of arrays
        By parameter name ("weights", ...), in the order of the model's units; only what the method provides.
    n_queries : int
        Rows asked of an oracle (0 for a table).
    candidates : Candidates or None
        Of the paper's method.
    diagnostics : dict
        Plain numbers about the run.
    """

    model: SigmoidCombination
    certified: bool
    verdict: str
    standard_errors: dict[str, Floats] = field(default_factory=dict)
    n_queries: int = 0
    candidates: Candidates | None = None
    diagnostics: dict[str, Any] = field(default_factory=dict)

    @property
    def n_units(self) -> int:
        """Number of hidden units found."""
        return self.model.n_units

    def summary(self) -> str:
        """Return a plain-text table of the units, with the verdict first."""
        m = self.model
        spread = self.standard_errors.get("weights", np.full(m.n_units, np.nan))
        lines = [self.verdict, "", f"{'unit':>4} {'weight':>12} {'+-':>9} {'slope':>12} {'offset':>12}  direction"]
        for i in range(m.n_units):
            shown = ", ".join(f"{v:.4f}" for v in m.units[i, :6]) + (", ..." if m.n_features > 6 else "")
            error = f"{spread[i]:9.2g}" if np.isfinite(spread[i]) else " " * 9
            lines.append(f"{i:>4} {m.weights[i]:12.6g} {error} {m.slopes[i]:12.6g} {m.offsets[i]:12.6g}  [{shown}]")
        lines.append(f"intercept {m.intercept:.6g}, activation {m.activation}, {self.n_queries} queries")
        return "\n".join(lines)

    def to_html(
        self,
        path: str | os.PathLike[str],
        *,
        feature_names: Sequence[str] | None = None,
        data: Any = None,
        settings: Mapping[str, Any] | None = None,
    ) -> None:
        """Write a report: one HTML file that opens offline. Needs the extra ``report``; see :mod:`gradsift.report`."""
        from .report import write_report

        write_report(self, path, feature_names=feature_names, data=data, settings=settings)

    def _repr_html_(self) -> str:
        from .report import notebook_view

        return notebook_view(self)


def recover(
    source: Any,
    n_units: int | None = None,
    *,
    method: str = "auto",
    activation: str = "tanh",
    random_state: Any = None,
    progress: bool | Reporter = False,
    **options: Any,
) -> Recovery:
    """Find the hidden units behind an oracle or a table.

    Parameters
    ----------
    source : Oracle, or (X, y), or a source of :mod:`gradsift.sources`
    n_units : int, optional
        Number of hidden units.
    method : {"auto", "paper"}
        "paper" is the published algorithm, literally (:func:`gradsift.literal.paper_method`); "auto" is, for now, the
        same with the projection and the support filter switched on.
    activation : str
    random_state : None, int, RandomState or Generator
    progress : bool or callable
        Show a bar for anything over two seconds, or call ``progress(stage, done, total)``.
    **options
        Of the method.
    """
    if method not in ("auto", "paper"):
        raise ValueError(f"method must be 'auto' or 'paper', got {method!r}.")
    rng = as_generator(random_state)
    asked = source.n_queries if isinstance(source, Oracle) else 0
    if not isinstance(source, Oracle):
        source = as_source(source)
    if method == "auto" and not isinstance(source, Oracle):
        many = n_units is not None and source.n_features > n_units
        options = {"access": "projected" if many else "gaussian", "min_support": 10.0, **options}
    with reporting(progress):
        run = paper_method(source, n_units, activation=activation, rng=rng, **options)
    n_queries = source.n_queries - asked if isinstance(source, Oracle) else 0
    return _from_paper(run, method, n_queries)


def _from_paper(run: PaperRun, method: str, n_queries: int) -> Recovery:
    facts = run.diagnostics
    doubts = []
    if facts["median_support"] < 30:
        doubts.append(f"the median candidate rests on {facts['median_support']:.3g} effective samples")
    if facts["mean_cosine"] < 0.9:
        doubts.append(f"candidates scatter around their centres (mean cosine {facts['mean_cosine']:.2f})")
    if facts["n_contradicted"]:
        doubts.append(f"{facts['n_contradicted']} weights contradict the sign of their candidates")
    if facts.get("covariance_off", 0.0) > 0.2 or facts.get("largest_mean", 0.0) > 0.2:
        doubts.append("the rows are not standard Gaussian, which the kernel assumes")
    verdict = (
        f"The paper's method ({facts['access']} access{', with filters' if method == 'auto' else ''}) returns "
        f"{run.model.n_units} units from {facts['n_candidates']} candidates; it carries no certificate"
        + (": " + "; ".join(doubts) + "." if doubts else ".")
    )
    if doubts:
        warnings.warn(verdict, UncertifiedWarning, stacklevel=3)
    order = np.argsort(-np.abs(run.model.weights), kind="stable")
    return Recovery(
        model=run.model.canonical(),
        certified=False,
        verdict=verdict,
        standard_errors={"weights": run.weight_errors[order]},
        n_queries=n_queries,
        candidates=run.candidates,
        diagnostics=dict(facts),
    )
