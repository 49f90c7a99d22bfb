"""``recover``: one verb for both jobs, and the record it returns."""

from __future__ import annotations

import contextlib
import inspect
import os
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from .activations import get_activation
from .arguments import Floats, as_generator, whole
from .certificate import Evidence, lines
from .certificate import exact_rules as exact
from .certificate import shared_rules as shared
from .defaults import ANY_DEPTH, METHODS, N_VERIFY
from .errors import NotIdentifiable, UncertifiedWarning
from .fit.gauss_newton import NUMBER_SPACING
from .model import SigmoidCombination
from .network import Network
from .oracle import Oracle
from .progress import Reporter, report, reporting
from .reading import (
    Progress,
    Reading,
    Verification,
    identify_box,
    output_errors,
    solve_output_layer,
    solve_outputs,
    verify,
)
from .runtime import warn_of_size
from .sources import Source, as_source
from .table import Coefficients, Fit, LikelihoodRatio, coefficients, likelihood_ratio, search, summary
from .tuned import ROUNDINGS

if TYPE_CHECKING:
    from .paper.method.candidates import Candidates


@dataclass(frozen=True)
class Recovery(Reading):
    """What was found, and how sure it is.

    Attributes
    ----------
    network : Network
        All outputs, in canonical form, whatever the number of hidden layers.
    judgement : Verdict
        All checks of the method. Read from it: `checks` (a tuple), `certified` (True only when every check vouches for
        the result) and `verdict` (one or two sentences: what was found, what is doubtful, what to try).
    evidence : Evidence
        What speaks for it. Read from it: `standard_errors` (by parameter name), `n_queries` and `diagnostics`.
    precision : Precision or None
        How an oracle's answers err.
    frame : InputFrame or None
        Of the coordinates in which it was read.
    verification : Verification or None
        How an oracle answered inputs that were asked for nothing else.
    projection : Network or None
        The random projection of several outputs that was read.
    fit : Fit or None
        Of a table: the same in full, with likelihood and covariance.
    candidates : Candidates or None
        Of the paper's method.
    """

    projection: Network | None = None
    fit: Fit | None = None
    candidates: Candidates | None = None

    @property
    def model(self) -> Any:
        """In canonical form: positive weights, largest first; a Network where there are several hidden layers.

        Of several outputs of an oracle it is a random projection, of those of a table the first.
        """
        read = self.projection or self.network
        return read if len(read.widths) > 1 else read.models()[0]

    @property
    def outputs(self) -> tuple[SigmoidCombination, ...]:
        """One model for each output where there are several, over one hidden layer."""
        several = self.network.n_outputs > 1 and len(self.network.widths) == 1
        return self.network.models() if several else ()

    @property
    def deep(self) -> Network | None:
        """The network where it has several hidden layers."""
        return self.network if len(self.network.widths) > 1 else None

    def verify(self, oracle: Oracle, X: Any = None, n: int = 100, *, random_state: Any = None) -> Verification:
        """Ask an oracle for values that the model foretells, and return how they differ.

        Parameters
        ----------
        oracle : Oracle
            The one that this was recovered from, or another one of the same kind.
        X : (n, d) array, optional
            Inputs to ask; by default n fresh ones, where the units bend and as inputs usually are.
        n : int
            Number of fresh inputs.
        random_state : None, int, RandomState or Generator
            For fresh inputs.

        Returns
        -------
        Verification
            `n`, `n_different`, `worst` (the largest difference), `where` (the input), `share` (of such inputs that may
            differ: upper bound of 95%), `known` (how well the model's own values are known there).
        """
        if self.precision is None:
            raise ValueError("Only what was recovered from an oracle can be verified on fresh inputs.")
        if oracle.n_outputs == 1:
            return verify(self, oracle, X, n, random_state)
        models = self.outputs if self.deep is None else self.deep.single_outputs()
        return verify(self, oracle, X, n, random_state, models)

    @property
    def up_to_scale(self) -> bool:
        """Whether the outputs are known up to one positive factor, as behind decisions; the last layer has length one.

        Of several classes they are also known only up to a function that all have in common: they add up to zero.
        """
        return self.precision is not None and self.precision.is_decision

    @property
    def n_units(self) -> int:
        """Number of hidden units found, in all layers."""
        return int(self.model.n_units)

    @property
    def blind_angle(self) -> float:
        """Degrees within which a second unit beside a found one would not have shown; 0 where answers are exact."""
        return self.evidence.blind_angle

    def summary(self, feature_names: Sequence[str] | None = None) -> str:
        """Return a plain-text table of the units, with the verdict before it and the checks after it.

        Of a table: coefficients with errors, tests and intervals, log-likelihood, AIC, BIC, R2.
        """
        if self.fit is not None:
            return summary(self.fit, feature_names)
        if self.deep is not None:
            return "\n".join([self.verdict, "", *_layer_lines(self), "", *lines(self.checks)])
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
        if self.up_to_scale:
            rows.append(self._scale_line())
        return "\n".join([*rows, "", *lines(self.checks)])

    def _scale_line(self) -> str:
        """Say what decisions leave open, and which class is which."""
        classes = ", ".join(map(str, self.network.classes or ()))
        if self.network.n_outputs == 1:
            return (
                f"decides between {classes} (where positive): known up to one positive factor, last layer of norm one"
            )
        return (
            f"decides between {classes} by the largest of {self.network.n_outputs} outputs (the first one is shown): "
            "known up to one positive factor and a common function, last layer of norm one, outputs that add up to zero"
        )

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
        from .show.report import write_report

        write_report(self, path, feature_names=feature_names, data=data, settings=settings)

    def _repr_html_(self) -> str:
        from .show.report import summary_html

        return summary_html(self)


def _layer_lines(found: Recovery) -> list[str]:
    """Return a plain-text table of the layers of a deep network."""
    network = found.network
    rows = [f"{'layer':>6} {'units':>6} {'inputs':>6} {'row lengths':>20} {'offsets':>20} {'relative error':>15}"]
    for number, (weights, offsets) in enumerate(network.layers):
        name = "output" if number == len(network.widths) else str(number + 1)
        lengths = np.linalg.norm(weights, axis=1)
        errors = found.standard_errors.get(f"layer {number + 1}", np.array([np.nan]))
        ranges = [f"{a.min():.4g} .. {a.max():.4g}" for a in (lengths, offsets)]
        rows.append(
            f"{name:>6} {len(offsets):>6} {weights.shape[1]:>6} {ranges[0]:>20} {ranges[1]:>20} {errors.max():>15.1g}"
        )
    return [*rows, f"activation {network.activation}, {network.n_parameters} parameters, {found.n_queries} queries"]


def recover(
    source: Any,
    n_units: int | None = None,
    *,
    method: str = METHODS[0],
    activation: str | None = None,
    random_state: Any = None,
    progress: bool | Reporter = False,
    max_queries: int | None = None,
    n_verify: int = N_VERIFY,
    layers: int | str = ANY_DEPTH,
    **options: Any,
) -> Recovery:
    """Find the hidden units behind an oracle or in a table.

    Parameters
    ----------
    source : Oracle, or (X, y), or a source of :mod:`gradsift.sources`
    n_units : int, optional
        Number of hidden units; found when it is not given (except by the paper's method, which takes it as known).
    method : {"auto", "paper"}
        "auto" identifies the network behind an oracle (:func:`gradsift.reading.identify_box`) and fits a table by
        maximum likelihood (:func:`gradsift.table.search`); "paper" is the published algorithm, literally
        (:func:`gradsift.paper.method.literal.run_paper`).
    activation : str, optional
        A name in :data:`gradsift.activations.ACTIVATIONS`: "tanh", "logistic", "erf", "arctan", "softsign", "relu",
        "leaky_relu", "softplus", "silu", "gelu", "gelu_tanh", "elu", "mish"; for an oracle also "auto", the
        default there: told from the answers where they are precise enough (a network of tanh units costs no query more
        for it), else "tanh". A table is fitted with "tanh" by default.
    random_state : None, int, RandomState or Generator
        The same seed gives the same result; None with a journal takes the journal's own seed.
    progress : bool or callable
        Show a bar for anything over two seconds, or call ``progress(stage, done, total)``.
    max_queries : int, optional
        Most rows that an oracle may be asked in this call.
    n_verify : int
        Fresh inputs that an oracle is asked at the end, for nothing but to see whether its answers are as foretold; as
        many as `max_queries` allows. With 0 nothing is verified, and the verdict says so.
    layers : "auto" or int
        Hidden layers of the network behind an oracle; "auto" begins with one, and reads several where one is refuted.
        A table is fitted with one.
    **options
        Of the method; for an oracle with imperfect answers ``accuracy``, the direction error wanted.
    """
    if method not in METHODS:
        raise ValueError(f"method must be {' or '.join(map(repr, METHODS))}, got {method!r}.")
    whole("n_verify", n_verify, 0)
    if activation not in (None, "auto"):
        get_activation(activation)  # a name nobody knows should not cost a query
    if layers != ANY_DEPTH:
        whole("layers", layers)
    _require_known(options, source, method)
    if layers not in (ANY_DEPTH, 1) and (method == "paper" or not isinstance(source, Oracle)):
        raise ValueError("Several hidden layers can only be found behind an oracle, with method='auto'.")
    with reporting(progress), within_double_precision():
        if isinstance(source, Oracle):
            rng = as_generator(source.journal_seed if random_state is None else random_state)
            with source.within_budget(max_queries):
                return _behind_oracle(source, n_units, method, activation, n_verify, rng, {**options, "layers": layers})
        rng, rows = as_generator(random_state), as_source(source)
        activation = activation or "tanh"
        if activation == "auto":
            raise ValueError("activation='auto' is told from the answers of an oracle: name one for a table.")
        if method == "paper":
            for_the_paper(activation)
            return _by_the_paper(rows, n_units, activation=activation, rng=rng, **options)
        warn_of_size(rows.n_rows, rows.n_features, n_units)
        rows.require_moderate_weights()
        fit = search(rows, n_units, activation=activation, rng=rng, progress=report, **options)
        found = recovery_of_fit(fit, rows)
        warn_unless_certified(found, stacklevel=3)
        return found


def _require_known(options: Mapping[str, Any], source: Any, method: str) -> None:
    """Refuse options that a method does not have, before anything is asked."""
    takes: Callable[..., Any] = identify_box if isinstance(source, Oracle) else search
    if method == "paper":
        from .paper.method.literal import run_paper

        takes = run_paper
    own = {"source", "rows", "oracle", "n_units", "activation", "rng", "progress", "layers", "n_verify"}
    known = sorted(set(inspect.signature(takes).parameters) - own)
    unknown = [name for name in options if name not in known]
    if unknown:
        what = "the paper's method" if method == "paper" else "an oracle" if isinstance(source, Oracle) else "a table"
        raise TypeError(f"recover() has no option {unknown[0]!r} for {what}; it has {', '.join(known)}.")


def for_the_paper(activation: str) -> None:
    """Refuse activations that the paper's method does not take."""
    if not get_activation(activation).saturates:
        raise ValueError(
            f"The paper's method takes sigmoids, got activation={activation!r}: units that grow are found with "
            "method='auto' only."
        )


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
    source: Oracle, n_units: int | None, method: str, activation: str | None, n_verify: int, rng: np.random.Generator,
    options: dict[str, Any],
) -> Recovery:  # fmt: skip
    before = source.n_answered
    box = source.single_output(int(rng.integers(2**63)))
    if method == "paper":
        del options["layers"]
        family = "tanh" if activation in (None, "auto") else activation
        for_the_paper(family)
        found = _by_the_paper(box, n_units, activation=family, rng=rng, **options)
        found = found.spending("paper's method", source.n_answered - before)
    else:
        box = box.standardised()
        inside = identify_box(box, activation, rng, progress=_report_queries, n_verify=n_verify, **options)
        found = _from_reading(inside, box, n_units)
    found = found.of_all(source.n_answered - before)
    if source.n_outputs == 1:
        return found
    return _with_outputs(found, source)


def _report_queries(progress: Progress) -> None:
    report(f"{progress.step} ({progress.n_units} units)", progress.n_queries, progress.expected)


def _with_outputs(found: Recovery, source: Oracle) -> Recovery:
    """Give every output its own weights and its own check; what they leave over speaks against the units."""
    X, Y = source.answers()
    if found.deep is not None:
        network, misfits = solve_output_layer(found.deep, X, Y)
        bounds = found.error_bounds[np.isfinite(found.error_bounds)]
        eps = max((r.eps for r in found.precision.outputs), default=0.0) if found.precision is not None else 0.0
        chi = misfits / (ROUNDINGS * max(eps, NUMBER_SPACING) + bounds.max(initial=0.0))
        checks = [exact.output(i + 1, float(c), len(X)) for i, c in enumerate(chi)]
        told = found.with_note(largest_output_misfit=float(misfits.max()))
        complete = replace(told, judgement=found.judgement.add(*checks), network=network, projection=found.network)
        if found.certified:
            warn_unless_certified(complete, stacklevel=5)
        return complete
    roundings = () if found.precision is None else found.precision.outputs
    errors = output_errors(source, roundings) if roundings else None
    inside = 4 * max((r.eps for r in roundings), default=0.0)
    bounds = found.error_bounds if len(found.error_bounds) else np.zeros(1)
    layer = solve_outputs(found.model, X, Y, errors, bounds + inside)
    checks = [exact.output(i + 1, float(chi), len(X)) for i, chi in enumerate(layer.chi) if errors is not None]
    misfit = float((layer.misfits / np.maximum(np.abs(Y).max(axis=0), np.finfo(np.float64).tiny)).max())
    complete = replace(
        found.with_note(largest_output_misfit=misfit),
        judgement=found.judgement.add(*checks),
        network=Network.of(layer.models(found.model)),
        projection=found.network,
    )
    if found.certified:
        warn_unless_certified(complete, stacklevel=5)
    return complete


def _from_reading(found: Reading, box: Oracle, n_units: int | None) -> Recovery:
    decides = found.precision is not None and found.precision.is_decision
    inside = found.network if decides else found.model
    network = found.network if box.frame is None else box.frame.outside(inside)
    given = () if n_units is None else (shared.number_of_units(found.model.n_units, n_units),)
    recovery = Recovery(
        Network.of(network), found.judgement.add(*given), found.evidence, found.precision, box.frame,
        found.verification,
    )  # fmt: skip
    warn_unless_certified(recovery, stacklevel=5)
    return recovery


def recovery_of_fit(fit: Fit, rows: Source) -> Recovery:
    """Return what the users of a fit want to know, in the form that all methods share."""
    errors = fit.standard_errors
    evidence = Evidence(
        n_answers=fit.n_rows,
        errors={
            "units": fit.angles,
            "weights": errors.weights,
            "slopes": errors.slopes,
            **({"offsets": errors.offsets} if fit.family.offsets else {}),
            **({"intercept": np.array([errors.intercept])} if fit.family.intercept else {}),
        },
        notes={**fit.diagnostics, "bic": fit.bic, "n_rows": fit.n_rows, "n_passes": rows.n_passes},
    )
    return Recovery(Network.of(fit.model), fit.judgement, evidence, fit=fit)


def with_outputs(found: Recovery, models: tuple[SigmoidCombination, ...]) -> Recovery:
    """Return the fit to a mixture of targets with a model for each of them, all with the units of the first."""
    return replace(found, network=Network.of(models))


def warn_unless_certified(found: Recovery, stacklevel: int) -> None:
    """Say the verdict aloud where nothing vouches for the result."""
    if not found.certified:
        warnings.warn(found.verdict, UncertifiedWarning, stacklevel=stacklevel)


def _by_the_paper(source: Source | Oracle, n_units: int | None, **options: Any) -> Recovery:
    # Its parts are estimators of scikit-learn, which takes longer to import than most boxes to read.
    from .paper.method.literal import judge_paper, run_paper

    run = run_paper(source, n_units, **options)
    errors = {"weights": run.weight_errors[np.argsort(-np.abs(run.model.weights), kind="stable")]}
    evidence = Evidence(errors=errors, notes=dict(run.diagnostics))
    found = Recovery(Network.of(run.model.canonical()), judge_paper(run), evidence, candidates=run.candidates)
    if len(found.judgement.failed) > 1:  # beside the certificate, which this method never has
        warnings.warn(found.verdict, UncertifiedWarning, stacklevel=4)
    return found
