"""What is known about a box while it is asked, where it is asked, and by which policy."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import Enum
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...activations import Activation
from ...arguments import Floats
from ...errors import NotIdentifiable
from ...fit import Fitted
from ...fit.covariance import LEVELS, cones
from ...fit.joint import Calibration
from ...likelihood import Noise
from ..ledger import Asked, Ledger, Place
from ..odd_form import Link
from ..precision import Precision
from .beside_planes import SecondUnitTest
from .bias import Replies, without_bias
from .noise_tests import Variance
from .settings import Policy

Numbers = NDArray[np.intp]  # of stored rows


class Outcome(Enum):
    """How a stage ended."""

    STANDS = "stands"
    MISSING_UNIT = "missing unit"
    REFUTED = "refuted"
    SPENT = "spent"


class CircleTest(NamedTuple):
    """statistic: largest standardised arc sum; level: weight of a unit that would have shown; alarm: it did; n_units:
    how many were known."""

    statistic: float
    level: float
    alarm: bool
    n_units: int = 0


class RowNumbers(NamedTuple):
    """Numbers of stored rows: drawn at random for the student, fitted, placed on the plane of a unit, set aside."""

    near: Numbers = np.empty(0, dtype=np.intp)
    used: Numbers = np.empty(0, dtype=np.intp)
    placed: Numbers = np.empty(0, dtype=np.intp)
    stray: Numbers = np.empty(0, dtype=np.intp)


class TrainState(NamedTuple):
    """Where the student stands: its units, those that other evidence has shown, BIC's gap, lessons in vain."""

    n_spare: int
    least: int
    gap: float
    n_lessons: int


class InputScale(NamedTuple):
    """Where units bend: radius of random inputs, what units add to the answers, and a typical slope for labels."""

    radius: float = 1.0
    signal: float = 1.0
    typical_slope: float | None = None


@dataclass(frozen=True)
class JointFit:
    """The fit to the rows in use.

    Attributes
    ----------
    fitted : Fitted
    replies : Replies
        What was fitted.
    noise : Noise
        With a spread for each answer where noise proved uneven.
    biased : bool
        Noise is additive, so that the second-order bias of fit and design can be taken off.
    """

    fitted: Fitted
    replies: Replies
    noise: Noise
    g: Activation
    biased: bool

    @cached_property
    def settled(self) -> Fitted:
        """The fit without its bias. O(n P^2) flops for P unknowns, once."""
        return without_bias(self.fitted, self.replies, self.noise, self.g) if self.biased else self.fitted

    def cones(self, level: float = LEVELS[0]) -> Floats:
        """(k,) cones before they are widened, with the bias or without, whichever are wider."""
        return np.maximum(cones(self.fitted, level), cones(self.settled, level))

    @property
    def n_units(self) -> int:
        """Number of units."""
        return len(self.fitted.theta.u)


@dataclass(frozen=True)
class FitState:
    """All that a stage knows; it returns another one.

    Attributes
    ----------
    student : TrainState
    variance, repeats : Variance
        Of the noise: as the residuals show it, and as repeats or the first look do.
    rows : RowNumbers
    joint : JointFit or None
        None before the first lesson.
    scale : InputScale
    widening : Calibration
        Of the cones.
    another : CircleTest or None
        The last look for a further unit.
    partners : SecondUnitTest or None
        The last look for units that are two.
    larger_fit : Fitted or None
        With one more unit, if the last look at all replies showed one.
    from_steps : bool
        Units come from steps on a circle.
    stopped_by : str
        What ran out.
    """

    student: TrainState
    variance: Variance
    repeats: Variance
    rows: RowNumbers = field(default_factory=RowNumbers)
    joint: JointFit | None = None
    scale: InputScale = field(default_factory=InputScale)
    widening: Calibration = field(default=Calibration(1.5, 1.5, 1.5))  # before it is calibrated
    another: CircleTest | None = None
    partners: SecondUnitTest | None = None
    larger_fit: Fitted | None = None
    from_steps: bool = False
    stopped_by: str = ""

    @property
    def known(self) -> JointFit:
        """The joint fit; raises before there is one."""
        if self.joint is None:
            raise NotIdentifiable("No number of units explains the answers.")
        return self.joint

    @property
    def cones(self) -> Floats:
        """(k,) calibrated cones of 99%."""
        return np.asarray(self.widening.stop * self.known.cones())

    @property
    def bound_999(self) -> float:
        """Widest calibrated cone of 99.9%."""
        return float(self.widening.surely * self.known.cones(LEVELS[2]).max())

    @property
    def radius(self) -> float:
        """Of random inputs."""
        return self.scale.radius

    def with_rows(self, **changes: Numbers) -> FitState:
        """Return the state with other row numbers."""
        return replace(self, rows=self.rows._replace(**changes))

    def with_student(self, **changes: float) -> FitState:
        """Return the state with another state of the student."""
        return replace(self, student=self.student._replace(**changes))  # type: ignore[arg-type]

    def without_test(self) -> FitState:
        """Return the state without what was asked beside the hyperplanes of other units; alarms are counted on."""
        if self.partners is None:
            return self
        return replace(self, partners=self.partners._replace(log_ratios=np.empty(0)))

    def has_excess(self, level: float) -> bool:
        """Tell whether the residuals have outgrown the noise of the repeats."""
        joint = self.known
        # F test of the residual variance against that of the repeats.
        residuals = joint.fitted.residuals
        freedom = len(residuals) - len(joint.fitted.information)
        return not joint.noise.labels and self.repeats.too_small(float((residuals**2).sum()), freedom, level)


@dataclass
class _Kept:
    """The latest state, kept for the case that a budget ends a stage halfway."""

    latest: FitState | None = None


@dataclass(frozen=True)
class Session:
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
    kept: _Kept = field(default_factory=_Kept)

    @property
    def ledger(self) -> Ledger:
        """What was asked so far, and what each step spent."""
        return self.place.ledger

    @property
    def g(self) -> Activation:
        """The odd sigmoid of the units."""
        return self.link.odd

    @property
    def bounded(self) -> bool:
        """Whether inputs must stay inside bounds."""
        return self.place.region.is_bounded

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

    def draw(self, n: int, state: FitState) -> Floats:
        """Return n random inputs, (n, d)."""
        return self.place.region.draw(n, state.radius, self.rng)

    def spread(self, state: FitState) -> float:
        """Return the standard deviation of the entries of random inputs."""
        return self.place.region.spread(state.radius)

    def noise(self, state: FitState) -> Noise:
        """Return the noise of one size that is believed in."""
        if self.labels:
            return Noise(1.0, labels=True, typical_slope=state.scale.typical_slope)
        return Noise(state.variance.sd)

    def keep(self, state: FitState) -> FitState:
        """Note a state, so that a spent budget costs no more than the round it ends in."""
        self.kept.latest = state
        self.ledger.n_units = 0 if state.joint is None else state.joint.n_units
        return state
