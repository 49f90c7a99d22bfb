"""Where stages ask, and what is known before the first answer."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from ...activations import Activation
from ...arguments import Floats
from ...likelihood import Noise
from ..ledger import Asked, Ledger
from ..odd_form import Link
from ..precision import Precision
from .policies import Policy
from .state import Belief


@dataclass
class _Diary:
    """The latest belief, kept for the case that a budget ends a stage halfway."""

    latest: Belief | None = None


class Place(Protocol):
    """Where inputs may lie, in the coordinates of the fit; keeps all rows and answers."""

    @property
    def ledger(self) -> Ledger: ...

    @property
    def X(self) -> Floats: ...

    @property
    def y(self) -> Floats: ...

    def ask(self, rows: Floats, step: str) -> Asked: ...

    def draw(self, n: int, radius: float, rng: np.random.Generator) -> Floats: ...

    def spread(self, radius: float) -> float: ...


@dataclass(frozen=True)
class Anywhere:
    """All inputs are allowed."""

    ledger: Ledger

    @property
    def X(self) -> Floats:
        """All stored rows, (n, d)."""
        return self.ledger.X

    @property
    def y(self) -> Floats:
        """Answers to these rows."""
        return self.ledger.y

    def ask(self, rows: Floats, step: str) -> Asked:
        """Ask at some rows."""
        return self.ledger.ask_numbered(rows, step)

    def draw(self, n: int, radius: float, rng: np.random.Generator) -> Floats:
        """Return n random rows, (n, d)."""
        return np.asarray(radius * rng.standard_normal((n, self.ledger.n_features)))

    def spread(self, radius: float) -> float:
        """Return the standard deviation of their entries."""
        return radius


@dataclass(frozen=True)
class Asker:
    """Who asks.

    Attributes
    ----------
    place : Place
    link : Link
    precision : Precision
        What limits the answers.
    asked_for : float or None
        Direction error that the user wants.
    rng : Generator
    policy : Policy
    """

    place: Place
    link: Link
    precision: Precision
    asked_for: float | None
    rng: np.random.Generator
    policy: Policy
    diary: _Diary = field(default_factory=_Diary)

    @property
    def ledger(self) -> Ledger:
        """What was asked so far, and what each step spent."""
        return self.place.ledger

    @property
    def g(self) -> Activation:
        """The odd sigmoid of the units."""
        return self.link.odd

    @property
    def labels(self) -> bool:
        """Whether answers are -1 or +1."""
        return self.precision.is_label

    @property
    def noisy(self) -> bool:
        """Whether the answers' errors are additive noise whose size is not known."""
        return self.precision.has_noise

    @property
    def accuracy(self) -> float:
        """Direction error that is aimed at."""
        return self.policy.accuracy if self.asked_for is None else self.asked_for

    @property
    def n_features(self) -> int:
        """Number of inputs."""
        return self.ledger.n_features

    @property
    def X(self) -> Floats:
        """All stored rows, in the coordinates of the fit."""
        return self.place.X

    @property
    def y(self) -> Floats:
        """Answers to these rows."""
        return self.place.y

    def ask(self, rows: Floats, step: str) -> Asked:
        """Ask at rows in the coordinates of the fit."""
        return self.place.ask(rows, step)

    def draw(self, n: int, belief: Belief) -> Floats:
        """Return n random inputs, (n, d)."""
        return self.place.draw(n, belief.radius, self.rng)

    def spread(self, belief: Belief) -> float:
        """Return the standard deviation of the entries of random inputs."""
        return self.place.spread(belief.radius)

    def noise(self, belief: Belief) -> Noise:
        """Return the noise of one size that is believed in."""
        if self.labels:
            return Noise(1.0, labels=True, typical_slope=belief.reach.typical_slope)
        return Noise(belief.variance.sd)

    def keep(self, belief: Belief) -> Belief:
        """Note a belief, so that a spent budget costs no more than the round it ends in."""
        self.diary.latest = belief
        self.ledger.n_units = 0 if belief.joint is None else belief.joint.n_units
        return belief
