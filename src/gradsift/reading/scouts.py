"""Cheap looks that narrow a question: how answers err, and what a refused box is instead.

That may be noisy, changed, constant in pieces, behind a link, or units and a small remainder.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ..arguments import Floats
from ..errors import NotIdentifiable
from ..geometry import normalize_rows
from ..oracle import Oracle
from ..oracle.output_links import likely_link
from ..tuned import ROUNDINGS, TRIES
from .ledger import EPS, n_affordable
from .precision import (
    DOUBLE,
    EXACT_ANSWERS,
    FEW_ULPS,
    SPACING,
    FirstAnswer,
    Precision,
    Undone,
    float32_step,
    grid_of,
    no_more,
    rounding_of,
    rounding_of_share,
)
from .region import Region

REPEATED = 8  # inputs asked twice
_SMALL = 0.05  # of the answers' spread: a remainder up to this size is worth a network beside it; guess
_BESIDE = EXACT_ANSWERS.few_digits  # inputs this near lie in one piece of a function that is constant in pieces
HALVINGS = 40  # from two inputs to a jump between them: to a width of 1e-12
# Inputs this near are one to a box that rounds them to single precision, and two to others, whatever rounding adds.
_TENTH_DIGIT = float(np.sqrt(ROUNDINGS * DOUBLE * SPACING["float32"]))
_OUTMOST = EPS**-0.5  # inputs so far out that whatever grows leaves the range of a link
_SHORT_LINE = 1e-3  # a short line, in units of usual inputs; guess
_LABELS_ASKED = 18  # equal repeats of few values may be luck: so many more points must show no other one
_FEW_VALUES = 3  # that a box which only decides has at most; guess
_ULPS = 2 * FEW_ULPS  # between two answers to the same question
_MOST_VALUES = 12  # whole numbers that may be classes, and further inputs that must show no other value; guess
_ASKED_AGAIN = 10  # of them, to see whether labels are decisions: even odds agree once in 1,024 boxes
_FAR = 1e3  # inputs this far out see sigmoids stand still, and large answers; guess
_GROWING = 3.0  # errors of single-precision arithmetic grow with the inputs
LOOK_COST = 3 * REPEATED + TRIES + 1


class _Asked(NamedTuple):
    """Outputs (n, m) of a box at rows (n, d) that were asked twice, one after the other; `beside` only once."""

    rows: Floats
    outputs: Floats
    beside: Floats

    def further(self, oracle: Oracle, points: Floats) -> _Asked:
        """Ask for more, each point twice."""
        rows = np.repeat(points, 2, axis=0)
        return self._replace(
            rows=np.concatenate([self.rows, rows]), outputs=np.concatenate([self.outputs, oracle.outputs(rows)])
        )  # fmt: skip

    @property
    def roundings(self) -> tuple[Precision, ...]:
        """How each output is rounded."""
        return tuple(rounding_of(column) for column in np.concatenate([self.outputs, self.beside]).T)

    @property
    def repeats(self) -> bool:
        """Whether the same question got the same answer up to last bits of the output's own arithmetic.

        A matrix product sums equal rows in an order that may depend on their neighbours.
        """
        apart = np.abs(self.outputs[::2] - self.outputs[1::2]).max(axis=0)
        return bool((apart <= [(4 * _ULPS if r.is_short else _ULPS) * r.rounding for r in self.roundings]).all())

    @property
    def short(self) -> bool:
        """Whether all outputs are shorter floats than doubles."""
        return all(r.is_short for r in self.roundings)


def measure_precision(oracle: Oracle, rng: np.random.Generator, *, far: bool = True) -> Precision:
    """Find out what limits the answers of an oracle with one output, or of a view of several.

    Two queries (one point, twice) if the answers are exact, about ten if they are not; none if ``oracle.noise`` says.
    Without `far` a link is looked at nearby only: what grows behind it leaves its range far out.
    """
    if oracle.noise == "labels":
        return Precision("labels", 1.0)
    if oracle.noise:
        return Precision("noisy", float(oracle.noise))
    before = oracle.n_answered
    rows = np.repeat(usual_points(oracle, 1, rng), 2, axis=0)
    outputs = oracle.outputs(rows)
    look = _Asked(rows, outputs, outputs[:0])
    precision = _limits(oracle, look, rng, far)
    return replace(precision, n_queries=oracle.n_answered - before, first=FirstAnswer(rows[:1], outputs[:1]))


def _limits(oracle: Oracle, look: _Asked, rng: np.random.Generator, far: bool) -> Precision:
    """Return what limits the answers, from the first one and others that are asked if need be."""
    first, outputs, y = look.rows[:1], look.outputs, oracle.seen(look.outputs, look.rows)
    if oracle.labels.has_names(outputs):
        return _labels_of_classes(oracle, look, rng)
    if oracle.link is None and look.repeats and not any(grid_of(column) for column in outputs.T):
        return Precision(outputs=look.roundings)
    if np.isin(y, (-1.0, 1.0)).all():
        points = usual_points(oracle, _LABELS_ASKED, rng)
        look = look._replace(beside=oracle.outputs(points))
        if np.isin(look.beside, (-1.0, 1.0)).all():
            return _labels_or_decisions(oracle, look, points)
    if look.repeats or look.short:  # on a grid, unless a round answer was luck
        look = look.further(oracle, usual_points(oracle, TRIES if far else 2 * REPEATED, rng))
        if (
            (look.short or oracle.link is not None) and oracle.bounds is None and far
        ):  # rounding is worst at large answers
            look = look.further(oracle, _FAR * usual_points(oracle, TRIES, rng))
        if look.repeats:
            return _decisions(oracle, look, rng) or _rounded(oracle, look)
        y = oracle.seen(look.outputs, look.rows)
    repeated = np.append(y[:2], oracle(np.repeat(first, REPEATED - 1, axis=0)))
    apart = float(np.sqrt(0.5 * np.mean((y[::2] - y[1::2]) ** 2)))  # where the first point is quiet, others are not
    sd = float(repeated.std(ddof=1)) or apart
    if sd < np.sqrt(EPS) * np.abs(repeated).max():  # large terms may cancel in the first answer
        elsewhere = oracle(usual_points(oracle, TRIES, rng))
        if sd <= _ULPS * DOUBLE * np.abs(elsewhere).max():
            return Precision(outputs=look.roundings)
    return Precision("noisy", sd, n_equal=_n_equal(repeated))


def _labels_or_decisions(oracle: Oracle, look: _Asked, points: Floats) -> Precision:
    """Return the precision of answers -1 and +1: decisions where they stay the same, else labels."""
    same = oracle.link is None and look.repeats and _same_again(oracle, points, look.beside)
    return Precision("decisions", values=(-1.0, 1.0)) if same else Precision("labels", 1.0)


def _same_again(oracle: Oracle, points: Floats, outputs: Floats) -> bool:
    """Ask ten points again, those with the rarer answer first: a random label seldom comes twice where it is rare."""
    values, place, counts = np.unique(outputs, return_inverse=True, return_counts=True)
    if len(values) < 2:
        return False
    again = np.argsort(counts[place.ravel()], kind="stable")[:_ASKED_AGAIN]
    return bool((oracle.outputs(points[again]) == outputs[again]).all())


def _labels_of_classes(oracle: Oracle, look: _Asked, rng: np.random.Generator) -> Precision:
    """Return the precision of a box that answers with words or truth values, which must never change."""
    points = usual_points(oracle, _LABELS_ASKED, rng)
    beside = oracle.outputs(points)
    if look.outputs.shape[1] > 1:
        raise NotIdentifiable("The box answers each input with several classes: ask for one of them.")
    values = np.unique(np.concatenate([look.outputs, beside]))
    if len(values) > 1 and not (look.repeats and _same_again(oracle, points, beside)):
        raise NotIdentifiable(
            "The same input gets different classes when it is asked again: the box draws its answers. Only decisions "
            "that stay the same are read, or labels -1 and +1 whose mean a network is."
        )
    return Precision("decisions", values=tuple(values.tolist()))


def _decisions(oracle: Oracle, look: _Asked, rng: np.random.Generator) -> Precision | None:
    """Return the precision of a box that only decides: few values at all inputs, which never change; else None."""
    first = np.unique(look.outputs)
    may_decide = len(first) <= _FEW_VALUES or bool((first == np.round(first)).all())
    if oracle.link is not None or look.outputs.shape[1] > 1 or not may_decide:
        return None
    points = usual_points(oracle, _MOST_VALUES, rng)
    beside = oracle.outputs(points)
    values = np.unique(np.concatenate([look.outputs, beside]))
    few = 1 < len(values) <= _FEW_VALUES
    whole = few or (len(values) <= _MOST_VALUES and bool((values == np.round(values)).all()))
    if len(values) < 2 or not whole or not (few or _jump_between(oracle, points, beside[:, 0], values)):
        return None
    return Precision("decisions", values=tuple(values.tolist()))


def _jump_between(oracle: Oracle, points: Floats, answers: Floats, values: Floats) -> bool:
    """Say whether answers jump over a value between them within a short way: classes do, rounded answers do not."""
    order = np.argsort(answers, kind="stable")
    first, last = order[:2], order[-2:]
    ends, seen = np.stack([points[first], points[last]]), np.stack([answers[first], answers[last]])  # two ways
    for _ in range(TRIES):
        middle = ends.mean(axis=0)
        value = oracle.outputs(middle)[:, 0]
        # The half with the larger difference is kept.
        keep = np.abs(seen - value).argmin(axis=0)
        ends[keep, [0, 1]], seen[keep, [0, 1]] = middle, value
    return bool((np.abs(np.diff(np.searchsorted(values, seen), axis=0)) > 1).any())


def _n_equal(repeated: Floats) -> int:
    """Return how many answers to one question are equal to the commonest one, if these are most; 0 on a grid."""
    values, counts = np.unique(repeated, return_counts=True)
    gaps = np.diff(values)
    steps = np.arange(1, 5)[:, None] * gaps / gaps.min(initial=np.inf)  # of the grid the smallest gap is 1 to 4 steps
    on_grid = len(values) > 2 and bool((np.abs(steps - np.round(steps)) < 1e-6 * steps).all(axis=1).any())
    return 0 if on_grid or 2 * counts.max() <= len(repeated) else int(counts.max()) - 1


def _rounded(oracle: Oracle, look: _Asked) -> Precision:
    """Return the precision of answers without noise, from the roundings of all outputs."""
    roundings, answers = look.roundings, oracle.seen(look.outputs, look.rows)
    kinds = {r.kind for r in roundings}
    kind = next((kind for kind in (*SPACING, "rounded") if kind in kinds), "exact")
    weights = np.abs(oracle.weights)
    own: Callable[[Floats], Floats] = no_more
    if oracle.link is None:
        absolute = float(weights @ [r.grid for r in roundings])
    else:
        if len(roundings) > 1:
            roundings = tuple(map(rounding_of_share, look.outputs.T))
        errors = np.stack([r.errors(column) for r, column in zip(roundings, look.outputs.T)], axis=1)
        left = oracle.link.errors(look.outputs, errors) @ weights
        if len(roundings) == 1 and oracle.link.redo is not None:
            own, absolute = Undone(oracle.link, roundings[0]), float(np.median(left))
        else:
            absolute = float(left.max())
        kind = "rounded" if kind == "exact" else kind
    size = float(np.abs(answers).max())
    spacing = SPACING.get(kind, 0.0) / SPACING["float32"] * float32_step(answers)
    grid = max(absolute, spacing)
    return Precision(kind, grid / np.sqrt(12.0), grid, 0, size, absolute, own, roundings)


def with_noise(precision: Precision, oracle: Oracle, rng: np.random.Generator) -> Precision:
    """Return the precision of short floats with the errors of their arithmetic, more than a rounding, as noise."""
    if not precision.is_short:
        return precision
    before = oracle.n_answered
    sd = _GROWING * max(precision.grid / np.sqrt(12.0), _noise_on_line(oracle, usual_points(oracle, 1, rng), rng))
    return replace(precision, sd=sd, n_queries=precision.n_queries + oracle.n_answered - before)


def _noise_on_line(oracle: Oracle, point: Floats, rng: np.random.Generator) -> float:
    """Return the standard deviation of these errors: third differences on a short line leave nothing of a smooth
    function."""
    way = rng.standard_normal(point.shape[1])
    steps = _SHORT_LINE * np.arange(2 * REPEATED)[:, None] * way / np.linalg.norm(way)
    bends = np.diff(oracle(point + steps), 3)
    return float(np.sqrt(np.mean(bends**2) / 20))  # 1 + 9 + 9 + 1


def usual_points(oracle: Oracle, n: int, rng: np.random.Generator) -> Floats:
    """Return n inputs, (n, d): standard normal, or uniform a little inside the bounds."""
    d = oracle.n_features
    if oracle.bounds is None:
        return np.asarray(rng.standard_normal((n, d)))
    low, high = oracle.bounds
    return np.asarray(low + (high - low) * rng.uniform(0.05, 0.95, (n, d)))


class RandomOrRemainder(NamedTuple):
    """What a few more answers say.

    Attributes
    ----------
    cause : str
        Why no network was found, in a sentence; "" where that is not seen.
    link : str
        The option that undoes the link that outputs look like; "".
    precision : Precision or None
        What limits the answers after all: noise, or a small remainder that does not settle far out.
    is_noise : bool
        Whether it is noise.
    """

    cause: str = ""
    link: str = ""
    precision: Precision | None = None
    is_noise: bool = False


def detect_noise(oracle: Oracle, precision: Precision, rng: np.random.Generator) -> RandomOrRemainder:
    """Ask some inputs twice, the very first one again, and some far out; 16 to 29 queries, up to 64 more for pieces."""
    points = usual_points(oracle, REPEATED, rng)
    first, again = oracle.outputs(points), oracle.outputs(points[::-1])[::-1]  # (8, m)
    rounding = ROUNDINGS * precision.eps * np.abs(first).max(axis=0) + 2 * precision.grid
    if (np.abs(first - again) > rounding).any():
        sd = float(np.sqrt(0.5 * np.mean((oracle.seen(first, points) - oracle.seen(again, points)) ** 2)))
        return RandomOrRemainder(precision=Precision("noisy", sd), is_noise=True)
    if precision.first is not None:
        now = oracle.outputs(precision.first.row)
        off = np.abs(now - precision.first.outputs)
        if (off > rounding).any():
            return RandomOrRemainder(
                "The first input that was asked is answered otherwise now, by up to "
                f"{off.max():.3g}, while answers repeat: the box has changed on the way. Ask one that stays the same."
            )
    pieces = constant_in_pieces(oracle, rng)
    if pieces:
        return RandomOrRemainder(pieces)
    if precision.is_exact and oracle.bounds is None and _rounds_inputs(oracle, points, first, rounding):
        return RandomOrRemainder(
            f"Inputs {_TENTH_DIGIT:.0e} apart have equal answers ({REPEATED - 1} of {REPEATED} pairs or more), and "
            f"those {_BESIDE:.0e} apart have not: the box rounds its inputs, to single precision for instance, while "
            "its answers are doubles. Let it calculate in double precision, or return answers of the precision of its "
            "inputs (numpy.float32)."
        )
    if oracle.bounds is not None:
        return RandomOrRemainder(link="" if oracle.link else likely_link(first))
    way = rng.standard_normal(oracle.n_features)
    rows = _FAR * (1 + rng.random(REPEATED))[:, None] * way / np.linalg.norm(way)
    far = oracle.outputs(rows)
    if oracle.link is not None:
        return RandomOrRemainder()
    link = likely_link(first, far)
    if link:
        outmost = oracle.outputs(_OUTMOST * usual_points(oracle, TRIES, rng))
        link = likely_link(first, outmost)
    size, spread = float(np.std(oracle.seen(far, rows))), float(np.std(oracle.seen(first, points)))
    if ROUNDINGS * precision.eps * float(np.abs(far).max()) < size < _SMALL * spread:
        remainder = Precision(
            "rounded", size, np.sqrt(12.0) * size, remainder=True
        )  # the same wherever it is asked twice
        return RandomOrRemainder(link=link, precision=remainder)
    return RandomOrRemainder(link=link)


def constant_in_pieces(oracle: Oracle, rng: np.random.Generator) -> str:
    """Say that a function without noise is constant in pieces, if it is, with a jump that was measured; else "".

    16 queries; 40 more to halve the way between two answers, which tells a jump from a steep slope.
    """
    cost = 2 * REPEATED + HALVINGS
    if n_affordable(oracle, cost) < cost:
        return ""
    points = usual_points(oracle, REPEATED, rng)
    scale = _BESIDE if oracle.bounds is None else _BESIDE * (oracle.bounds.high - oracle.bounds.low)
    middle = 0.0 if oracle.bounds is None else 0.5 * (oracle.bounds.high + oracle.bounds.low)
    beside = points + scale * np.sign(middle - points)  # towards the middle, which no bounds forbid
    here, there = np.split(oracle.outputs(np.concatenate([points, beside])), 2)
    n_alike = int((here == there).all(axis=1).sum())
    if n_alike < REPEATED - 1 or len(np.unique(here, axis=0)) < _FEW_VALUES:
        return ""
    ends, answers = _halved(oracle, points, here)
    jump = float(np.abs(answers[0] - answers[1]).max())
    # Over that width slopes of up to 1e8 rise by less.
    if jump <= EXACT_ANSWERS.few_digits * float(np.ptp(here, axis=0).max()):
        return ""
    return (
        f"The function is constant in pieces: of {REPEATED} pairs of inputs {_BESIDE:.0e} apart {n_alike} have equal "
        f"answers to the last digit, and it jumps by {jump:.3g} within {np.linalg.norm(ends[1] - ends[0]):.1g}. A "
        "forest, boosted trees, a rule, or a network that rounds its inputs or units to few bits: it has no units "
        "that answers could tell."
    )


def _rounds_inputs(oracle: Oracle, points: Floats, answers: Floats, rounding: Floats) -> bool:
    """Say whether inputs that differ in the tenth digit are the same to a box, and those in the fourth are not.

    Answers are (n, m), and equal up to `rounding`, (m,): a matrix product rounds with the number of its rows.
    """
    cost = 2 * len(points)
    if n_affordable(oracle, cost) < cost:
        return False
    beside = np.concatenate([points + way * np.sign(points) for way in (_TENTH_DIGIT, _BESIDE)])
    tiny, small = np.split(oracle.outputs(beside), 2)
    same, other = np.abs(tiny - answers) <= rounding, np.abs(small - answers) > rounding
    return bool(same.all(axis=1).sum() >= REPEATED - 1 and other.any(axis=1).sum() >= REPEATED - 1)


def _halved(oracle: Oracle, points: Floats, answers: Floats) -> tuple[Floats, Floats]:
    """Return two inputs (2, d) with different answers (2, m), as near to each other as halving the way brings them."""
    other = int(np.argmax((answers != answers[0]).any(axis=1)))
    ends, values = points[[0, other]].copy(), answers[[0, other]].copy()
    for _ in range(HALVINGS):
        middle = ends.mean(axis=0)
        answer = oracle.outputs(middle[None])[0]
        # The half with the larger difference: on a slope it shrinks with the way, on a jump it does not.
        keep = int(np.abs(answer - values[0]).max() > np.abs(answer - values[1]).max())
        ends[keep], values[keep] = middle, answer
    return ends, values


def straight_in_parts(oracle: Oracle, rng: np.random.Generator) -> bool:
    """Say whether a function is a line on most short lines inside its bounds, as between sharp kinks; 12 queries."""
    d = oracle.n_features
    ways = _SHORT_LINE * normalize_rows(rng.standard_normal((4, d)))
    middles = 0.5 * rng.uniform(-1, 1, (4, d))
    y = oracle(Region.of(oracle).inputs(np.concatenate([middles - ways, middles, middles + ways]))).reshape(3, 4)
    bends = np.abs(y[0] - 2 * y[1] + y[2])
    return bool((bends <= ROUNDINGS * EPS * np.abs(y).max(axis=0)).sum() >= 3)
