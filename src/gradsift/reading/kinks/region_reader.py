"""Sharp units of a box that must not be asked far out: rays from its middle, until they show no further kink."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ...arguments import Floats
from ...certificate import BOUND, KINKS_WITHIN, Evidence, Fresh, certify, n_of
from ...errors import NotIdentifiable
from ...geometry import normalize_rows
from ...network import Network
from ...tuned import SCATTER, SHARE, TRIES
from ..idle_inputs import with_room
from ..ledger import EPS, Ledger
from ..plane_frame import frame_through
from ..precision import EXACT_ANSWERS, Precision
from ..question import BENT, SHARP, SMOOTH, Question, names_of
from ..region import Region
from ..result import Reading
from .cells import bases_of
from .kink_network import KinkNet, joined, model_of, shape_of
from .kink_test import Bend
from .linear_fit import RegionFit, fit_region, informative_places, mirrored
from .path_network import fit_path, network_on_path
from .region_ledger import RegionLedger
from .segments import Path, PathFailure, segments_through
from .settings import NEAR_ORIGIN, SEGMENT, WITHIN


@with_room
def read_region(question: Question, ledger: Ledger, rng: np.random.Generator) -> Reading:
    """Find all sharp units that bend inside bounds, or no further out than a link leaves the answers their digits.

    Three to seven queries for each of the (k + 1) (d + 1) unknowns of k units in dimension d; O((k d)^3) flops.

    Raises
    ------
    NotIdentifiable
        The function is no such sum, or answers have too few digits.
    """
    activation = (question.of_kinds(SHARP) or question.of_kinds(SMOOTH, BENT))[0]
    oracle, region, precision = ledger.oracle, question.region, question.precision
    if not shape_of(activation).sharp:
        inside = f"relu, leaky_relu, {', '.join(sorted(names_of(SMOOTH)))}"
        names = "relu and leaky_relu" if not region.is_bounded else inside
        raise NotIdentifiable(f"Inside {region} only {names} units are found, got {activation!r}.")
    if any(not r.is_exact for r in precision.outputs) or not precision.outputs:
        raise NotIdentifiable(f"Inside {region} kinks are found through answers of double precision, and {precision}.")
    return _Within(RegionLedger(oracle, region, precision.outputs, None, ledger.progress), activation, rng).run()


class _Within:
    """One identification while it runs."""

    def __init__(self, ledger: RegionLedger, activation: str, rng: np.random.Generator) -> None:
        self.ledger, self.rng, self.shape = ledger, rng, shape_of(activation)
        self.region: Region = ledger.region
        self.start = self._random_start()
        self.rays: list[Floats] = []  # as far as they were asked
        self.targets: list[Floats] = []  # rays that must cross a kink that is not known
        self.notes: list[str] = []
        self.net: KinkNet | None = None

    def run(self) -> Reading:
        for number in range(TRIES):
            net = self._collect()
            if net is not None:
                fit = self._fit(net)
                if fit.scatter <= SHARE:
                    return self._result(fit)
                self.notes.append(f"answers miss the {net.k} units found by {fit.scatter:.2g} times their rounding")
            if net is None or number % 2 or not np.isfinite(fit.scatter):  # some unit is none: from the beginning
                self.net, self.targets, self.start = None, [], self._random_start()
        raise self._refusal()

    def _refusal(self) -> NotIdentifiable:
        return NotIdentifiable(
            f"The function inside {self.region} is no sum of {self.shape.name} units as far as rays "
            f"from its middle show ({self.ledger.n_queries} queries; {self.notes[-1] if self.notes else 'no ray'}): "
            "another activation, a deeper network, units in nearly parallel pairs, or one too faint for these answers."
        )

    def _collect(self) -> KinkNet | None:
        """Follow pairs of rays until they show no kink that is not known, and answers elsewhere no unit.

        None if rays fail again and again after some unit was found: it may be none.
        """
        failed = 0
        for _ in range(WITHIN.most_paths):
            aimed = bool(self.targets)
            new = self._along_two_rays()
            if isinstance(new, PathFailure):
                self.notes.append(new.because)
                failed += 1
                if failed > TRIES and self.net is not None:
                    return None
                if failed > TRIES:
                    raise self._refusal()
                continue
            if self.net is None or new.k:
                self.net = new if self.net is None else joined(self.net, new)
                self.ledger.n_units = self.net.k
            elif aimed or self._check_region(self.net):  # no kink on the way to a miss: units are not exact yet
                return self.net
        self.notes.append("every ray shows further kinks")
        return None

    def _check_region(self, net: KinkNet) -> bool:
        """Say whether answers all over the region are as foretold; rays to those that are not must cross a kink."""
        heard = self.ledger.ask_all(self._candidates(SCATTER), "path")
        # What is left where a nearly right network is taken off errs by its own errors, far more than answers do.
        rounding = WITHIN.beyond * (SEGMENT.rounding * EPS * self._size() + heard.errors)
        with np.errstate(over="ignore"):  # a unit that is none may be endlessly steep
            misses = np.abs(heard.answers - net.predict(heard.rows)) / rounding
        worst = np.argsort(-misses)[:2]
        self.targets = [heard.rows[i] - self.start for i in worst if misses[i] > KINKS_WITHIN.residuals]
        return not self.targets

    def _along_two_rays(self) -> KinkNet | PathFailure:
        """Return what rays in two random ways show beyond the network that is known, in u."""
        self.ledger.start(self.start, self.net)
        rays = self._two_rays()
        new = rays if isinstance(rays, PathFailure) else self._read(*rays)
        return new if self.ledger.failure is None else self.ledger.failure

    def _read(self, path: Path, first: Floats, second: Floats) -> KinkNet | PathFailure:
        """Return what a path over two rays shows; after a failure of the ledger it shows nothing."""
        ledger = self.ledger
        sd = max(SEGMENT.rounding * EPS * self._size(), ledger.largest_error)
        sd = sd if self.net is None else WITHIN.beyond * sd
        grain = Precision("rounded", sd, relative=sd / self._size())
        fitted = fit_path(ledger, path, Bend(self.shape, 1.0), grain, KINKS_WITHIN.residuals)
        if isinstance(fitted, PathFailure):
            return fitted
        self.rays += [first, second]
        if self.net is not None and not any(segment.kinks for segment in fitted.segments):
            return self.net.only(np.zeros(self.net.k, dtype=np.bool_))
        found = network_on_path(ledger, fitted, fitted.sigma, grain, turns_back=False)
        if isinstance(found, PathFailure):
            return found
        places = np.array([base.place for base in bases_of(fitted.segments, self.shape, fitted.sigma)])
        if not self._explained_beside(found.net, places @ path.frame.plane, path.radius):
            return PathFailure("the function beside a ray is not as foretold")
        return replace(found.net.moved(-self.start), grain=EXACT_ANSWERS)

    def _explained_beside(self, net: KinkNet, places: Floats, step: float) -> bool:
        """Foretell one answer beside each base: a hyperplane that no ray crossed may lie between steps across it."""
        aside = self.rng.standard_normal(places.shape)
        beside = places + step / np.sqrt(places.shape[1]) * aside
        off = np.abs(self.ledger.ask(beside, "gradients") - net.predict(beside))
        return bool(off.max() <= EXACT_ANSWERS.few_digits * self._size())

    def _random_start(self) -> Floats:
        """Return a random place near the middle, (d,)."""
        d = self.ledger.n_features
        return np.asarray(WITHIN.start * self.rng.standard_normal(d) / np.sqrt(d))

    def _two_rays(self) -> tuple[Path, Floats, Floats] | PathFailure:
        """Return the path over two rays, and these; two that end in the same corner of the bounds span no plane."""
        first = self._next_ray()
        while first is not None and (second := self._next_ray()) is not None:
            path = _through(first, second)
            if path is not None:
                return path, first, second
        return PathFailure("answers right beside the middle have no digits")

    def _next_ray(self) -> Floats | None:
        return self.targets.pop() if self.targets else self._reach(self._outwards())

    def _outwards(self) -> Floats:
        """Return a random way from the middle, as long as the region inside bounds, else of length one; (d,)."""
        d = self.region.n_features
        if not self.region.is_bounded:
            return np.asarray(normalize_rows(self.rng.standard_normal((1, d)))[0])
        corner = np.sign(self.rng.standard_normal(d))
        return np.asarray(WITHIN.inside * (corner if self.rng.random() < 0.5 else self.rng.uniform(-1, 1, d)))

    def _reach(self, way: Floats) -> Floats | None:
        """Return the way as far as answers have digits, (d,); None if not even the first does."""
        if self.region.is_bounded:
            return np.asarray(way - self.start)
        length = 0.0
        for number in range(*WITHIN.lengths):
            self.ledger.ask((2.0**number * way)[None], "path")
            if self.ledger.failure is not None:
                self.ledger.failure = None
                break
            length = 2.0**number
        return length * way if length else None

    def _size(self) -> float:
        """Return the size of the answers so far."""
        return max(self.ledger.largest, 1e-300)

    def _candidates(self, n: int) -> Floats:
        """Return places all over the region, (n, d)."""
        d = self.ledger.n_features
        if self.region.is_bounded:
            ways = np.stack([self._outwards() for _ in range(n)]) / WITHIN.inside
            return np.asarray(ways * self.rng.uniform(0.0, 1.0, (n, 1)) ** (1 / d))
        lengths = self.rng.choice(np.linalg.norm(self.rays, axis=1), n) * self.rng.uniform(0.0, 1.0, n)
        return np.asarray(self.start + lengths[:, None] * np.stack([self._outwards() for _ in range(n)]))

    def _fit(self, net: KinkNet) -> RegionFit:
        """Ask all over the region and fit all parameters at once."""
        if not net.k:
            raise NotIdentifiable(
                f"No kink on {n_of(len(self.rays), 'ray')} inside {self.region} "
                f"({self.ledger.n_queries} queries): the function looks constant or linear: no unit."
            )
        # Unknowns: linear term and jumps, each with its constant.
        p = (net.k + 1) * (self.ledger.n_features + 1)
        n = p + max(SCATTER, int(WITHIN.spare * p))
        candidates = self._candidates(WITHIN.candidates * n)
        candidates = np.concatenate([candidates, mirrored(candidates, net, self.rng)])
        candidates = candidates[self.region.holds(candidates)]
        # Beyond the answers that had their digits, a link may leave none: such places are not worth a query.
        (low, high), foretold = self.ledger.range, net.predict(candidates)
        candidates = candidates[(low <= foretold) & (foretold <= high)]
        places = informative_places(candidates, net, min(n, len(candidates)), self.rng)
        heard = self.ledger.ask_all(places, "inside")
        if len(heard.answers) < p + SCATTER // 2:
            raise self._refusal()
        return fit_region(net, heard)

    def _result(self, fit: RegionFit) -> Reading:
        ledger = self.ledger
        fresh = ledger.ask_all(self._candidates(NEAR_ORIGIN.fresh), "fresh")
        missed = float(fit.missed(fresh).max()) if len(fresh.answers) else np.inf
        A, q = self.region.outside(fit.net.jumps, fit.net.q)
        g, c = self.region.outside(fit.net.g, np.array(fit.net.c))
        net = replace(fit.net, jumps=A, q=q, g=g, c=float(c))
        errors = self.region.errors_outside(fit.errors)  # (k + 1, d + 1)
        jumps = np.linalg.norm(errors[1:, :-1], axis=1) / np.linalg.norm(net.jumps, axis=1)
        # Offsets are compared with the distance of the hyperplane, but no less than the half-width of the region.
        offsets = fit.errors[1:, -1] / np.maximum(np.abs(fit.net.q), np.linalg.norm(fit.net.jumps, axis=1))
        bounds = BOUND * np.maximum(jumps, offsets)
        model, order = model_of(net)
        sizes = np.abs(model.weights)
        evidence = replace(
            _evidence(fit, net, errors, bounds, missed, len(fresh.answers), ledger),
            errors={
                "units": jumps[order],
                "slopes": np.zeros(net.k),
                "offsets": errors[1:, -1][order] / sizes,
                "weights": sizes * jumps[order],
                "intercept": errors[:1, -1],
                "linear": errors[0, :-1],
            },
            bounds=bounds[order],
            spent=dict(ledger.spent),
            notes={"chi": max(fit.chi, missed), "notes": list(self.notes)},
        )
        return Reading(Network.of(model), certify(evidence, KINKS_WITHIN), evidence)


def _evidence(
    fit: RegionFit, net: KinkNet, errors: Floats, bounds: Floats, missed: float, n_fresh: int, ledger: RegionLedger
) -> Evidence:
    """Return what speaks for a network with these errors, (k + 1, d + 1), and bounds, (k,)."""
    lengths = np.linalg.norm(net.jumps, axis=1)
    linear = BOUND * float(np.linalg.norm(errors[0, :-1]) / lengths.max())
    return Evidence(
        n_of(net.k, f"{net.shape.name} unit"), ledger.n_queries, fit.chi, Fresh(n_fresh, missed),
        float(bounds.max()), linear=linear, faintest=float(lengths.min() / lengths.max()),
        where=f" inside {ledger.region}", rest="; the last rays show no other",
    )  # fmt: skip


def _through(first: Floats, second: Floats) -> Path | None:
    """Return the path from the end of one ray over the middle to the end of another; None where they are parallel."""
    e1 = first / np.linalg.norm(first)
    # Gram-Schmidt: two rays that are nearly parallel leave a second direction of rounding errors.
    e2 = second - (second @ e1) * e1
    if np.linalg.norm(e2) < WITHIN.parallel * np.linalg.norm(second):
        return None
    e2 = e2 / np.linalg.norm(e2)
    corners = np.array([[first @ e1, 0.0], [0.0, 0.0], [second @ e1, second @ e2]])
    segments = segments_through(frame_through(e1, e2), corners)
    return Path(segments[0].frame, segments, WITHIN.step * min(segment.length for segment in segments))
