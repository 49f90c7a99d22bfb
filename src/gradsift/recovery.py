"""``recover``: one verb for both jobs, and the record it returns."""

from __future__ import annotations

import contextlib
import os
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from .activations import get_activation
from .blackbox import Identification, Progress, identify_box, solve_outputs
from .checking import Floats, as_generator
from .checks import Judged, Verdict, any_method, lines
from .errors import NotIdentifiable, UncertifiedWarning
from .model import SigmoidCombination
from .oracle import Oracle
from .paper_method.candidates import Candidates
from .paper_method.literal import PaperRun, paper_method
from .paper_method.verdict import judge_paper
from .progress import Reporter, report, reporting
from .sources import Source, as_source
from .table import Coefficients, Fit, LikelihoodRatio, coefficients, likelihood_ratio, search, summary
from .workload import announce

__all__ = ["Recovery", "recover", "recovery_of_fit", "warn_unless_certified", "with_outputs", "within_double_precision"]


@dataclass(frozen=True)
class Recovery(Judged):
    """What was found, and how sure it is.

    Attributes
    ----------
    model : SigmoidCombination
        In canonical form: positive weights, largest first.
    judgement : Verdict
        All checks of the method. Read from it: `checks` (a tuple), `certified` (True only when every check vouches for
        the result) and `verdict` (one or two sentences: what was found, what is doubtful, what to try).
    standard_errors : dict of arrays
        By parameter name ("units", "weights", "slopes", ...), in the order of the model's units; those of units are
        angles in radians. Only what the method provides.
    n_queries : int
        Rows asked of an oracle, replayed ones included (0 for a table).
    candidates : Candidates or None
        Of the paper's method.
    outputs : tuple of SigmoidCombination
        One model per output of an oracle with several; `model` is then that of a random projection of them.
    diagnostics : dict
        Plain numbers about the run.
    fit : Fit or None
        Of a table: the same in full, with likelihood and covariance.
    """

    model: SigmoidCombination
    judgement: Verdict
    standard_errors: dict[str, Floats] = field(default_factory=dict)
    n_queries: int = 0
    candidates: Candidates | None = None
    outputs: tuple[SigmoidCombination, ...] = ()
    diagnostics: dict[str, Any] = field(default_factory=dict)
    fit: Fit | None = None

    @property
    def n_units(self) -> int:
        """Number of hidden units found."""
        return self.model.n_units

    def summary(self, feature_names: Sequence[str] | None = None) -> str:
        """Return a plain-text table of the units, with the verdict before it and the checks after it.

        Of a table: coefficients with errors, tests and intervals, log-likelihood, AIC, BIC, R2.
        """
        if self.fit is not None:
            return summary(self.fit, feature_names)
        m = self.model
        spread = self.standard_errors.get("weights", np.full(m.n_units, np.nan))
        rows = [self.verdict, "", f"{'unit':>4} {'weight':>12} {'+-':>9} {'slope':>12} {'offset':>12}  direction"]
        for i in range(m.n_units):
            shown = ", ".join(f"{v:.4f}" for v in m.units[i, :6]) + (", ..." if m.n_features > 6 else "")
            error = f"{spread[i]:9.2g}" if np.isfinite(spread[i]) else " " * 9
            rows.append(f"{i + 1:>4} {m.weights[i]:12.6g} {error} {m.slopes[i]:12.6g} {m.offsets[i]:12.6g}  [{shown}]")
        if m.has_linear_term:
            shown = ", ".join(f"{v:.6g}" for v in m.linear[:6]) + (", ..." if m.n_features > 6 else "")
            rows.append(f"linear term [{shown}]")
        asked = f", {self.n_queries} queries" if self.n_queries else ""
        rows.append(f"intercept {m.intercept:.6g}, activation {m.activation}{asked}")
        return "\n".join([*rows, "", *lines(self.checks)])

    def coefficients(self, feature_names: Sequence[str] | None = None) -> Coefficients:
        """Return every fitted number by name, with errors, z and p; only of a fit to a table."""
        return coefficients(self._fit("coefficients"), feature_names)

    def conf_int(self, level: float = 0.95) -> Floats:
        """Return (p, 2) confidence bounds of the coefficients; only of a fit to a table."""
        return coefficients(self._fit("conf_int")).conf_int(level)

    def covariance(self, feature_names: Sequence[str] | None = None) -> Any:
        """Return the covariance of the coefficients as a pandas frame with names; only of a fit to a table."""
        return coefficients(self._fit("covariance"), feature_names).covariance()

    def as_frame(self, feature_names: Sequence[str] | None = None, level: float = 0.95) -> Any:
        """Return the coefficients as a pandas frame; only of a fit to a table."""
        return coefficients(self._fit("as_frame"), feature_names).as_frame(level)

    def test(self, smaller: Recovery) -> LikelihoodRatio:
        """Test against a nested fit to the same rows (fewer columns, no offsets, common slopes): likelihood ratio."""
        return likelihood_ratio(self._fit("test"), smaller._fit("test"))

    def _fit(self, what: str) -> Fit:
        if self.fit is None:
            raise TypeError(f"{what} needs a fit to a table: answers of an oracle have no sampling errors.")
        return self.fit

    def to_html(
        self,
        path: str | os.PathLike[str],
        *,
        feature_names: Sequence[str] | None = None,
        data: Any = None,
        settings: Mapping[str, Any] | None = None,
    ) -> None:
        """Write a report: one HTML file that opens offline (extra ``report``).

        Parameters
        ----------
        path : path
        feature_names : d strings, optional
            Shown beside the directions, escaped; x1, x2, ... by default.
        data : (X, y), optional
            Rows of the fit: adds a residual or calibration plot.
        settings : dict, optional
            What the run was asked to do, shown for repeating it.
        """
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
    max_queries: int | None = None,
    **options: Any,
) -> Recovery:
    """Find the hidden units behind an oracle or in a table.

    Parameters
    ----------
    source : Oracle, or (X, y), or a source of :mod:`gradsift.sources`
    n_units : int, optional
        Number of hidden units; found when it is not given (except by the paper's method, which takes it as known).
    method : {"auto", "paper"}
        "auto" identifies the network behind an oracle (:func:`gradsift.blackbox.identify_box`) and fits a table by
        maximum likelihood (:func:`gradsift.table.search`); "paper" is the published algorithm, literally
        (:func:`gradsift.paper_method.literal.paper_method`).
    activation : {"tanh", "logistic", "erf", "arctan", "softsign"}
        For an oracle also "auto".
    random_state : None, int, RandomState or Generator
        The same seed gives the same result; None with a journal takes the journal's own seed.
    progress : bool or callable
        Show a bar for anything over two seconds, or call ``progress(stage, done, total)``.
    max_queries : int, optional
        Most rows that an oracle may be asked in this call.
    **options
        Of the method; for an oracle with imperfect answers ``accuracy``, the direction error wanted.
    """
    if method not in ("auto", "paper"):
        raise ValueError(f"method must be 'auto' or 'paper', got {method!r}.")
    if activation != "auto":
        get_activation(activation)  # a name nobody knows should not cost a query
    with reporting(progress), within_double_precision():
        if isinstance(source, Oracle):
            rng = as_generator(source.campaign_seed if random_state is None else random_state)
            with source.limited(max_queries):
                return _behind_oracle(source, n_units, method, activation, rng, options)
        rng, rows = as_generator(random_state), as_source(source)
        if method == "paper":
            return _from_paper(paper_method(rows, n_units, activation=activation, rng=rng, **options))
        announce(rows.n_rows, rows.n_features, n_units)
        fit = search(rows, n_units, activation=activation, rng=rng, progress=report, **options)
        found = recovery_of_fit(fit, rows)
        warn_unless_certified(found, stacklevel=3)
        return found


@contextlib.contextmanager
def within_double_precision() -> Iterator[None]:
    """Turn a breakdown of the arithmetic into a refusal that names it."""
    try:
        yield
    except (ArithmeticError, np.linalg.LinAlgError) as problem:
        raise NotIdentifiable(
            f"The numbers left double precision on the way ({type(problem).__name__}: {problem}): they are too large, "
            "too small or too far apart in size; rescale inputs and outputs."
        ) from problem


def _behind_oracle(
    source: Oracle, n_units: int | None, method: str, activation: str, rng: np.random.Generator, options: dict[str, Any]
) -> Recovery:
    before = source.n_answered
    box = source.scalar(int(rng.integers(2**63)))
    if method == "paper":
        found = _from_paper(paper_method(box, n_units, activation=activation, rng=rng, **options))
    else:
        found = _from_identification(identify_box(box, activation, rng, progress=_report_queries, **options), n_units)
    found = _with_first_look(replace(found, n_queries=source.n_answered - before))
    if source.n_outputs == 1:
        return found
    return _with_outputs(found, *source.answers())


def _with_first_look(found: Recovery) -> Recovery:
    """Add to the steps of a method the queries that chose it, so that the steps add up."""
    spent = found.diagnostics.get("spent")
    if spent is None or found.n_queries <= sum(spent.values()):
        return found
    first = {"first look": found.n_queries - sum(spent.values())}
    return replace(found, diagnostics={**found.diagnostics, "spent": {**first, **spent}})


def _report_queries(progress: Progress) -> None:
    report(f"{progress.step} ({progress.n_units} units)", progress.n_queries)


def _with_outputs(found: Recovery, X: Floats, Y: Floats) -> Recovery:
    """Give every output its own weights; what they leave over speaks against the units."""
    layer = solve_outputs(found.model, X, Y)
    models = tuple(
        SigmoidCombination(found.model.units, w, found.model.slopes, found.model.offsets, c, found.model.activation, g)
        for w, c, g in zip(layer.weights.T, layer.intercepts, layer.linear.T)
    )
    misfit = float((layer.misfits / np.maximum(np.abs(Y).max(axis=0), np.finfo(np.float64).tiny)).max())
    return replace(found, outputs=models, diagnostics={**found.diagnostics, "largest_output_misfit": misfit})


def _from_identification(found: Identification, n_units: int | None) -> Recovery:
    given = () if n_units is None else (any_method.number_of_units(found.model.n_units, n_units),)
    recovery = Recovery(
        model=found.model,
        judgement=found.judgement.also(*given),
        standard_errors=found.standard_errors,
        diagnostics={**found.diagnostics, "error_bounds": found.error_bounds.tolist()},
    )
    warn_unless_certified(recovery, stacklevel=5)
    return recovery


def recovery_of_fit(fit: Fit, rows: Source) -> Recovery:
    """Return what the users of a fit want to know, in the form that all methods share."""
    errors = fit.standard_errors
    return Recovery(
        model=fit.model,
        judgement=fit.judgement,
        standard_errors={
            "units": fit.angles,
            "weights": errors.weights,
            "slopes": errors.slopes,
            **({"offsets": errors.offsets} if fit.family.offsets else {}),
            **({"intercept": np.array([errors.intercept])} if fit.family.intercept else {}),
        },
        fit=fit,
        diagnostics={**fit.diagnostics, "bic": fit.bic, "n_rows": fit.n_rows, "n_passes": rows.n_passes},
    )


def with_outputs(found: Recovery, models: tuple[SigmoidCombination, ...]) -> Recovery:
    """Return the fit to a mixture of targets with a model for each of them, all with the units of the first."""
    return replace(found, model=models[0], outputs=models)


def warn_unless_certified(found: Recovery, stacklevel: int) -> None:
    """Say the verdict aloud where nothing vouches for the result."""
    if not found.certified:
        warnings.warn(found.verdict, UncertifiedWarning, stacklevel=stacklevel)


def _from_paper(run: PaperRun) -> Recovery:
    found = Recovery(
        model=run.model.canonical(),
        judgement=judge_paper(run),
        standard_errors={"weights": run.weight_errors[np.argsort(-np.abs(run.model.weights), kind="stable")]},
        candidates=run.candidates,
        diagnostics=dict(run.diagnostics),
    )
    if len(found.judgement.failed) > 1:  # beside the certificate, which this method never has
        warnings.warn(found.verdict, UncertifiedWarning, stacklevel=4)
    return found
