"""The reader of one hidden layer of units that grow: reach, path, cells, polish, certificate, another path."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ...arguments import Floats
from ...certificate import BOUND, COARSE_KINKS, KINKED_UNITS, Evidence
from ...errors import NotIdentifiable
from ...model import SigmoidCombination
from ...network import Network
from ...tuned import FACTOR, TRIES
from ..idle_inputs import with_room
from ..ledger import Ledger
from ..precision import EXACT_ANSWERS
from ..question import BENT, GROWING_KINDS, SHARP, SMOOTH, Narrowing, Question, all_but, names_of
from ..result import Reading
from ..scouts import with_noise
from .identify_activation import (
    KinkShape,
    LinearReach,
    find_reach,
    identify_activation,
    largest_radius,
    odd_part_is_linear,
)
from .kink_certificate import (
    UnitBounds,
    blind_on_path,
    bounds_of,
    certify_kinks,
    far_pair,
    look_for_far_pairs,
    near_points,
    worst_residual,
)
from .kink_network import growing_names, model_of, precision_far_out, shape_of, with_repeats
from .kink_test import Bend
from .linear_fit import fit_far_out
from .near_origin import NearFit, polish_near_origin
from .other_activations import Rivals, rivals_of, rivals_of_sharp
from .path_network import Found, fit_path, network_on_path
from .segments import PathFailure, half_square
from .settings import BUMP, GRAIN, PATH, SEGMENT
from .single_units import measure_widths, other_widths, place_parallel_units


@dataclass(frozen=True)
class _Attempt:
    polished: NearFit
    chi: float
    fresh: float
    n_fresh: int
    blind: float = 0.0  # degrees


@with_room
def read_kinks(question: Question, ledger: Ledger, rng: np.random.Generator) -> Reading:
    """Find all units of a sum of units that grow, far out, where the network is linear in cells.

    Several activations, told apart by one kink in about 50 queries, only where answers are exact. About
    ``(k + 1) (d - 1) + 5.5 k + 25`` queries for k sharp units in dimension d, 2.3 k more for smooth ones, and
    O(k^2 (k + d)) flops.

    Raises
    ------
    NotIdentifiable
        The function is no such sum, or its units cannot be told apart.
    """
    names, precision = question.of_kinds(SHARP, SMOOTH, BENT), question.precision
    if len(names) > 1 and not question.precision.is_exact:
        raise NotIdentifiable(
            f"Far out the function grows as ReLU or similar units do, and {precision}: name the activation, which is "
            "told only from answers of double precision ('relu', 'leaky_relu', 'softplus', 'silu', 'gelu' or "
            "'gelu_tanh')."
        )
    oracle, activation = ledger.oracle, names[0] if len(names) == 1 else "auto"
    grain = precision_far_out(with_noise(precision, oracle, rng))
    reading = _FarReading(Ledger(oracle, None, ledger.progress).after(ledger), activation, rng)
    reading.grain = with_repeats(grain, reading.ledger, rng)
    if not grain.is_exact and not (reading.told and reading.shape.even):
        raise NotIdentifiable(
            f"Through coarse answers (relative error {grain.eps:.1g}, noise {grain.sd:.2g}) only "
            f"{', '.join(name for name in growing_names() if shape_of(name).even)} units are found, got "
            f"activation={activation!r}."
        )
    return reading.run()


class _FarReading:
    """One identification while it runs."""

    def __init__(self, ledger: Ledger, activation: str, rng: np.random.Generator) -> None:
        self.ledger, self.rng = ledger, rng
        self.told = activation != "auto"
        self.shape = shape_of(activation if self.told else "relu")
        self.grain = EXACT_ANSWERS
        self.notes: list[str] = []
        self.reach = 0.0
        self.seen = ""  # what a kink told about the activation
        self.n_sharp = 0  # sharp kinks beside those
        self.smooth: set[str] = set()  # activations that smooth kinks have

    def run(self) -> Reading:
        reach = self._find_reach()
        self.reach = reach.radius
        if not reach.grows:
            raise NotIdentifiable(
                f"Far out the function is constant in two opposite directions ({self.ledger.n_queries} queries): it "
                f"has no {self.shape.name} units, but sigmoids or rules, or its units cancel in pairs; try "
                "activation='tanh' or 'auto'.",
                rules_out=Narrowing(names_of(*GROWING_KINDS)),
            )
        guessed = None if self.told else self._try_sharp(reach)
        if guessed is not None:
            return self._result(self._refined(guessed), 1)
        if not self.told:
            self._identify_activation(reach)
            reach = reach if self.shape.sharp else self._find_reach()
        if self.grain.sd and not self.shape.sharp:
            reach = replace(reach, radius=GRAIN.further * reach.radius)
        last: _Attempt | None = None
        factors = PATH.factors * (GRAIN.more_paths if self.grain.is_single else 1)
        for number, factor in enumerate(factors):
            if number and self.grain.is_exact:
                reach = self._least_reach(reach)
            radius = factor * self._path_over_reach() * reach.radius
            radius = max(radius, factor * GRAIN.far * self.grain.sd / max(reach.slope, 1e-300))
            outcome = self._along_a_path(radius, reach)
            if isinstance(outcome, PathFailure):
                self._note_failure(outcome, number, reach)
                continue
            last = outcome
            if max(last.chi, last.fresh) < KINKED_UNITS.residuals:
                break
            self.notes.append(f"path {number + 1}: fresh points are missed by {last.fresh:.3g}")
        if last is None:
            if self.grain.is_exact:
                self._refuse_two_kinds(reach, TRIES)
            raise NotIdentifiable(
                f"None of {len(factors)} paths separates into single {self.shape.name} units "
                f"({self.ledger.n_queries} queries; {self.notes[-1]}): {self._suspects()}."
            )
        return self._result(self._refined(last), number + 1)

    def _try_sharp(self, reach: LinearReach) -> _Attempt | None:
        """Find sharp units along one path, before their activation is asked about; None if there are others."""
        radius = PATH.factors[0] * self._path_over_reach() * reach.radius
        attempt = self._along_a_path(radius, reach, SEGMENT.guess)
        if isinstance(attempt, PathFailure):
            self.notes.append(f"sharp kinks: {attempt.because}")
            if attempt.behind and not odd_part_is_linear(self.ledger, reach, self.rng):
                raise self._deeper()
            return None
        self.seen = "kinks look sharp"
        return attempt if max(attempt.chi, attempt.fresh) < KINKED_UNITS.residuals else None

    def _find_reach(self) -> LinearReach:
        reach = find_reach(self.ledger, self.rng, both_ways=not self.shape.even, grain=self.grain)
        if reach is None:
            raise NotIdentifiable(
                f"Along two rays the function is not straight even at radius {largest_radius(self.grain):.2g} "
                f"({self.ledger.n_queries} queries): it is no sum of units that end in straight lines, or its answers "
                "are rounded or noisy."
            )
        return reach

    def _least_reach(self, reach: LinearReach) -> LinearReach:
        """Measure the reach again, for a ray almost within a kink goes too far out; return the smaller one."""
        again = find_reach(self.ledger, self.rng, both_ways=not self.shape.even, grain=self.grain)
        return again if again is not None and again.grows and again.radius < reach.radius else reach

    def _suspects(self) -> str:
        """Name what keeps paths from separating into units."""
        coarse = ""
        if not self.grain.is_exact:
            digits = "single-precision" if self.grain.is_single else "coarse"
            coarse = f"a unit too faint, or two too close, for {digits} answers; else "
        return (
            f"{coarse}a deeper network, an output link that is not undone, units of different activations, or units in "
            "nearly parallel pairs"
        )

    def _path_over_reach(self) -> float:
        if self.shape.sharp:
            # Kinks of one input are all parallel: they stand no further apart on a path than on a ray.
            return float(np.cbrt(PATH.sharp)) if self.ledger.oracle.one_way else PATH.sharp
        return PATH.smooth if self.grain.is_exact else GRAIN.smooth

    def _identify_activation(self, reach: LinearReach) -> None:
        sighting = self._look_at_kink(reach)
        self.seen = sighting.says
        if sighting.name is None:
            raise NotIdentifiable(
                f"The function grows far out, but {sighting.says} ({self.ledger.n_queries} queries): a deeper network, "
                "an output link that is not undone, or an activation that gradsift does not know."
            )
        self.shape = shape_of(sighting.name)

    def _note_failure(self, failure: PathFailure, number: int, reach: LinearReach) -> None:
        """Note why a path failed; refuse if that speaks against the whole function."""
        self.notes.append(f"path {number + 1}: {failure.because}")
        if failure.behind and not odd_part_is_linear(self.ledger, reach, self.rng):
            raise self._deeper()
        if number or failure.behind or not self.grain.is_exact:
            return
        sighting = self._look_at_kink(reach)
        same = sighting.name == self.shape.name or (sighting.name == "relu" and self.shape.sharp)
        if sighting.name is not None and not same:
            self._refuse_two_kinds(reach, 1)
            raise NotIdentifiable(
                f"The units that were looked at are not {self.shape.name} but {sighting.name} units: {sighting.says} "
                f"({self.ledger.n_queries} queries); use activation='{sighting.name}'.",
                rules_out=Narrowing(all_but(frozenset({sighting.name}))),
            )
        if not odd_part_is_linear(self.ledger, reach, self.rng):
            raise self._deeper()
        if sighting.name is None:
            raise NotIdentifiable(
                f"The function grows far out, but has no single {self.shape.name} units: {sighting.says} "
                f"({self.ledger.n_queries} queries). Try activation='auto'; else it is a deeper network, or an output "
                "link is not undone."
            )

    def _look_at_kink(self, reach: LinearReach, *, all_kinks: bool = False) -> KinkShape:
        """Tell the activation of one kink, and remember all kinds that were seen."""
        sighting = identify_activation(self.ledger, reach, self.rng, all_kinks=all_kinks)
        self.n_sharp += sighting.n_sharp
        if sighting.name is not None and not shape_of(sighting.name).sharp:
            self.smooth.add(sighting.name)
        return sighting

    def _refuse_two_kinds(self, reach: LinearReach, most: int) -> None:
        """Refuse if kinks are of several kinds, after a look at some more of them; 20 to 50 queries each."""
        for number in range(most + 1):
            kinds = [*sorted(self.smooth), *(["relu"] if self.n_sharp >= BUMP.kinks else [])]
            if len(kinds) > 1:
                raise NotIdentifiable(
                    f"There are units of two kinds: some kinks have the shape of {kinds[0]}, others of {kinds[1]} "
                    f"({self.ledger.n_queries} queries). Only networks whose units all have the same activation are "
                    "found."
                )
            if number < most:
                self._look_at_kink(reach, all_kinks=True)

    def _deeper(self) -> NotIdentifiable:
        return NotIdentifiable(
            f"Far out the odd part of the function is not linear ({self.ledger.n_queries} queries): a network with "
            "more than one hidden layer, or an output link that is not undone.",
            rules_out=Narrowing(depths=frozenset({1})),
        )

    def _along_a_path(
        self, radius: float, reach: LinearReach, patience: tuple[int, int] = SEGMENT.patience
    ) -> _Attempt | PathFailure:
        """Find a network along one path and test it."""
        found = self._find(radius, reach, patience)
        if isinstance(found, PathFailure):
            return found
        self.ledger.n_units = found.net.k
        return self._test(found)

    def _test(self, found: Found) -> _Attempt:
        """Polish a network and test it, near the origin again if only the polish is at fault."""
        ledger = self.ledger
        polished = self._polish(found)
        found = polished.found
        fresh, near = self._fresh_near(polished)
        if not near < KINKED_UNITS.residuals:
            polished = polish_near_origin(found, ledger, self.rng, polished)
            fresh, near = self._fresh_near(polished)
        far = far_pair(polished.found, self.rng)
        misses = max(near, worst_residual(polished, far, ledger.ask(far, "fresh")))
        attempt = _Attempt(polished, worst_residual(polished, polished.X, polished.y), misses, fresh + len(far))
        return attempt if self.grain.is_exact else self._without_pairs(attempt)

    def _without_pairs(self, attempt: _Attempt) -> _Attempt:
        """Say which nearly parallel pairs would not show on the path; test for them beside every unit where kinks are
        rounded, and where equal answers repeat, since no kink of a path was then asked twice."""
        found = attempt.polished.found
        attempt = replace(attempt, blind=blind_on_path(found))
        asked_twice = found.net.shape.sharp and self.grain.has_noise
        if asked_twice or not max(attempt.chi, attempt.fresh) < KINKED_UNITS.residuals:
            return attempt
        seen = look_for_far_pairs(attempt.polished, self.ledger, self.rng)
        fresh, n_fresh = max(attempt.fresh, seen.worst), attempt.n_fresh + seen.n
        # Answers that repeat show a pair on the path or beside its units; noise needs both to be sharp.
        blind = max(attempt.blind, seen.blind) if self.grain.has_noise else min(attempt.blind, seen.blind)
        return replace(attempt, fresh=fresh, n_fresh=n_fresh, blind=blind)

    def _refined(self, attempt: _Attempt) -> _Attempt:
        """Fit all jumps at once where rounding leaves too few digits of one: faint units, and those in narrow cells."""
        if not self.grain.is_exact or bounds_of(attempt.polished).worst <= KINKED_UNITS.error_bound:
            return attempt
        found = fit_far_out(attempt.polished.found, self.ledger, self.rng, KINKED_UNITS.error_bound)
        if isinstance(found, PathFailure):
            self.notes.append(found.because)
            return attempt
        refined = self._test(found)
        better = bounds_of(refined.polished).worst < bounds_of(attempt.polished).worst
        return refined if better and max(refined.chi, refined.fresh) < KINKED_UNITS.residuals else attempt

    def _polish(self, found: Found) -> NearFit:
        """Offsets and widths from near the origin; through coarse answers first where all units are straight."""
        if self.grain.has_noise:
            found = place_parallel_units(found, self.ledger, self.rng)
        polished = polish_near_origin(found, self.ledger, self.rng)
        if found.net.shape.blur:
            rounded = measure_widths(polished, self.shape, found.net.shape.half_width, self.ledger, self.rng)
            polished = polish_near_origin(rounded.found, self.ledger, self.rng, rounded)
            again = other_widths(polished)
            if again is not None:
                polished = polish_near_origin(again.found, self.ledger, self.rng, again)
        return polished

    def _fresh_near(self, polished: NearFit) -> tuple[int, float]:
        """Return the number of fresh points near the origin, and the worst miss there."""
        points = near_points(polished.found, self.rng)
        return len(points), worst_residual(polished, points, self.ledger.ask(points, "fresh"))

    def _find(self, radius: float, reach: LinearReach, patience: tuple[int, int]) -> Found | PathFailure:
        ledger, shape = self.ledger, self.shape
        if not self.grain.is_exact and not shape.sharp:  # so far out that kinks look sharp
            shape = replace(shape_of("relu"), blur=GRAIN.blur * reach.radius)
        path = half_square(radius, PATH.near * reach.radius, ledger.n_features, self.rng)
        bend = Bend(shape, PATH.width / reach.radius, TRIES if self.grain.has_noise else 1)
        fitted = fit_path(ledger, path, bend, self.grain, KINKED_UNITS.residuals, patience)
        if isinstance(fitted, PathFailure):
            return fitted
        if not any(segment.kinks for segment in fitted.segments):
            further = FACTOR**TRIES  # a ray that was straight at once has not seen how far out kinks lie
            if reach.radius < further:
                return self._find(further * radius, replace(reach, radius=further * reach.radius), patience)
            raise NotIdentifiable(
                f"No kink on a path of radius {radius:.2g} ({ledger.n_queries} queries): the function looks linear, so "
                "there is no unit to find."
            )
        # Rounding is not known to better than a factor: the scatter of all answers on the path says what it was.
        sigma = max(self.grain.error_of(fitted.largest), PATH.scatter * fitted.scatter / float(np.sqrt(2)))
        found = network_on_path(ledger, fitted, sigma, self.grain)
        if isinstance(found, PathFailure) or not self.grain.is_single:
            return found
        return fit_far_out(found, ledger, self.rng, COARSE_KINKS.error_bound)

    def _rivals(self, polished: NearFit) -> Rivals | None:
        """Compare with other activations, where answers are coarse; sharp kinks in noise are looked at again."""
        if self.grain.is_exact:
            return None
        if not polished.found.net.shape.sharp:
            return rivals_of(polished, GRAIN.further * self.reach)
        if not self.grain.has_noise:
            return None  # rounded kinks would show at the fresh points
        reach = GRAIN.further * self.reach
        scale = SEGMENT.on * self.grain.sd
        rounded = measure_widths(polished, shape_of("softplus"), reach, self.ledger, self.rng, scale)
        return rivals_of_sharp(polished, rounded, reach)

    def _result(self, attempt: _Attempt, n_paths: int) -> Reading:
        bounds, net = bounds_of(attempt.polished), attempt.polished.found.net
        rivals = self._rivals(attempt.polished)
        judgement = certify_kinks(
            attempt.polished, bounds, attempt.chi, attempt.fresh, attempt.n_fresh, self.ledger, rivals, attempt.blind
        )
        model, order = model_of(attempt.polished.found.net, leaky_too=not self.told)
        noise = self.grain.sd * attempt.polished.scatter
        notes = {
            "chi": max(attempt.chi, attempt.fresh),
            "attempts": n_paths,
            "notes": list(self.notes),
            "blind_angle": attempt.blind,
            **({"activation": self.seen} if self.seen else {}),
            **({"noise": noise} if self.grain.sd else {}),
            **({"not_told_apart": list(rivals.alike)} if rivals is not None and not net.shape.sharp else {}),
        }
        own = Evidence(
            judgement.found, self.ledger.n_queries, own=judgement.checks,
            errors=_standard_errors(attempt.polished, bounds, model, order), bounds=bounds.units[order],
            noise=noise or None, blind_angle=attempt.blind, spent=dict(self.ledger.spent), notes=notes,
        )  # fmt: skip
        return Reading(Network.of(model), judgement, own)


def _standard_errors(
    polished: NearFit, bounds: UnitBounds, model: SigmoidCombination, order: NDArray[np.intp]
) -> dict[str, Floats]:
    """Return one standard error of each parameter of the public model; its units come in the given order."""
    net = polished.found.net
    # Bounds are a fixed number of standard errors.
    one = replace(bounds, jumps=bounds.jumps / BOUND, weights=bounds.weights / BOUND)
    jumps, weights = one.jumps[order], one.weights[order]
    lengths, gain = np.linalg.norm(net.jumps, axis=1)[order], net.shape.gain
    scales = jumps if net.shape.sharp else weights
    # With all units at rest the gradient is g. A unit that the model shows from its other side grows there: the linear
    # term makes up for it by a share of the jump.
    turned = (model.units * (np.sign(net.w)[:, None] * net.jumps)[order]).sum(axis=1) < 0
    shares = (net.shape.slope + gain * turned) / gain
    linear = np.hypot(np.linalg.norm(polished.found.linear_errors), np.linalg.norm(shares * jumps * lengths))
    # An offset is q / w, but for the corner: it errs as both do.
    offsets = np.hypot(polished.errors[: net.k], np.abs(net.q) * scales[np.argsort(order)])[order]
    return {
        "units": jumps,
        "slopes": np.zeros(net.k) if net.shape.sharp else model.slopes * np.hypot(jumps, weights),
        "offsets": offsets / (gain * np.abs(model.weights)),
        "weights": np.abs(model.weights) * scales,
        "intercept": polished.errors[-1:],
        "linear": np.full(len(net.g), linear / np.sqrt(len(net.g))),
    }
