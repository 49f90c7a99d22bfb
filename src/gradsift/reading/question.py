"""What is known about a black box, and what is ruled out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeVar

from ..activations import ACTIVATIONS, Activation, get_activation
from ..errors import NotIdentifiable
from .precision import Precision
from .region import Region

Value = TypeVar("Value")

EVERY_DEPTH = frozenset({1, 2, 3})  # hidden layers that are looked for where their number is not given
PLATEAUS, ALGEBRAIC, SHARP, SMOOTH, BENT = "plateaus", "algebraic tails", "sharp kinks", "smooth growth", "bent growth"
SATURATING_KINDS, GROWING_KINDS = frozenset({PLATEAUS, ALGEBRAIC}), frozenset({SHARP, SMOOTH, BENT})


def kind_of(f: Activation) -> str:
    """Return by which of five ways the units of an activation show in answers."""
    if f.saturates:
        return PLATEAUS if f.has_plateaus else ALGEBRAIC
    if f.homogeneous:
        return SHARP
    return SMOOTH if f.is_smooth else BENT


def names_of(*kinds: str) -> frozenset[str]:
    """Return the names of all known activations of these kinds."""
    return frozenset(name for name, f in ACTIVATIONS.items() if kind_of(f) in kinds)


def all_but(names: frozenset[str]) -> frozenset[str]:
    """Return the names of all other activations."""
    return frozenset(ACTIVATIONS) - names


class Narrowing(NamedTuple):
    """What is no longer possible.

    families, depths : activations and numbers of hidden layers
    precision : how answers err after all; None where that is as believed
    """

    families: frozenset[str] = frozenset()
    depths: frozenset[int] = frozenset()
    precision: Precision | None = None


def attempted(read: Callable[[], Value]) -> Value | NotIdentifiable:
    """Return what a reading gives, or why it gives nothing: inside the house a refusal is a value."""
    try:
        return read()
    except NotIdentifiable as refused:
        return refused


class Goal(NamedTuple):
    """What the user wants: an accuracy of the directions, and fresh inputs to verify the network on."""

    accuracy: float | None = None
    n_verify: int = 0


NO_GOAL = Goal()


class Refusal(NamedTuple):
    """Why a reader did not read a box, what that rules out, and what it had by then."""

    reader: str
    because: str
    rules_out: Narrowing
    partial: Any = None


@dataclass(frozen=True)
class Question:
    """What is known about a box; scouts and refusals only ever narrow it.

    Attributes
    ----------
    families : frozenset of str
        Activations still possible.
    depths : frozenset of int
        Numbers of hidden layers still possible.
    precision : Precision
        How an answer errs.
    region : Region
        Where it may be asked.
    goal : Goal
    named : bool
        Whether the user gave the activation.
    """

    families: frozenset[str]
    depths: frozenset[int]
    precision: Precision
    region: Region
    goal: Goal = NO_GOAL
    named: bool = False

    @property
    def level(self) -> str:
        """How precise answers are: "exact", "fine", "coarse", "noisy", "labels" or "decisions"."""
        return "coarse" if self.precision.is_fine and not self.is_fine else self.precision.level

    @property
    def is_fine(self) -> bool:
        """Whether answers are rounded so finely that sigmoids can be inverted; of one input they show too little."""
        return self.precision.is_fine and self.region.n_features > 1

    def narrowed(self, by: Narrowing) -> Question:
        """Return the question without what is ruled out."""
        precision = self.precision if by.precision is None else by.precision
        return replace(self, families=self.families - by.families, depths=self.depths - by.depths, precision=precision)

    def of_kinds(self, *kinds: str) -> tuple[str, ...]:
        """Return the families of these kinds that are still possible, in the order of the catalogue."""
        return tuple(name for name, f in ACTIVATIONS.items() if name in self.families and kind_of(f) in kinds)

    def __str__(self) -> str:
        """What a reader would have to read."""
        depths = " or ".join(map(str, sorted(self.depths)))
        layers = f"{depths} hidden layer{'' if self.depths == {1} else 's'}"
        units = " or ".join(n for n in ACTIVATIONS if n in self.families) if len(self.families) < 3 else (
            "sigmoid" if all(get_activation(n).saturates for n in self.families)
            else "growing" if not any(get_activation(n).saturates for n in self.families) else "any"
        )  # fmt: skip
        link = " behind an output link" if self.region.has_link else ""
        where = " inside bounds" if self.region.is_bounded else link
        return f"{layers} of {units} units{where}, where {self.precision}"


def ask_of(region: Region, activation: str | None, layers: int | str, precision: Precision, goal: Goal) -> Question:
    """Return the question that a call means; no activation and "auto" mean all that answers can tell apart."""
    named = activation is not None and activation != "auto"
    families = frozenset(name for name, f in ACTIVATIONS.items() if f.odd_form is None or f.odd_form.g.name == name)
    if activation is not None and named:
        families = frozenset({get_activation(activation).name})
    depths = EVERY_DEPTH if layers == "auto" else frozenset({int(layers)})
    question = Question(families, depths, precision, region, goal, named)
    if named or question.precision.is_exact or (question.is_fine and not region.is_bounded):
        return question
    if question.precision.is_decision:  # a boundary is straight in parts, or bends smoothly
        return replace(question, families=families & (names_of(PLATEAUS) | frozenset({"relu"})))
    # Imperfect answers do not tell families apart: sigmoids with plateaus are the first to look for.
    return replace(question, families=families & names_of(PLATEAUS))
