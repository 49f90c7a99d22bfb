"""The reader of several hidden layers of ReLU: layer by layer from the inputs, all at once, certificate."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from ...errors import BudgetSpent, NotIdentifiable
from ...tuned import LEAST_GAIN, SHARE, TRIES
from ..ledger import Ledger
from ..question import SHARP, Narrowing, Question, names_of
from ..result import Reading
from .box import Box
from .deep_certificate import MisfitInputs, certified, fit_with_worst, misfit_inputs, partial_reading
from .deep_fit import Deep, free_parameters
from .feature_map import FeatureMap
from .first_layer import read_first_layer
from .line_scan import StraightLine
from .next_layer import NextLayer, Side, search_lines, without_combination
from .settings import RELU_LAYERS
from .surfaces import active_points, further_line, informative_points, is_within_reach, lines_for
from .unit_signs import LastLayer, Signs, fit_last_layer, signs_from_cells, signs_from_gradients, signs_from_rows


@dataclass
class _LayersRead:
    """What is known so far, for the result or for what is returned when it breaks off.

    Attributes
    ----------
    phi : FeatureMap
        Layers whose signs are known, or all but the last one's.
    layer : NextLayer
        Rows of the layer above.
    scale : float
        Typical distance of a hyperplane of the first layer from the origin.
    notes : list of str
    """

    box: Box
    phi: FeatureMap = field(default_factory=lambda: FeatureMap([]))
    layer: NextLayer = field(default_factory=lambda: NextLayer.empty(0))
    scale: float = 1.0
    notes: list[str] = field(default_factory=list)

    @property
    def widths(self) -> tuple[int, ...]:
        """Units of the layers read so far."""
        return (*self.phi.widths, self.layer.k) if self.layer.k else self.phi.widths


def read_relu_layers(question: Question, ledger: Ledger, rng: np.random.Generator) -> Reading:
    """Find all layers of a network of ReLU or leaky ReLU units; depth and widths need not be given.

    Kinks on lines are where straight pieces meet. Those of the first layer lie on hyperplanes; a unit of the
    next layer obeys linear equations in what the known layers make of the inputs: those of a jump of the gradient, and
    one from each bend of its surface. About 3 to 15 queries per unknown.

    Raises
    ------
    NotIdentifiable
        The function has no such layers, or they cannot be told apart; carries the layers that were read.
    BudgetSpent
        The same.
    """
    if ledger.n_features < 2:
        raise NotIdentifiable("With one input several layers of ReLU units are the same function as one.")
    ledger.limit(None)  # what one layer should cost says nothing here
    notes: list[str] = []
    state = _LayersRead(Box(ledger, rng))
    for number in range(RELU_LAYERS.attempts):
        state = _LayersRead(Box(ledger, rng))
        try:
            outcome = _attempt(state, question)
        except BudgetSpent as spent:
            raise BudgetSpent(str(spent), partial_reading(state.phi, state.layer, ledger, str(spent))) from None
        if isinstance(outcome, Reading):
            return outcome.with_note(attempts=number + 1, notes=notes)
        notes.append(outcome.because)
        if outcome.final:
            break
    widths = ", ".join(map(str, state.widths)) or "no"
    because = (
        f"{notes[-1]} ({ledger.n_queries} queries in {len(notes)} attempts; layers with {widths} units were read by "
        "the last one)."
    )
    raise NotIdentifiable(
        because, partial_reading(state.phi, state.layer, ledger, because), rules_out=Narrowing(names_of(SHARP))
    )


@dataclass(frozen=True)
class _Failure:
    """Why an attempt found no network; `final`: no other attempt would."""

    because: str
    final: bool = False


def _attempt(state: _LayersRead, question: Question) -> Reading | _Failure:
    """Read all layers once."""
    box = state.box
    box.find_reach()
    first = read_first_layer(box, RELU_LAYERS.far * box.reach)
    if not first.k:
        kinks = first.n_deeper + first.n_lost
        what = f"{kinks} kinks, none of which lies on a hyperplane" if kinks else "no sharp kinks"
        return _Failure(f"On {TRIES} paths far out there are {what}", final=True)
    state.scale = 1.5 * first.radius
    sides = [Side(i, c.point, c.way, c.before, c.after) for i, c in enumerate(first.crossings)]
    state.layer = NextLayer(first.A, first.b, sides)
    box.ledger.n_units = first.k
    failure, n_fitted = None, 0
    while failure is None and n_fitted <= RELU_LAYERS.members:
        last = fit_last_layer(box, state.phi, state.layer)
        if last.fits:
            outcome = _finish(state, last, question)
            if outcome is not None:
                return outcome
            n_fitted += 1
        elif n_fitted:  # the last layer, of which random inputs showed another unit
            failure = _read_next_layer(state)
        else:
            failure = _settle_signs(state) or _read_next_layer(state)
    return failure or _Failure(f"Random inputs showed {n_fitted} times that {state.widths} units are too few")


def _settle_signs(state: _LayersRead) -> _Failure | None:
    """Add the layer whose rows are known to the map below the next one; without signs if gradients do not tell them."""
    if state.phi.layers:
        state.layer = without_combination(state.box, state.phi, state.layer, state.scale)
    signs = signs_from_gradients(state.phi, state.layer)
    if state.phi.layers:
        signs = signs._replace(slope=state.phi.slope)
    if state.phi.layers and not signs.known and not signs.slope:
        points = active_points(state.box, state.phi, state.scale, 2 * TRIES)
        signs = signs_from_cells(state.phi, state.layer, signs, state.box, points)
    if signs.known:
        _sign_layer(state, signs)
        return None
    state.phi = state.phi.with_layer(state.layer.rows, state.layer.offsets, signed=False)
    state.layer = NextLayer.empty(state.phi.n_features_of(state.box.d))
    return _search(state, until_signs=True)


def _sign_layer(state: _LayersRead, signs: Signs) -> None:
    """Add the rows of the layer with their signs to the map."""
    rows, offsets = state.layer.rows * signs.signs[:, None], state.layer.offsets * signs.signs
    state.phi = replace(state.phi.with_layer(rows, offsets), slope=signs.slope)
    state.layer = NextLayer.empty(len(offsets))


def _read_next_layer(state: _LayersRead) -> _Failure | None:
    """Find the units of the layer above the map, until all answers fit or all further kinks lie deeper."""
    return _search(state, until_signs=False)


def _search(state: _LayersRead, *, until_signs: bool) -> _Failure | None:
    box, phi, layer = state.box, state.phi, state.layer
    box.ask(informative_points(box, phi, state.scale), "kinks of segments")
    todo = lines_for(box, phi, state.scale)
    n_idle, last = 0, None
    for number in range(RELU_LAYERS.rounds + len(todo)):
        line = _next_line(state, last, todo, number)
        before = layer.k
        search_lines(box, phi, layer, [line], state.scale)
        box.ledger.n_units = sum(state.widths)
        n_idle = n_idle + 1 if layer.k == before else 0
        if until_signs:
            if _signs_settled(state):
                return None
            if number + 1 == TRIES**2:
                break
            continue
        last = fit_last_layer(box, phi, layer)
        if last.fits and (last.is_plain or (not todo and _may_be_always_active(box, phi, n_idle))):
            return None
        if n_idle >= RELU_LAYERS.brief and layer.n_deeper >= TRIES - 1 and layer.k:
            return None
        if n_idle > TRIES * RELU_LAYERS.brief and not todo:
            break
    depth = len(phi.layers) + 1
    if until_signs:
        return _Failure(f"The signs of layer {depth - 1} do not come out of {layer.k} units of the next one")
    return _Failure(
        f"Layer {depth} does not end: {layer.k} units were found, {layer.n_deeper} kinks lie deeper, the surfaces of "
        f"{layer.n_open} could not be followed, and {0 if last is None else last.share:.0%} of the answers fit"
    )


def _next_line(state: _LayersRead, last: LastLayer | None, todo: list[StraightLine], number: int) -> StraightLine:
    """Return the next segment to search: towards an answer that does not fit, one of the plan, or a random one."""
    line = None
    if number % 2 or (last is not None and last.share > SHARE):
        line = _segment_to_misfit(state.box, last)
    if line is None:
        line = todo.pop(0) if todo else further_line(state.box, state.phi, state.scale, number)
    return line


def _may_be_always_active(box: Box, phi: FeatureMap, n_idle: int) -> bool:
    """Say whether a linear term may be made by units that are always active, and not by one whose kink was missed.

    A tour of the axes of the features meets every kink; elsewhere many segments must have brought nothing. Leaky units
    of a layer take all values, so that no unit above a layer of independent rows is always active.
    """
    return not phi.slope and (is_within_reach(phi, box.d) or n_idle >= TRIES * RELU_LAYERS.brief)


def _signs_settled(state: _LayersRead) -> bool:
    """Settle the signs of the last known layer from rows of the next one, and keep these rows."""
    phi, layer = state.phi, state.layer
    weights, offsets = phi.layers[-1]
    settled = signs_from_rows(layer.rows, weights, state.box.rng)
    if settled is None:
        return False
    signs, k = settled.signs, len(offsets)
    below = phi.below().with_layer(weights * signs.signs[:, None], offsets * signs.signs)
    state.phi, state.layer = replace(below, slope=signs.slope), layer.only(settled.agree)
    # V |z| + G h with G = V diag(rho s) W is V (|z| + rho s z), less rho V s b, and a multiple of the unit's own
    # weights on active(s z).
    V, rho = state.layer.rows[:, :k], (1 + signs.slope) / (1 - signs.slope)
    state.layer.offsets = state.layer.offsets - rho * V @ (signs.signs * offsets)
    state.layer.rows = 2 / (1 - signs.slope) * V
    return True


def _segment_to_misfit(box: Box, last: LastLayer | None) -> StraightLine | None:
    """Return a segment from an answer that does not fit to one that does: it must cross a unit that is missing."""
    if last is None or last.fits or last.share < 0.6:
        return None
    bad, good = np.flatnonzero(~last.met), np.flatnonzero(last.met)
    return StraightLine.between(last.X[box.rng.choice(bad)], last.X[box.rng.choice(good)])


def _finish(state: _LayersRead, last: LastLayer, question: Question) -> Reading | _Failure | None:
    """Fit all layers to all answers, ask where these would still be foretold badly, and judge by fresh inputs; None
    where random inputs show another unit."""
    box = state.box
    net = _joined(state, last)
    if len(net.layers) == 2:
        return _Failure("All answers fit one hidden layer of ReLU units", final=True)
    n_unknowns = len(free_parameters(net))
    if n_unknowns > RELU_LAYERS.dense:
        return _Failure(
            f"{n_unknowns} unknowns are more than the fit of all layers holds ({RELU_LAYERS.dense})", final=True
        )
    fit = fit_with_worst(box, net, state.scale)
    if fit.missed:
        return _Failure(
            f"No network of {state.widths} units meets all answers: the worst is off by {fit.worst:.2g} roundings"
        )
    if len(question.depths) == 1 and net.n_hidden not in question.depths:
        return _Failure(f"All answers fit {net.n_hidden} hidden layers of {state.widths} units", final=True)
    if not is_within_reach(state.phi, box.d):  # where no tour meets every kink, random inputs tell what is missing
        found = misfit_inputs(box, fit, max(n_unknowns, round(1 / LEAST_GAIN)), state.scale)
        if len(found.bad):
            return _search_misfit(state, found)
    reading = certified(box, fit, state.scale)
    return reading if reading.certified else _Failure(reading.verdict.rstrip("."))


def _search_misfit(state: _LayersRead, found: MisfitInputs) -> _Failure | None:
    """Search segments from inputs that the fit misses to inputs that it meets: each crosses a unit that is missing."""
    before = state.layer.k
    for x in found.bad[: TRIES if len(found.good) else 0]:
        line = StraightLine.between(x, found.good[state.box.rng.integers(len(found.good))])
        search_lines(state.box, state.phi, state.layer, [line], state.scale)
        if state.layer.k > before:
            return None
    return _Failure(
        f"{len(found.bad)} of {len(found.bad) + len(found.good)} random inputs have answers that "
        f"{state.widths} units do not explain, and no further unit was met on the way to them"
    )


def _joined(state: _LayersRead, last: LastLayer) -> Deep:
    """Return the network that the layers and the fit of the output make."""
    layer, phi = state.layer, state.phi
    signs, rest = last.signs, last.rest
    kept = np.abs(last.alpha) * np.linalg.norm(layer.rows, axis=1) > 1e-9 * np.abs(last.alpha).max(initial=0.0)
    weights = (2 / (1 - phi.slope) * last.alpha)[kept]
    # v active(s z) = v ((1 - a) |z| + (1 + a) s z) / 2: the constant of s z is a part of the output's.
    constant = last.constant - float(signs.signs @ (last.alpha * layer.offsets)) * (1 + phi.slope) / (1 - phi.slope)
    top = (layer.rows * signs.signs[:, None])[kept], (layer.offsets * signs.signs)[kept]
    return Deep([*phi.layers, top, (weights[None], np.array([constant]))], rest if rest.any() else None, phi.slope)
