"""Which pipeline fits a black box: how good its answers are, and where it may be asked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from ..checks import any_method
from ..errors import BudgetSpent, NotIdentifiable, OracleFailure
from ..oracle import Oracle
from .answers import Floor, choose_path, with_roughness
from .asking import n_affordable
from .bounded import StraightInParts, identify_bounded
from .depth import NeitherOneNorSeveral, identify_exact, identify_fine
from .exact import AlgebraicTails, WrongFamily, is_fine
from .exact.families import GrowsBothWays
from .kinked import KINKED, SMOOTH, grain_of, open_kinked, open_within, straight_in_parts
from .links import link_of
from .noisy import identify_beside_line, identify_imperfect
from .result import Identification, Progress
from .second_look import LOOK_COST, constant_in_pieces, look_again
from .verify import verified

__all__ = ["identify_box"]

_MOST_TAUGHT = 64  # units beyond which no student is trained to come close to the box; guess


def identify_box(
    oracle: Oracle,
    activation: str | None,
    rng: np.random.Generator,
    *,
    accuracy: float | None = None,
    layers: int | str = "auto",
    progress: Callable[[Progress], None] | None = None,
    n_verify: int = 0,
    **options: Any,
) -> Identification:
    """Find out how good the answers are (two queries if they are exact) and take the pipeline made for that.

    Parameters
    ----------
    oracle : Oracle
        With one output.
    activation : str, optional
        None or "auto": told from the answers where they are precise enough, else tanh.
    accuracy : float, optional
        Direction error wanted of a noisy oracle; an exact one is identified to the last digits anyway.
    layers : {"auto", 1, 2, 3}
        Hidden layers; several only where answers are exact or finely rounded, and not bounded.
    n_verify : int
        Fresh inputs to ask at the end, for nothing but to see whether the network foretells their answers.
    **options
        Of :func:`gradsift.blackbox.identify`, which only takes exact answers.
    """
    if oracle.bounds is not None and not np.isfinite([oracle.bounds.low, oracle.bounds.high]).all():
        raise ValueError("bounds must all be finite to find units inside them: name a range for every input.")
    try:
        activation, floor = _first_look(oracle, activation or "auto", rng)
        try:
            found, floor = _identify(oracle, activation, floor, rng, accuracy, layers, progress, n_verify, options)
        except NotIdentifiable as refused:
            found, floor = _after_all(refused, oracle, activation, floor, rng, accuracy, progress)
    except OracleFailure as lost:  # a link's range was left
        pieces = "" if oracle.link is None else constant_in_pieces(oracle, rng)
        if not pieces:
            raise
        raise NotIdentifiable(pieces) from lost
    found = replace(found, floor=floor, diagnostics={**found.diagnostics, "answers": str(floor)})
    return found if found.verification is not None else verified(found, oracle, n_verify, rng)


def _identify(
    oracle: Oracle, activation: str, floor: Floor, rng: np.random.Generator, accuracy: float | None,
    layers: int | str, progress: Callable[[Progress], None] | None, n_verify: int, options: dict[str, Any],
) -> tuple[Identification, Floor]:  # fmt: skip
    """Choose the pipeline by the first answers, and follow it; what limits the answers may be known better then."""
    inside = activation in KINKED and (oracle.link is not None or oracle.bounds is not None)
    by_derivatives = activation in SMOOTH and oracle.bounds is not None
    known = None if activation in ("auto", *KINKED) else link_of(activation)
    fine = is_fine(floor, known, oracle.n_features)
    if layers in (2, 3) and (oracle.bounds is not None or not (fine or floor.kind == "exact")):
        where = "inside bounds" if oracle.bounds is not None else f"where {floor}"
        raise NotIdentifiable(
            "Several hidden layers are read from precise answers far out, where all units of the first stand still: "
            f"{where} that is not possible."
        )
    if inside and not by_derivatives:
        found = open_within(oracle, activation, floor, rng, progress=progress, **options)
    elif oracle.bounds is not None:
        floor = with_roughness(floor, oracle, rng)
        found = _inside_bounds(oracle, activation, floor, rng, accuracy, progress, options)
    elif activation in KINKED:
        if floor.kind == "labels":
            raise NotIdentifiable(
                f"Labels cannot tell {activation} units, which grow: their mean must stay within -1 and 1."
            )
        grain = grain_of(with_roughness(floor, oracle, rng))
        found = open_kinked(oracle, activation, rng, progress=progress, grain=grain, **options)
    elif floor.kind == "exact":
        try:  # sigmoids first, if nothing is known: that costs them no query, and others about fifteen
            found = identify_exact(
                oracle, activation, rng, layers=layers, progress=progress, n_verify=n_verify, **options
            )
        except GrowsBothWays:
            if activation != "auto":
                raise
            found = open_kinked(oracle, "auto", rng, progress=progress, **options)
    elif fine:
        try:
            found = identify_fine(oracle, activation, rng, floor, layers=layers, progress=progress)
        except GrowsBothWays as grows:
            raise NotIdentifiable(
                f"Far out the function grows as ReLU or similar units do, and {floor}: name the activation, which is "
                "told only from answers of double precision ('relu', 'leaky_relu', 'softplus', 'silu', 'gelu' or "
                "'gelu_tanh')."
            ) from grows
    else:
        floor = with_roughness(floor, oracle, rng)
        found = identify_beside_line(
            oracle, _saturating(activation), rng, accuracy=accuracy, floor=floor, progress=progress, **options
        )
    return found, floor


def _saturating(activation: str) -> str:
    """Return the activation of units that saturate: tanh where it is not given."""
    return "tanh" if activation == "auto" else activation


def _inside_bounds(
    oracle: Oracle, activation: str, floor: Floor, rng: np.random.Generator, accuracy: float | None,
    progress: Callable[[Progress], None] | None, options: dict[str, Any],
) -> Identification:  # fmt: skip
    """Find units inside bounds; where nothing is known, kinks before a student if the function is straight in parts."""

    def found(straight: Callable[[], bool] | None = None) -> Identification:
        return identify_bounded(
            oracle, _saturating(activation), rng, others=SMOOTH if activation == "auto" else (), accuracy=accuracy,
            floor=floor, progress=progress, straight=straight, **options,
        )  # fmt: skip

    if activation != "auto" or floor.kind != "exact":
        return found()
    try:
        return found(lambda: straight_in_parts(oracle, rng))
    except StraightInParts:
        smooth = None  # not tried to its end
    except NotIdentifiable as refused:
        if not straight_in_parts(oracle, rng):
            raise
        smooth = refused
    try:
        return open_within(oracle, "relu", floor, rng, progress=progress, **options)
    except NotIdentifiable as kinks:
        if smooth is not None:
            raise smooth from kinks
    return found()


def _first_look(oracle: Oracle, activation: str, rng: np.random.Generator) -> tuple[str, Floor]:
    """Return the activation, as far as it is known by now, and how good the answers are.

    What leaves the range of a link far out grows like ReLU.
    """
    nearby = activation in KINKED and oracle.link is not None
    try:
        return activation, choose_path(oracle, rng, far=not nearby)
    except OracleFailure:
        if oracle.link is None or activation != "auto":
            raise
        return "relu", choose_path(oracle, rng, far=False)


def _n_units(refused: NotIdentifiable) -> int:
    """Return how many units were found before a refusal."""
    return refused.partial.model.n_units if isinstance(refused.partial, Identification) else 0


def _after_all(
    refused: NotIdentifiable, oracle: Oracle, activation: str, floor: Floor, rng: np.random.Generator,
    accuracy: float | None, progress: Callable[[Progress], None] | None,
) -> tuple[Identification, Floor]:  # fmt: skip
    """Take the pipeline for noise where answers are random after all, or nearly those of units; else refuse, with the
    cause that a second look shows."""
    another = isinstance(refused, (AlgebraicTails, WrongFamily))
    silent = bool(floor.outputs) and not any(r.grid for r in floor.outputs)  # neither noise nor decimals
    if another or not silent or n_affordable(oracle, LOOK_COST) < LOOK_COST:
        raise refused
    seen = look_again(oracle, floor, rng)
    if seen.cause:
        raise NotIdentifiable(seen.cause, refused.partial) from refused
    if seen.link:
        raise NotIdentifiable(f"{seen.link[0].upper()}{seen.link[1:]}. {refused}", refused.partial) from refused
    beyond = isinstance(refused, NeitherOneNorSeveral) or _n_units(refused) > _MOST_TAUGHT
    plain = floor.kind == "exact" and oracle.bounds is None and activation not in KINKED
    if seen.floor is None or not plain or (beyond and not seen.is_noise):
        raise refused
    try:
        family = _saturating(activation)
        found = identify_imperfect(oracle, family, rng, accuracy=accuracy, floor=seen.floor, progress=progress)
    except (NotIdentifiable, BudgetSpent) as other:
        raise (other if seen.is_noise else refused) from None
    if not seen.is_noise:
        checks = (any_method.remainder(seen.floor.sd), *found.checks)
        found = replace(found, judgement=replace(found.judgement, checks=checks))
    return found, seen.floor
