"""Stages that doubt: is there another unit?"""

from __future__ import annotations

from dataclasses import replace

from ...certificate import NOISY
from .missing_unit import look_for_another, weight_in_question
from .missing_unit_labels import look_for_another_by_labels
from .refit import look_wider, thin_out
from .session import Asker
from .state import Belief, Outcome

_LEAST_ASKED = 24


def look(belief: Belief, asker: Asker) -> tuple[Belief, Outcome]:
    """Ask where a further unit would show, whatever its direction."""
    return _look(belief, asker, asker.policy.another.share, asker.policy.another.shows)


def look_at_full_weight(belief: Belief, asker: Asker) -> tuple[Belief, Outcome]:
    """The same for units as strong as the known ones: where those agree, signs are sure without levers."""
    return _look(belief, asker, asker.policy.another.share, 1.0)


def look_if_changed(belief: Belief, asker: Asker) -> tuple[Belief, Outcome]:
    """The same unless this number of units was looked at already."""
    same = belief.another is not None and belief.another.n_units == belief.known.n_units
    return (belief, Outcome.STANDS) if same else look(belief, asker)


def look_when_sharp(belief: Belief, asker: Asker) -> tuple[Belief, Outcome]:
    """The same, now that known units are surer, unless the last look would have shown a unit weak enough."""
    test, u = belief.another, belief.known.fitted.theta.u
    if test is not None and test.level <= NOISY.weight_shown * weight_in_question(u):
        return belief, Outcome.STANDS
    return _look(belief, asker, asker.policy.another.share_when_sharp, asker.policy.another.shows)


def look_at_replies(belief: Belief, asker: Asker) -> tuple[Belief, Outcome]:
    """Drop units that all replies together do not need; look whether one more explains them better."""
    belief = thin_out(belief, asker)
    belief = replace(belief, wider=look_wider(belief, asker))
    return belief, Outcome.STANDS if belief.wider is None else Outcome.MISSING_UNIT


def _look(belief: Belief, asker: Asker, share: float, shows: float) -> tuple[Belief, Outcome]:
    """Look for a unit with at most this share of the queries so far."""
    settled, policy = belief.known.settled, asker.policy.another
    level = shows * weight_in_question(settled.theta.u)
    most = max(_LEAST_ASKED, int(share * asker.ledger.n_queries))
    if asker.labels:
        test = look_for_another_by_labels(settled, asker.ledger, belief.radius, level, most, asker.g, asker.rng)
    else:
        noise = asker.noise(belief)
        # On plateaus rounding is no noise: it is the same at every point of an arc.
        noise = replace(noise, sd=max(noise.sd, asker.precision.grid))
        test = look_for_another(settled, asker.ledger, noise, belief.radius, level, most, asker.g, asker.rng)
    k = len(settled.theta.u)
    # Later alarms may be errors of what is known, but labels show units one by one.
    if test.statistic > policy.beyond_doubt and (asker.labels or belief.study.least == 0):
        belief = belief.with_study(least=k + 1)
    if test.alarm:
        belief = replace(belief, reach=belief.reach._replace(radius=policy.farther * belief.radius))
    return replace(belief, another=test._replace(n_units=k)), Outcome.MISSING_UNIT if test.alarm else Outcome.STANDS
