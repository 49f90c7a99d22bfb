"""What a search hands back: the fit in the user's coordinates, with standard errors and a verdict."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from ..arguments import Floats
from ..certificate import TABLE, Check, Judged, Verdict, n_of, table_rules
from ..fit import Family, Parameters, Refined, covariance_of, polish
from ..fit.covariance import StandardErrors, confidence_cones
from ..model import SigmoidCombination
from ..sources import Source
from .cross_validation import CrossValidation
from .doubts import gain_over_more, gain_over_next, pair_p_value, price_of_steepness, split_by_plane
from .frame import Frame, FrameGradient
from .nested_models import gains
from .optimum import LOOSE, Settled
from .options import TableOptions
from .problem import TableProblem
from .sandwich import spread_of


class ConstantFit(NamedTuple):
    """What a constant leaves: its log-likelihood, the variance of y, and half the summed logs of precision weights."""

    log_likelihood: float
    y_variance: float
    log_weights: float


@dataclass(frozen=True)
class Fit(Judged):
    """A fitted model and what the search saw on the way.

    Attributes
    ----------
    model : SigmoidCombination
        In the user's coordinates, in canonical form where the family allows it.
    family : Family
    frame : Frame
        The coordinates of `refined`.
    refined : Refined
        The optimum over all rows.
    n_rows : int
    hits : int
        How many survivors of the races ended in this optimum.
    gap : float
        Nats to the next best optimum that was seen (inf: none).
    p_better : float
        p-value of the cross-fitted test that a better unit exists.
    standard_errors : StandardErrors
        From the sandwich covariance, in the user's coordinates.
    judgement : Verdict
        The checks, and what they add up to; `certified`, `verdict` and `checks` are read from it.
    choices : TableOptions
    null : ConstantFit
    diagnostics : dict
        Plain numbers and strings.
    """

    model: SigmoidCombination
    family: Family
    frame: Frame
    refined: Refined
    n_rows: int
    hits: int
    gap: float
    p_better: float
    standard_errors: StandardErrors
    judgement: Verdict
    choices: TableOptions
    null: ConstantFit
    inflation: float  # of likelihood gains, by noise of uneven size
    diagnostics: dict[str, Any] = field(default_factory=dict)

    @property
    def n_units(self) -> int:
        """k."""
        return self.model.n_units

    @property
    def n_parameters(self) -> int:
        """Free parameters of the model, without the noise variance."""
        return self.family.n_parameters(self.model.n_units, self.frame.basis.shape[1])

    @property
    def log_likelihood(self) -> float:
        """Maximised log-likelihood of y given X (Gaussian noise of fitted variance, or labels)."""
        if self.family.labels:
            return -self.refined.loss
        mass = self.refined.mass
        variance = max(self.refined.noise_variance * self.frame.y_scale**2, np.finfo(np.float64).tiny)
        return -0.5 * mass * (float(np.log(2 * np.pi * variance)) + 1) + self.null.log_weights

    @property
    def directions(self) -> Floats:
        """(k, d) unit vectors of the slopes per standard deviation of each column."""
        rows = self.model.units * self.frame.spread
        return np.asarray(rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-300))

    @property
    def angles(self) -> Floats:
        """(k,) root mean square errors of the directions, in radians; columns in units of their standard deviations."""
        return self.standard_errors.standardised(self.frame.spread).angles

    @property
    def r_squared(self) -> float:
        """Share of the target's variance that the fit explains; for labels McFadden's pseudo-R2."""
        if self.family.labels:
            return 1 - self.log_likelihood / min(self.null.log_likelihood, -1e-300)
        return 1 - self.refined.noise_variance * self.frame.y_scale**2 / max(self.null.y_variance, 1e-300)

    @property
    def degrees_of_freedom(self) -> float:
        """Weight of the rows less the number of parameters."""
        return max(self.refined.mass - self.n_parameters, 1.0)

    @property
    def noise(self) -> float:
        """Standard deviation of the residuals, degrees of freedom taken off; nan for labels."""
        if self.family.labels:
            return float("nan")
        return float(np.sqrt(2 * self.refined.loss / self.degrees_of_freedom)) * self.frame.y_scale

    @property
    def bic(self) -> float:
        """Schwarz's criterion; smaller is better."""
        return -2 * self.log_likelihood + self._n_free * float(np.log(self.refined.mass))

    @property
    def aic(self) -> float:
        """Akaike's criterion; smaller is better."""
        return -2 * self.log_likelihood + 2 * self._n_free

    @property
    def _n_free(self) -> int:
        return self.n_parameters + (0 if self.family.labels else 1)


class FitEvidence(NamedTuple):
    """The numbers a verdict rests on; None where the question does not arise.

    over_constant, over_linear, over_one, over_fewer : as in Gains
    n_flat : directions of X without spread, flat : the columns (from zero) that are constant or repeat others
    p_better : p-value of the test that a better unit exists; hits, gap : as in Fit
    separated : of labels, the share of rows whose class a plane decides
    bounded : whether the likelihood has a maximum near the fit
    least_cost : nats that the unit which minds least loses when it is made steeper, where slopes are parameters
    pull : standard errors by which a ridge, where there is one, moves the worst coefficient
    lines : whether a criterion chose the number of units that grow, which look like lines where rows miss their kinks
    log_odds : whether a criterion chose the number of units of log-odds
    most_units : where a criterion chose, the number of units at which the search ended though the criterion still fell;
        0: it did not
    over_more : by how much a criterion milder than BIC prefers this number of units to larger ones; infinite: to none
    over_more_weighted : the same, with rows weighted by the size of their noise
    p_single : p-value of the test that every unit is a single one
    half_as_strong : what a unit of half the strength would explain, over its price
    """

    over_constant: float
    over_linear: float
    over_one: float
    over_fewer: float
    p_better: float
    hits: int
    gap: float
    converged: bool
    n_flat: int
    flat: tuple[int, ...] = ()
    separated: float | None = None
    bounded: bool = True
    least_cost: float | None = None
    rows_per_parameter: float = np.inf
    pull: float | None = None
    most_units: int | None = None
    lines: bool = False
    log_odds: bool = False
    over_more: float = np.inf
    over_more_weighted: float = np.inf
    p_single: float | None = None
    half_as_strong: float | None = None


def judge_fit(errors: StandardErrors, evidence: FitEvidence) -> Verdict:
    """Return whether the units can be relied on, and why or why not."""
    over_more = evidence.over_more, evidence.over_more_weighted
    noun = n_of(errors.model.n_units, "unit")
    return Verdict(
        (
            table_rules.enough_rows(evidence.rows_per_parameter),
            *_asked(table_rules.split_by_plane, evidence.separated),
            *_asked(table_rules.finite_slopes, evidence.least_cost if evidence.bounded else -np.inf),
            table_rules.simpler_models(
                evidence.over_constant, evidence.over_linear, evidence.over_one, evidence.over_fewer
            ),
            table_rules.directions(errors.angles),
            table_rules.faint_weights(np.abs(errors.model.weights) / np.maximum(errors.weights, 1e-300)),
            *([table_rules.overlap(_at_the_same_place(errors))] if errors.model.n_units > 1 else []),
            table_rules.flat_inputs(evidence.n_flat, evidence.flat),
            table_rules.further_unit(evidence.p_better),
            *([table_rules.more_units(*over_more)] if min(over_more) < np.inf else []),
            *_asked(table_rules.single_units, evidence.p_single),
            *_asked(table_rules.half_weight, evidence.half_as_strong),
            *_asked(table_rules.most_units, evidence.most_units),
            *([table_rules.lines(True)] if evidence.lines else []),
            *([table_rules.log_odds(True)] if evidence.log_odds else []),
            *_asked(table_rules.shrinkage, evidence.pull),
            table_rules.rival_optimum(evidence.gap, evidence.hits),
            table_rules.finished_polish(evidence.converged),
        ),
        found=f"{noun} fitted",
        claim=f"{noun}, standard error of the directions (columns in standard deviations) at most "
        f"{float(errors.angles.max()):.2g} rad, "
        f"no further unit at level {TABLE.further_unit:.0%} (p = {evidence.p_better:.2g})",
    )


def _asked(rule: Callable[..., Check], number: float | None) -> list[Check]:
    """Return the check of a number; none where the question does not arise."""
    return [] if number is None else [rule(number)]


def _at_the_same_place(errors: StandardErrors) -> list[table_rules.Overlap]:
    """Return the pairs of units whose offsets, turned to one side, may be the same."""
    units, offsets = errors.model.units, errors.model.offsets
    # Two units compete for the same rows only if their offsets, turned to one side, may be the same.
    cones = confidence_cones(errors)
    pairs = []
    for i in range(len(units)):
        for j in range(i + 1, len(units)):
            cosine = float(units[i] @ units[j])
            apart = abs(offsets[i] - np.sign(cosine) * offsets[j])
            if apart <= TABLE.same_place * np.hypot(errors.offsets[i], errors.offsets[j]) + 1e-12:
                angle = float(np.arccos(np.clip(abs(cosine), -1, 1)))
                pairs.append(table_rules.Overlap(i, j, angle, float(max(cones[i], cones[j]))))
    return pairs


def fit_with_certificate(
    source: Source,
    problem: TableProblem,
    settled: Settled,
    notes: list[str],
    validation: CrossValidation | None,
    rng: np.random.Generator,
) -> Fit:
    """Return the fit: polished on all rows, with the covariance of the rows of the search, scaled to all.

    What would be certified is looked at once more: with rows weighted by the size of their noise, for units that
    are two, and, where the number of units was given, beside one unit more.
    """
    family, frame = problem.family, problem.frame
    best = _on_all_rows(source, problem, settled)
    spread, price = spread_of(problem, best)
    # Covariances follow the linear map out of the frame, and then the order and signs of the canonical form.
    move = frame.outside_matrix(family, len(best.theta.u))
    errors = _canonical_errors(frame.outside(best.theta), family, move @ spread @ move.T)
    counted = bool(settled.path) and not family.labels  # a criterion chose how many units; of labels it is not measured
    evidence = FitEvidence(
        **gains(problem, best, price, settled.one)._asdict(),
        p_better=settled.p_better,
        hits=settled.optima.hits,
        gap=settled.optima.gap,
        converged=best.converged,
        flat=_flat_columns(source, problem),
        n_flat=frame.basis.shape[0] - frame.basis.shape[1],
        separated=split_by_plane(problem, settled.one) if family.labels else None,
        bounded=settled.bounded,
        least_cost=price_of_steepness(problem, best.theta, TABLE.steeper),
        rows_per_parameter=problem.mass / family.n_parameters(len(best.theta.u), problem.n_features),
        pull=_pull(problem, best, spread),
        most_units=(len(settled.path) if settled.capped else 0) if settled.path else None,
        lines=not family.activation.saturates and bool(settled.path),
        log_odds=family.labels and not family.simplex and bool(settled.path),
        over_more=settled.over_more,
        half_as_strong=_half_weight(problem, best) if counted else None,
    )
    standardised = errors.standardised(frame.spread)
    judgement = judge_fit(standardised, evidence)
    if judgement.certified:
        closer = evidence._replace(over_more_weighted=gain_over_more(problem, best.theta, rng))
        if counted:
            closer = closer._replace(p_single=pair_p_value(problem, best.theta, rng))
        if not settled.path and problem.choices.alpha == 0:
            closer = closer._replace(over_more=gain_over_next(problem, settled, rng))
        if closer != evidence:
            evidence, judgement = closer, judge_fit(standardised, closer)
    return Fit(
        model=errors.model,
        family=family,
        frame=frame,
        refined=best,
        n_rows=source.n_rows,
        hits=settled.optima.hits,
        gap=settled.optima.gap,
        p_better=settled.p_better,
        standard_errors=errors,
        judgement=judgement,
        choices=problem.choices,
        null=_constant_fit(source, problem),
        inflation=price,
        diagnostics={
            **evidence._asdict(),
            "rounds": settled.rounds,
            "offsets_fitted": family.offsets,
            "intercept_fitted": family.intercept,
            "bic_path": dict(settled.path),
            "inflation": price,
            "alpha": problem.choices.alpha,
            "notes": notes,
            **({} if validation is None else {"cross_validation": validation.table}),
        },
    )


def _flat_columns(source: Source, problem: TableProblem) -> tuple[int, ...]:
    """Return the numbers of constant columns; where none is, those that the others determine."""
    frame = problem.frame
    d, rank = frame.basis.shape
    if rank == d:
        return ()
    covariance = source.moments.covariance
    constant = np.flatnonzero(np.diag(covariance) <= (1e-12 * np.maximum(np.abs(source.moments.mean), 1e-300)) ** 2)
    if len(constant):
        return tuple(int(j) for j in constant)
    correlation = covariance / frame.spread[:, None] / frame.spread
    vectors = np.linalg.eigh(correlation)[1]
    return tuple(int(j) for j in np.flatnonzero((vectors[:, : d - rank] ** 2).sum(axis=1) > 1e-6))


def _pull(problem: TableProblem, best: Refined, spread: Floats) -> float | None:
    """Return by how many standard errors the ridge moves the worst coefficient, to first order; None without one."""
    if problem.choices.alpha == 0 or best.equations.curvature is None:
        return None
    family, prior = problem.family, problem.last_prior.within(problem.family)
    variance = 1.0 if family.labels else best.noise_variance + prior.least_variance
    push = family.pack(prior.gradient(best.theta))
    # To first order the prior moves the optimum by C times its gradient.
    shift = (
        covariance_of(
            best.equations.curvature / variance + prior.curvature(best.theta, family.layout(*best.theta.A.shape))
        )
        @ push
    )
    return float((np.abs(shift) / np.sqrt(np.maximum(np.diag(spread), 1e-300))).max())


def _constant_fit(source: Source, problem: TableProblem) -> ConstantFit:
    """Return what the target alone says."""
    moments = source.moments
    mass = moments.mass * problem.frame.weight_scale
    logs = 0.0
    weight = problem.observed.rows.weight
    if problem.choices.weights == "precision" and weight is not None:
        logs = 0.5 * float(np.log(weight[weight > 0]).sum()) * source.n_rows / len(weight)
    if problem.family.labels:
        share = np.clip(np.array([0.5 * (1 + moments.y_mean), 0.5 * (1 - moments.y_mean)]), 1e-300, 1)
        return ConstantFit(mass * float(share @ np.log(share)), moments.y_variance, logs)
    variance = max(moments.y_variance, np.finfo(np.float64).tiny)
    return ConstantFit(-0.5 * mass * (float(np.log(2 * np.pi * variance)) + 1), moments.y_variance, logs)


def _half_weight(problem: TableProblem, best: Refined) -> float:
    """Return the deviance that a unit of half the strength would explain, over BIC's price of its parameters.

    As if nothing of it were in the span of the others. Where many units look like one, none of them is worth its price.
    """
    family, n = problem.family, problem.mass
    theta, X, weight = best.theta, problem.rows.X, problem.rows.weight
    values = family.activation.value(X @ theta.A.T + theta.b)
    # A unit explains u^2 Var f(z) per row; half the weight explains a quarter of that.
    spread = np.average((values - np.average(values, axis=0, weights=weight)) ** 2, axis=0, weights=weight)
    n_parameters = family.n_parameters(len(theta.u), problem.n_features)
    noise = 2 * best.loss / best.mass * n / max(n - n_parameters, 1)
    price = (n_parameters - family.n_parameters(len(theta.u) - 1, problem.n_features)) * np.log(n)
    return float(n * np.median(0.25 * theta.u**2 * spread) / max(noise, 1e-300) / price)


def _on_all_rows(source: Source, problem: TableProblem, settled: Settled) -> Refined:
    """Polish on the rows that the search did not see: the sample's curvature, scaled, leaves a few gradient passes.

    That of all rows would cost a pass of four times the length and save none.
    """
    found = settled.optima.best
    mass = source.moments.mass * problem.frame.weight_scale
    if source.n_rows <= len(problem.rows.y) or problem.mass >= mass:
        return found
    family, frame, scale = problem.family, problem.frame, mass / problem.mass
    assert found.equations.curvature is not None  # a polished optimum carries one
    return polish(
        lambda theta, _: source.reduce(FrameGradient(family, theta, frame)),
        family,
        found.theta,
        prior=problem.last_prior if settled.bounded else LOOSE,
        metric=frame.metric,
        curvature=found.equations.curvature * scale,
        renew=lambda theta: problem.curvature(theta) * scale,
        tolerance=1e-3,
    )


def _canonical_errors(theta: Parameters, family: Family, covariance: Floats) -> StandardErrors:
    """Return the standard errors of the canonical form (of the model as it is, where turning needs an intercept)."""
    model = theta.to_model(family.activation)
    ordered = None if family.activation.saturates else model.plain()
    if ordered is not None:  # units that grow stay as they are: turning one would need a linear term
        turn = _canonical_matrix(model, family)
        return StandardErrors(ordered, family, turn @ covariance @ turn.T)
    if not family.intercept and family.activation.middle != 0:
        return StandardErrors(model, family, covariance)
    turn = _canonical_matrix(model, family)
    return StandardErrors(model.canonical(), family, turn @ covariance @ turn.T)


def _canonical_matrix(raw: SigmoidCombination, family: Family) -> Floats:
    """Return the (size, size) derivative of ``model.canonical()`` in the flat parameters."""
    layout = family.layout(*raw.units.shape)
    turns = family.activation.odd_form is not None
    sign = np.where((raw.weights < 0) & turns, -1.0, 1.0)
    order = np.argsort(-np.abs(raw.weights), kind="stable")
    # A turned unit has -a, -b and -u; for f shifted at c, u f(z) = 2 c u - u f(-z), which the intercept takes up.
    M = np.zeros((layout.size, layout.size))
    for place, unit in enumerate(order):
        M[layout.a(place), layout.a(int(unit))] = sign[unit] * np.eye(layout.n_features)
    turned = np.diag(sign)[order]
    M[layout.weights, layout.weights] = turned
    if family.offsets:
        M[layout.b, layout.b] = turned
    M[layout.c, layout.weights] = 2 * family.activation.middle * (sign < 0) if turns else 0.0
    M[layout.c, layout.c] = 1.0
    return M
