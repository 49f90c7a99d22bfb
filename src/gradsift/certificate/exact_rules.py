"""Exact or finely rounded answers: what a reader of them hands over, the checks, and the one certificate."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from .check import Check, Verdict, make, n_of
from .limits import BOUND, OUTPUTS, ExactLimits


def residuals(
    chi: float,
    n_answers: int,
    limits: ExactLimits,
    limit: str = "rounding",
    cause: str = "another activation, or a unit that was not separated",
) -> Check:
    """Whether all answers agree with the network; chi is the worst residual over its error, which `limit` makes."""
    error = f"the {limit} error" if limit == "rounding" else f"their {limit}"
    return make(
        "residuals", chi, "<", limits.residuals,
        f"all {n_answers} answers agree within {chi:.2g} times {error}",
        f"the worst of {n_answers} answers misses the network by {chi:.3g} times {error} ({cause})",
        "Try activation='auto' or another seed; if answers are noisy or rounded, say so with noise=.",
    )  # fmt: skip


def output(number: int, chi: float, n_answers: int) -> Check:
    """Whether one output is a sum of the units that were found; chi is its worst residual over its rounding error."""
    return make(
        f"output {number}", chi, "<", OUTPUTS.residuals,
        f"{n_answers} answers of output {number} agree within {chi:.2g} times their rounding error",
        f"the worst of {n_answers} answers of output {number} misses the network by {chi:.3g} times its rounding error "
        "(a unit that this output alone has, or another kind of output)",
        f"Recover this output alone: oracle.projected with a one in place {number}.",
    )  # fmt: skip


def close_to(n_missed: int, n_answers: int, worst: float) -> Check:
    """Whether no answers had to be set aside, near the origin, where units alone do not explain them."""
    return make(
        "nothing left over", n_missed, "<=", 0,
        "the units explain all answers",
        f"something else is left over near the origin, of size {worst:.2g}: {n_missed} of {n_answers} answers "
        "(a bump, a rule, or parallel units that cancel elsewhere)",
        "Look at the input named in .verification, and stay away from such inputs or subtract what is there.",
    )  # fmt: skip


def fresh_answers(
    n: int, worst: float, relative: bool = False, where: str = "", *, limits: ExactLimits, limit: str = "rounding"
) -> Check:
    """Whether answers that were not fitted yet are as foretold; `worst` is relative, or over what `limit` and the
    errors of the parameters explain."""
    off, times = ("a relative ", "") if relative else ("", f" times what {limit} explains")
    cause = "" if relative else " (another activation, a deeper network, or a unit that was not found)"
    return make(
        "fresh points", worst, "<=", limits.fresh_points,
        f"{n_of(n, 'fresh point')}{where} are met to {off}{worst:.2g}{times}",
        f"fresh points are missed by {off}{worst:.3g}{times}{cause}",
        "Try activation='auto' or another seed.",
    )  # fmt: skip


def error_bound(
    worst: float, limits: ExactLimits, unit: str = "a unit (precision limit)", limit: str = "rounding"
) -> Check:
    """Whether `limit` leaves enough digits of every parameter; `worst` is the largest error bound, of `unit`."""
    return make(
        "error bound", worst, "<=", limits.error_bound,
        f"{limit} leaves a relative error of at most {worst:.1g} ({BOUND:g} standard errors)",
        f"{limit} leaves a relative error of up to {worst:.2g} ({BOUND:g} standard errors) in {unit}",
        "Rescale the inputs, or accept the standard errors: the function is known better than this unit.",
    )  # fmt: skip


def linear_term_error(relative_error: float, limits: ExactLimits, limit: str = "rounding") -> Check:
    """Whether `limit` leaves enough digits of the linear term."""
    return make(
        "linear term", relative_error, "<=", limits.error_bound,
        f"{limit} leaves a relative error of at most {relative_error:.1g} in the linear term",
        f"{limit} leaves a relative error of up to {relative_error:.2g} in the linear term",
        "Rescale the inputs, or subtract the linear term inside the oracle.",
    )  # fmt: skip


def spare_answers(n_spare: int, limits: ExactLimits) -> Check:
    """Whether there are more answers than unknowns, so that agreement means something."""
    return make(
        "spare answers", n_spare, ">=", limits.spare_answers,
        f"{n_of(n_spare, 'answer')} are left over for checking",
        f"only {n_of(n_spare, 'answer')} are left over for checking, {limits.spare_answers} are needed",
        "Allow more queries (max_queries).",
    )  # fmt: skip


def smallest_weight(faintest: float, limits: ExactLimits) -> Check:
    """Whether every unit has a weight that counts; the smallest over the largest."""
    return make(
        "negligible weight", faintest, ">=", limits.negligible_weight,
        f"the smallest weight is {faintest:.2g} of the largest",
        f"a unit has the negligible weight {faintest:.2g}, over the largest",
        "Such a unit may be made of rounding errors: try another seed, and see whether it stays.",
    )  # fmt: skip


class Fresh(NamedTuple):
    """Answers that were foretold before they were asked for.

    n : how many
    worst : the largest miss, over what was to be expected
    relative : the miss is relative instead
    where : at which inputs
    """

    n: int
    worst: float
    relative: bool = False
    where: str = ""


@dataclass(frozen=True)
class Evidence:
    """All that speaks for a network that was found; a rule whose number is None is not asked.

    Attributes
    ----------
    what : str
        What was found, as "3 units and a linear term".
    n_answers : int
        All that were compared with it.
    residual : float or None
        The worst of them over its expected error.
    fresh : Fresh or None
    bound : float or None
        The largest error bound of a parameter: `BOUND` standard errors, relative.
    worst_unit : str
        Whose bound it is, and what makes that unit hard to know.
    linear : float or None
        The error bound of the linear term, relative.
    spare : int or None
        Answers beyond one for each unknown and whatever else is fitted.
    faintest : float or None
        The smallest weight over the largest.
    own : tuple of Check
        Rules that only this reader can ask.
    limit, cause : str
        What limits the answers, and what a miss is usually made by.
    where, kept, rest : str
        Of the claim: where it holds, what the bound is on, and its end.
    errors : dict of arrays
        Standard errors by parameter, in the coordinates in which the network was read.
    bounds : (k,) array
        Error bound of each unit, there.
    noise : float or None
        Standard deviation of the answers' noise, as all of them have shown it.
    mean_error : float or None
        How well the mean of labels is known.
    blind_angle : float
        Degrees within which a second unit beside a found one would not have shown.
    spent : dict
        Queries by step.
    notes : dict
        Plain numbers about the run, for reports: nothing is decided by them.
    """

    what: str = ""
    n_answers: int = 0
    residual: float | None = None
    fresh: Fresh | None = None
    bound: float | None = None
    worst_unit: str = "a unit (precision limit)"
    linear: float | None = None
    spare: int | None = None
    faintest: float | None = None
    own: tuple[Check, ...] = ()
    limit: str = "rounding"
    cause: str = "another activation, or a unit that was not separated"
    where: str = ""
    kept: str = "a relative error"
    rest: str = ""
    errors: Mapping[str, Any] = field(default_factory=dict)
    bounds: Any = ()
    noise: float | None = None
    mean_error: float | None = None
    blind_angle: float = 0.0
    spent: Mapping[str, int] = field(default_factory=dict)
    notes: Mapping[str, Any] = field(default_factory=dict)


def certify(evidence: Evidence, limits: ExactLimits) -> Verdict:
    """Return the verdict: the rules that all readers share, as far as there is evidence, and then the reader's own."""
    e = evidence
    checks = (
        None if e.residual is None else residuals(e.residual, e.n_answers, limits, e.limit, e.cause),
        None if e.fresh is None else fresh_answers(*e.fresh, limits=limits, limit=e.limit),
        None if e.bound is None else error_bound(e.bound, limits, e.worst_unit, e.limit),
        None if e.linear is None else linear_term_error(e.linear, limits, e.limit),
        None if e.spare is None else spare_answers(e.spare, limits),
        None if e.faintest is None else smallest_weight(e.faintest, limits),
        *e.own,
    )
    return Verdict(tuple(c for c in checks if c is not None), found=f"{e.what} found{e.where}", claim=_claim(e))


def _claim(e: Evidence) -> str:
    says = f"{e.where.lstrip()} all {e.n_answers} answers agree with {e.what}".lstrip()
    if e.residual is not None:
        met = e.residual if e.fresh is None or e.fresh.relative else max(e.residual, e.fresh.worst)
        says += f" within {met:.2g} times what {e.limit} explains"
    if e.fresh is not None:
        says += f", {e.fresh.n} of them at fresh points{e.fresh.where}"
    if e.bound is not None:
        says += f", and {e.limit} leaves {e.kept} of at most {e.bound:.1g} ({BOUND:g} standard errors)"
    return says + e.rest


def crossings_as_foretold(n_missed: int, n: int, least: int, within: float) -> Check:
    """Whether the decision changes where it was foretold, on lines that were used for nothing else."""
    if n < least:
        return make(
            "fresh crossings", n, ">=", least, "",
            f"only {n_of(n, 'line')} between usual inputs are foretold to cross the boundary, {least} are needed",
            "One class is rare: give typical rows of all classes with inputs=.",
        )  # fmt: skip
    return make(
        "fresh crossings", n_missed, "<=", 0,
        f"on {n_of(n, 'fresh line')} the decision changes within {within:.1g} of where it was foretold",
        f"on {n_missed} of {n_of(n, 'fresh line')} the decision does not change where it was foretold",
        "The box has something beside these units: another seed may find it; or it is no network of one hidden layer.",
    )  # fmt: skip


def determined(is_singular: bool, n_unknowns: int) -> Check:
    """Whether the crossings determine every parameter but the common factor."""
    return make(
        "no singular information", int(is_singular), "<=", 0,
        f"the crossings determine all {n_of(n_unknowns, 'parameter')}",
        "some parameter is not determined by the boundary that was met",
        "A unit may be open: its hyperplane is met at one place of the boundary only.",
    )  # fmt: skip


def decided_alike(n: int, n_different: int, share: float) -> Check:
    """Whether typical inputs are decided as the network has it; `share` is the bound of 95% on those that are not."""
    return make(
        "decided alike", n_different, "<=", 0,
        f"{n_of(n, 'typical input')} are decided alike: less than {100 * share:.2g}% of such inputs are decided "
        "otherwise (95%)",
        f"{n_different} of {n_of(n, 'typical input')} are decided otherwise than by the network",
        "The box has something beside these units: look at the input in .verification.where.",
    )  # fmt: skip
