"""What a refused box is instead: noisy, changed, constant in pieces, behind a link, or units and a small remainder."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..arguments import Floats
from ..geometry import normalize_rows
from ..oracle import Oracle
from ..oracle.output_links import likely_link
from .ledger import EPS, n_affordable
from .precision import Floor, usual_points

_REPEATED = 8  # inputs asked twice
_FAR_AGAIN = 1e3  # inputs this far out see sigmoids stand still; guess
_ON_RAY = 8
_SMALL = 0.05  # of the answers' spread: a remainder up to this size is worth a network beside it; guess
_BITS = 64.0  # rounding errors by which equal questions may be answered differently
_BESIDE = 1e-4  # inputs this near lie in one piece of a function that is constant in pieces; "random forest"; guess
_IN_A_PIECE = 7  # of _REPEATED pairs that must be answered alike; guess
_VALUES = 3  # different ones that a function has at least, unless it is constant; guess
_BISECTED = 40  # from two inputs to a jump between them: to a width of 1e-12
_TENTH_DIGIT = 1e-10  # inputs this near are one to a box that rounds them to single precision, and two to others; guess
_OUTMOST = 1e8  # inputs so far out that whatever grows leaves the range of a link; guess
_N_OUTMOST = 4
_JUMP = 1e-6  # of the answers' spread: least jump at that width, where slopes of up to 1e5 rise by 1e-7; guess
_SHORT_LINE = 1e-3  # half a short line inside bounds, over their half-width; guess
LOOK_COST = 2 * _REPEATED + _ON_RAY + _N_OUTMOST + 1


class SecondLook(NamedTuple):
    """What a few more answers say.

    Attributes
    ----------
    cause : str
        Why no network was found, in a sentence; "" where that is not seen.
    link : str
        The option that undoes the link that outputs look like; "".
    floor : Floor or None
        What limits the answers after all: noise, or a small remainder that does not settle far out.
    is_noise : bool
        Whether it is noise.
    """

    cause: str = ""
    link: str = ""
    floor: Floor | None = None
    is_noise: bool = False


def look_again(oracle: Oracle, floor: Floor, rng: np.random.Generator) -> SecondLook:
    """Ask some inputs twice, the very first one again, and some far out; 16 to 29 queries, up to 64 more for pieces."""
    points = usual_points(oracle, _REPEATED, rng)
    first, again = oracle.outputs(points), oracle.outputs(points[::-1])[::-1]  # (8, m)
    rounding = _BITS * floor.eps * np.abs(first).max(axis=0) + 2 * floor.grid
    if (np.abs(first - again) > rounding).any():
        sd = float(np.sqrt(0.5 * np.mean((oracle.seen(first, points) - oracle.seen(again, points)) ** 2)))
        return SecondLook(floor=Floor("noisy", sd), is_noise=True)
    if floor.first is not None:
        now = oracle.outputs(floor.first.row)
        off = np.abs(now - floor.first.outputs)
        if (off > rounding).any():
            return SecondLook(
                "The first input that was asked is answered otherwise now, by up to "
                f"{off.max():.3g}, while answers repeat: the box has changed on the way. Ask one that stays the same."
            )
    pieces = constant_in_pieces(oracle, rng)
    if pieces:
        return SecondLook(pieces)
    if floor.kind == "exact" and oracle.bounds is None and _rounds_inputs(oracle, points, first, rounding):
        return SecondLook(
            f"Inputs {_TENTH_DIGIT:g} apart have equal answers ({_IN_A_PIECE} of {_REPEATED} pairs or more), and those "
            f"{_BESIDE:g} apart have not: the box rounds its inputs, to single precision for instance, while its "
            "answers are doubles. Let it calculate in double precision, or return answers of the precision of its "
            "inputs (numpy.float32)."
        )
    if oracle.bounds is not None:
        return SecondLook(link="" if oracle.link else likely_link(first))
    way = rng.standard_normal(oracle.n_features)
    rows = _FAR_AGAIN * (1 + rng.random(_ON_RAY))[:, None] * way / np.linalg.norm(way)
    far = oracle.outputs(rows)
    if oracle.link is not None:
        return SecondLook()
    link = likely_link(first, far)
    if link:
        outmost = oracle.outputs(_OUTMOST * usual_points(oracle, _N_OUTMOST, rng))
        link = likely_link(first, outmost)
    size, spread = float(np.std(oracle.seen(far, rows))), float(np.std(oracle.seen(first, points)))
    if _BITS * floor.eps * float(np.abs(far).max()) < size < _SMALL * spread:
        remainder = Floor("rounded", size, np.sqrt(12.0) * size, remainder=True)  # the same wherever it is asked twice
        return SecondLook(link=link, floor=remainder)
    return SecondLook(link=link)


def constant_in_pieces(oracle: Oracle, rng: np.random.Generator) -> str:
    """Say that a function without noise is constant in pieces, if it is, with a jump that was measured; else "".

    16 queries; 40 more to halve the way between two answers, which tells a jump from a steep slope.
    """
    cost = 2 * _REPEATED + _BISECTED
    if n_affordable(oracle, cost) < cost:
        return ""
    points = usual_points(oracle, _REPEATED, rng)
    scale = _BESIDE if oracle.bounds is None else _BESIDE * (oracle.bounds.high - oracle.bounds.low)
    middle = 0.0 if oracle.bounds is None else 0.5 * (oracle.bounds.high + oracle.bounds.low)
    beside = points + scale * np.sign(middle - points)  # towards the middle, which no bounds forbid
    here, there = np.split(oracle.outputs(np.concatenate([points, beside])), 2)
    n_alike = int((here == there).all(axis=1).sum())
    if n_alike < _IN_A_PIECE or len(np.unique(here, axis=0)) < _VALUES:
        return ""
    ends, answers = _halved(oracle, points, here)
    jump = float(np.abs(answers[0] - answers[1]).max())
    if jump <= _JUMP * float(np.ptp(here, axis=0).max()):
        return ""
    return (
        f"The function is constant in pieces: of {_REPEATED} pairs of inputs {_BESIDE:g} apart {n_alike} have equal "
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
    return bool(same.all(axis=1).sum() >= _IN_A_PIECE and other.any(axis=1).sum() >= _IN_A_PIECE)


def _halved(oracle: Oracle, points: Floats, answers: Floats) -> tuple[Floats, Floats]:
    """Return two inputs (2, d) with different answers (2, m), as near to each other as halving the way brings them."""
    other = int(np.argmax((answers != answers[0]).any(axis=1)))
    ends, values = points[[0, other]].copy(), answers[[0, other]].copy()
    for _ in range(_BISECTED):
        middle = ends.mean(axis=0)
        answer = oracle.outputs(middle[None])[0]
        # The half with the larger difference: on a slope it shrinks with the way, on a jump it does not.
        keep = int(np.abs(answer - values[0]).max() > np.abs(answer - values[1]).max())
        ends[keep], values[keep] = middle, answer
    return ends, values


def straight_in_parts(oracle: Oracle, rng: np.random.Generator) -> bool:
    """Say whether a function is a line on most short lines inside its bounds, as between sharp kinks; 12 queries."""
    if oracle.bounds is None:
        raise ValueError("oracle must have bounds.")
    low, high = oracle.bounds
    middle, half, d = (low + high) / 2, (high - low) / 2, oracle.n_features
    ways = _SHORT_LINE * normalize_rows(rng.standard_normal((4, d)))
    middles = 0.5 * rng.uniform(-1, 1, (4, d))
    y = oracle(middle + half * np.concatenate([middles - ways, middles, middles + ways])).reshape(3, 4)
    bends = np.abs(y[0] - 2 * y[1] + y[2])
    return bool((bends <= _BITS * EPS * np.abs(y).max(axis=0)).sum() >= 3)
