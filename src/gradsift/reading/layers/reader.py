"""Several hidden layers, from the first one up: planes, upper layers, slopes, all at once, certificate."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ...activations import Activation
from ...arguments import Floats
from ...certificate import BOUND, DEEP, DEEP_COARSE, DeepLimits, Evidence, Verdict
from ...certificate import shared_rules as shared
from ...errors import BudgetSpent, NotIdentifiable
from ...fit.jacobian import Layers
from ...tuned import TRIES
from ..ledger import EPS, Ledger
from ..odd_form import Link, link_of
from ..question import PLATEAUS, Narrowing, Question, attempted
from ..rays import ask_rays
from ..result import Reading
from .crossings import find_between, find_planes, read_slopes, reading_of
from .hyperplanes import FirstLayer, ask_again, known_signs, no_planes
from .layer_certificate import fresh_points, how_far_off, judge, near_points
from .layer_fit import (
    LayerFit,
    canonical,
    fit_by_descent,
    fit_layers,
    merge_units,
    most_informative,
    to_network,
    with_faint_raised,
)
from .settings import POLICY
from .student_search import StudentFit, StudentTests, search_student
from .upper_layers import FirstLayerScale, StudentNet


@dataclass
class _State:
    """What is known so far, for the result or for what is returned when it breaks off."""

    first: FirstLayer
    lesson: StudentFit | None = None
    layers: Layers | None = None
    notes: list[str] = field(default_factory=list)


def identify_deep(ledger: Ledger, link: Link, rng: np.random.Generator, n_layers: int | None = None) -> Reading:
    """Find all layers of a network of sigmoids with plateaus; depth and widths need not be given.

    Parameters
    ----------
    ledger : Ledger
        With exact answers; what it holds already is used, too.
    link : Link
        Of the activation: tanh, logistic or erf.
    n_layers : int, optional
        Hidden layers, if they are known: two or three.

    Raises
    ------
    NotIdentifiable
        The function has no such layers, or they cannot be told apart; carries what was found.
    BudgetSpent
        Carries what was found.

    Notes
    -----
    Far out all units of the first layer stand still, and the answer depends on their signs only. So their hyperplanes
    are read where one unit at a time moves (``crossings``, ``hyperplanes``); the layers above are learnt at vertices
    of the cube of signs (``student_search``), before slopes and offsets of the first layer, which follow on its edges
    (``edges``). About 2 to 7 queries per unknown.
    """
    state = _State(no_planes(ledger.n_features, 1.0))
    try:
        return _identify(ledger, link, rng, n_layers, state)
    except BudgetSpent as spent:
        raise BudgetSpent(str(spent), _partial(ledger, link, state, str(spent))) from None


def _identify(ledger: Ledger, link: Link, rng: np.random.Generator, n_layers: int | None, state: _State) -> Reading:
    step = min(float(ledger.tolerance(0.0)) / max(ledger.largest, 1e-300), 1e-3)
    seen = link if ledger.eps == EPS else link.with_precision(step, ledger.eps)
    rays = ask_rays(ledger, seen, rng)
    if ledger.linear is not None:
        raise NotIdentifiable(
            f"Beside a linear term ({ledger.n_queries} queries) several hidden layers cannot be read: rounding leaves "
            "too little of their plateaus far out; subtract it inside the oracle."
        )
    radius = reading_of(ledger).far * rays.scale
    state.first = no_planes(ledger.n_features, POLICY.margin * rays.scale)
    for attempt in range(POLICY.tries):
        state.first = find_planes(ledger, state.first, radius, rng)
        ask_again(ledger, state.first, radius, POLICY.asked_again * len(state.first), rng)
        apart = _at_rest(ledger, radius, state, rng)
        if not len(state.first):
            raise NotIdentifiable(
                f"No step on a far circle is a unit of a first layer of {link.activation.name} ({ledger.n_queries} "
                "queries): units in nearly parallel pairs, or another activation."
            )
        if apart > ledger.tolerance(radius):
            state.notes.append(f"attempt {attempt + 1}: equal signs with answers {apart:.2g} apart")
            continue
        judges = StudentTests(
            partial(_accepts, ledger, state.first, radius, link.odd),
            partial(_fits_answers, ledger, state.first, radius, link.odd, rng),
        )
        state.lesson = search_student(ledger, state.first, radius, link.odd, n_layers, judges, rng)
        if state.lesson.explained:
            return _finish(ledger, link, rng, radius, state)
        n_units = len(state.first)
        state.first = find_planes(ledger, state.first, radius, rng)
        if len(state.first) == n_units:
            break
        state.lesson = None  # the first layer was not complete
    if state.lesson is None:
        raise NotIdentifiable(
            f"{len(state.first)} hyperplanes were found, but answers with the same signs differ ({ledger.n_queries} "
            "queries): the first layer has units that could not be read, in nearly parallel pairs or of another kind.",
            _partial(ledger, link, state, "The first layer is not complete"),
        )
    tried = ", ".join("x".join(map(str, t)) for t in dict.fromkeys(state.lesson.tried))
    cause = "more or steeper units above, nearly equal ones, or another kind of function"
    if state.lesson.student.scale is None and state.lesson.left < POLICY.faint_left:  # on vertices: no other floor
        cause = "units above that are at rest almost everywhere, or nearly equal ones"
    reason = (
        f"{len(state.first)} units of the first layer were found, but no student of its {len(state.first)} signs "
        f"explains the answers ({ledger.n_queries} queries; tried {tried} units; the best leaves "
        f"{state.lesson.left:.2g} of their spread): {cause}."
    )
    raise NotIdentifiable(reason, _partial(ledger, link, state, reason))


def _at_rest(ledger: Ledger, radius: float, state: _State, rng: np.random.Generator) -> float:
    """Make equal signs have equal answers far out, and return by how much they still differ.

    Either a unit is missing, and its hyperplane passes between two places with equal signs and different answers; or a
    slow unit that no ray showed needs more room than the others to stand still.
    """
    apart, n_wider = np.inf, 0
    for _ in range(POLICY.most_rounds):
        vertices = known_signs(ledger, state.first, 0.5 * radius)
        apart = vertices.apart
        if apart <= ledger.tolerance(radius) or n_wider > TRIES:
            break
        found = find_between(ledger, state.first, vertices.between, radius, rng)
        if len(found) == len(state.first):
            found, n_wider = found.wider(), n_wider + 1
        state.first = found
    return apart


def _accepts(ledger: Ledger, first: FirstLayer, radius: float, g: Activation, student: StudentNet) -> bool:
    """Say whether a student is right: with a scale it may explain its rows to the digits that directions are known to,
    and lead to nothing once these may move, too."""
    if student.scale is None:
        return True
    limits = DEEP if ledger.eps == EPS else DEEP_COARSE
    return _fit_from(ledger, radius, _joined(first, student.scale, student.layers), g, limits).worst < limits.promising


def _fits_answers(
    ledger: Ledger, first: FirstLayer, radius: float, g: Activation, rng: np.random.Generator, student: StudentNet
) -> bool:
    """Say whether a student of the vertices that stopped short of their rounding meets all answers in the end."""
    limits = DEEP if ledger.eps == EPS else DEEP_COARSE
    scale = read_slopes(ledger, first, student.layers, g, 0.3 * radius, rng)
    rows = _within(ledger, radius, g)
    return _fitted(_joined(first, scale, student.layers), rows, limits).worst < limits.promising


def _joined(first: FirstLayer, scale: FirstLayerScale, upper: Layers) -> Layers:
    slopes = np.exp(scale.log_slopes)
    return [(slopes[:, None] * first.normals, scale.offsets - slopes * first.offsets), *upper]


def _all_layers(ledger: Ledger, link: Link, rng: np.random.Generator, radius: float, state: _State) -> Layers:
    """Return all layers from planes and student."""
    first, lesson = state.first, state.lesson
    if lesson is None:
        raise ValueError("the layers above the first are not known")
    scale = lesson.student.scale
    if scale is None:
        scale = read_slopes(ledger, first, lesson.student.layers, link.odd, 0.3 * radius, rng)
    return _joined(first, scale, lesson.student.layers)


class _Answered(NamedTuple):
    """What a fit of all layers is given: inputs, answers, the odd sigmoid, and the rounding of the answers."""

    X: Floats
    y: Floats
    g: Activation
    eps: float


def _within(ledger: Ledger, radius: float, g: Activation) -> _Answered:
    """Return the answers but for those far beyond the circles, which magnify errors of directions."""
    within = np.linalg.norm(ledger.X, axis=1) <= 2 * radius
    return _Answered(ledger.X[within], ledger.y[within], g, ledger.eps)


def _fitted(layers: Layers, rows: _Answered, limits: DeepLimits) -> LayerFit:
    """Fit all layers; where that fails, from larger weights of faint units, too."""
    fit = fit_layers(layers, *rows)
    for factor in POLICY.raised_weights:
        start = with_faint_raised(fit.layers, rows.X, rows.y, rows.g, factor)
        if fit.worst < limits.residuals or start is None:
            break
        fit = _better(fit, fit_layers(start, *rows))
    return fit


def _fit_from(ledger: Ledger, radius: float, layers: Layers, g: Activation, limits: DeepLimits) -> LayerFit:
    """Fit all layers to the answers within the circles, by all means."""
    rows = _within(ledger, radius, g)
    fit = _fitted(layers, rows, limits)
    for start in (layers, fit.layers):  # undamped steps may have led away, or nearer
        if fit.worst < limits.residuals:
            break
        fit = _better(fit, fit_layers(fit_by_descent(start, *rows), *rows))
    return fit


def _better(one: LayerFit, other: LayerFit) -> LayerFit:
    return min(one, other, key=lambda fit: np.nan_to_num(fit.chi, nan=np.inf))


def _finish(ledger: Ledger, link: Link, rng: np.random.Generator, radius: float, state: _State) -> Reading:
    """Fit all layers to all answers, ask near the origin, fit again, and judge by fresh points."""
    g, eps, limits = link.odd, ledger.eps, DEEP if ledger.eps == EPS else DEEP_COARSE
    layers = _all_layers(ledger, link, rng, radius, state)
    # Near points tell slopes and offsets of the first layer, and must leave answers to spare.
    n_near = 2 * len(state.first) + limits.spare_answers
    n_near = max(n_near, int(POLICY.near_per_unknown * sum(W.size + b.size for W, b in layers)))
    fit: LayerFit | None = None
    for spread in POLICY.spreads:
        n_offered = n_near if fit is None else POLICY.choices * n_near
        offered = near_points(layers, n_offered, spread, rng)
        ledger.ask(offered if fit is None else most_informative(fit, offered, n_near, g, eps), "all layers")
        if fit is None:
            layers = _fit_from(ledger, radius, layers, g, limits).layers
        fit = _without_spare_units(fit_layers(layers, ledger.X, ledger.y, g, eps), ledger, g, limits)
        layers = state.layers = fit.layers
        aside = fit.open_units(limits.error_bound / BOUND)
        worst = BOUND * max(float(e.max()) for e in fit.errors_beside(aside))
        if worst < limits.error_bound or not fit.worst < limits.promising:
            break
    if fit is None:
        raise ValueError("no round of points near the origin is asked for")
    points = fresh_points(fit.layers, radius, POLICY.fresh, rng)
    answers = ledger.ask(points, "fresh")
    off = how_far_off(fit, points, answers, g, eps)
    # Errors are named by the order of units in a canonical network.
    fit = fit_layers(canonical(fit.layers), ledger.X, ledger.y, g, eps)
    state.layers = fit.layers
    return _result(ledger, link, fit, judge(fit, off, len(points), ledger, g, limits), limits, state)


def _without_spare_units(fit: LayerFit, ledger: Ledger, g: Activation, limits: DeepLimits) -> LayerFit:
    """Drop units above the first layer as long as the answers do not determine all, and are met by fewer."""
    for _ in range(sum(len(b) for _, b in fit.layers)):
        if fit.worst >= limits.promising or max(float(e.max()) for e in fit.relative_errors) < POLICY.undetermined:
            break
        fewer = merge_units(fit, ledger.X, ledger.y, g, ledger.eps, limits.promising)
        if fewer is None:
            break
        fit = fewer
    return fit


def _result(ledger: Ledger, link: Link, fit: LayerFit, verdict: Verdict, limits: DeepLimits, state: _State) -> Reading:
    network = to_network(fit.layers, link)
    aside = fit.open_units(limits.error_bound / BOUND)
    relative = fit.errors_beside(aside)
    relative[-2][aside] = np.inf
    errors = {f"layer {i + 1}": e for i, e in enumerate(relative)}
    diagnostics: dict[str, Any] = {
        "chi": fit.chi, "layers": len(network.widths), "widths": list(network.widths),
        "notes": list(state.notes), "smallest_angle": _smallest_angle(state.first.normals),
        "at_rest": aside, "normals": state.first.normals,
        "students": [] if state.lesson is None else [list(t) for t in state.lesson.tried],
    }  # fmt: skip
    own = Evidence(
        verdict.found, ledger.n_queries, fit.chi, own=verdict.checks, errors=errors,
        bounds=BOUND * np.concatenate(relative), spent=dict(ledger.spent), notes=diagnostics,
    )  # fmt: skip
    return Reading(network, verdict, own)


def _smallest_angle(normals: Floats) -> float:
    cosines = np.abs(normals @ normals.T) - np.eye(len(normals))
    return float(np.arccos(np.clip(cosines.max(initial=0.0), 0.0, 1.0)))


def _partial(ledger: Ledger, link: Link, state: _State, reason: str) -> Reading | None:
    """Return the best network so far, uncertified; None before the planes and a student are known. No queries."""
    layers = state.layers
    if layers is None and state.lesson is not None and len(state.first):
        slopes = np.array([2 / p.width for p in state.first.planes])
        scale = state.lesson.student.scale or FirstLayerScale(np.log(slopes), np.zeros(len(slopes)))
        layers = _joined(state.first, scale, state.lesson.student.layers)
    if layers is None:
        return None
    network = to_network(layers, link)
    unknown = [np.full(len(b), np.nan) for _, b in layers]
    verdict = Verdict((shared.finished(reason),), f"{len(state.first)} units of the first layer found", "")
    left = None if state.lesson is None else state.lesson.left
    own = Evidence(
        errors={f"layer {i + 1}": e for i, e in enumerate(unknown)}, bounds=np.concatenate(unknown),
        spent=dict(ledger.spent),
        notes={"left": left, "widths": list(network.widths), "normals": state.first.normals},
    )  # fmt: skip
    return Reading(network, verdict, own)


def read_layers(question: Question, ledger: Ledger, rng: np.random.Generator) -> Reading:
    """Read layers of the first activation that is still possible; a refusal leaves the others."""
    name, *others = question.of_kinds(PLATEAUS)
    if not question.precision.is_exact:
        # Far out on slopes, coarse answers say too little about arguments for a fit that begins with some digits.
        ledger.clear_rows()
    ledger.limit(None)
    given = len(question.depths) == 1
    found = attempted(lambda: identify_deep(ledger, link_of(name), rng, min(question.depths) if given else None))
    if isinstance(found, NotIdentifiable):
        if others and found.rules_out is None:
            found.rules_out = Narrowing(frozenset({name}))
        raise found
    return found.with_note(
        depth=f"{min(question.depths)} hidden layers were given" if given
        else "opposite points far out do not cancel, as they do with one hidden layer"
    )  # fmt: skip
