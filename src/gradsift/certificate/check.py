"""A check, and the verdict that checks add up to."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

_RELATIONS: dict[str, Callable[[float, float], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


@dataclass(frozen=True)
class Check:
    """One number that must be on the right side of its limit.

    Attributes
    ----------
    name : str
        Short, and the same from run to run.
    number, limit : float
        What was found (not a number: it could not be had, and the check fails) and what it is held against.
    says : str
        Part of a sentence with the numbers, true as the check came out.
    advice : str
        A sentence: what to do if the check fails.
    relation : {"<=", "<", ">=", ">"}
        Of number to limit, if the check holds.
    """

    name: str
    number: float
    limit: float
    says: str
    advice: str
    relation: str = "<="

    @property
    def holds(self) -> bool:
        """Whether the number is on the right side."""
        return bool(_RELATIONS[self.relation](self.number, self.limit))

    @property
    def sentence(self) -> str:
        """What it says, as a sentence."""
        return f"{self.says[:1].upper()}{self.says[1:]}."

    def as_dict(self) -> dict[str, Any]:
        """Return what JSON can hold; numbers that are not finite become None."""
        number, limit = (float(v) if math.isfinite(v) else None for v in (self.number, self.limit))
        return {
            "name": self.name, "holds": self.holds, "number": number, "relation": self.relation, "limit": limit,
            "says": self.says, "advice": self.advice,
        }  # fmt: skip


@dataclass(frozen=True)
class Verdict:
    """All checks of a result, and what they add up to.

    Attributes
    ----------
    checks : tuple of Check
        The most telling first: the sentence gives the advice of the first that fails.
    found : str
        What there is whether they hold or not, as "3 units fitted".
    claim : str
        What may be said if all of them hold.
    """

    checks: tuple[Check, ...]
    found: str
    claim: str

    @property
    def certified(self) -> bool:
        """Whether every check holds; never without any."""
        return bool(self.checks) and not self.failed

    @property
    def failed(self) -> tuple[Check, ...]:
        """Those that do not hold."""
        return tuple(check for check in self.checks if not check.holds)

    @property
    def sentence(self) -> str:
        """What is claimed; or what was found, what speaks against it, and what to do first."""
        if self.certified:
            return f"Certified: {self.claim}."
        doubts = "; ".join(check.says for check in self.failed) or "nothing was checked"
        advice = self.failed[0].advice if self.failed else ""
        return f"Not certified: {self.found}, but {doubts}. {advice}".rstrip()

    def add(self, *checks: Check, first: bool = False) -> Verdict:
        """Return the verdict with more checks; with `first` before the others, so that their advice is given first."""
        return replace(self, checks=(*checks, *self.checks) if first else (*self.checks, *checks))

    def as_dict(self) -> dict[str, Any]:
        """Return what JSON can hold."""
        return {
            "certified": self.certified,
            "verdict": self.sentence,
            "checks": [check.as_dict() for check in self.checks],
        }


class Judged:
    """What has a verdict (`judgement`): certified or not, the sentence, and its checks."""

    judgement: Verdict

    @property
    def certified(self) -> bool:
        """True only when every check vouches for the result."""
        return self.judgement.certified

    @property
    def verdict(self) -> str:
        """One or two sentences: what was found, what is doubtful, what to do about it."""
        return self.judgement.sentence

    @property
    def checks(self) -> tuple[Check, ...]:
        """What the verdict rests on."""
        return self.judgement.checks


def failed_first(checks: Iterable[Check]) -> list[Check]:
    """Return the checks in the order in which all places show them."""
    return sorted(checks, key=lambda check: check.holds)


def lines(checks: Iterable[Check]) -> list[str]:
    """Return the checks as lines of text, those that fail first and with their advice."""
    return [
        f"{'holds' if check.holds else 'FAILS'}  {check.name}: {check.sentence}"
        + ("" if check.holds else f" {check.advice}")
        for check in failed_first(checks)
    ]


def n_of(n: int, noun: str) -> str:
    """Return a number of things: "1 unit", "3 units"."""
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"


def make(name: str, number: float, relation: str, limit: float, good: str, bad: str, advice: str) -> Check:
    """Return a check that says `good` if it holds, else `bad`."""
    # The relation decides which sentence is true: a number that is not one fails every relation.
    check = Check(name, float(number), float(limit), good, advice, relation)
    return check if check.holds else replace(check, says=bad)
