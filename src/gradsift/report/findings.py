"""Diagnostics in plain words: what each number of a run means, and what to do about it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from ..recovery import Recovery

__all__ = ["Finding", "findings"]


class Finding(NamedTuple):
    """One thing a run tells: level is "good", "note" or "doubt"; `do` says what to change ("" for nothing)."""

    level: str
    says: str
    do: str = ""


Facts = dict[str, Any]


def findings(found: Recovery) -> list[Finding]:
    """Return what the run's diagnostics say, doubts first; rules whose numbers are missing stay silent."""
    facts = {**found.diagnostics, "k": found.n_units, "units": found.model.units, "errors": found.standard_errors}
    told = [rule(facts) for needed, rule in _RULES if all(facts.get(name) is not None for name in needed)]
    order = {"doubt": 0, "note": 1, "good": 2}
    return sorted((f for f in told if f is not None), key=lambda f: order[f.level])


def _support(facts: Facts) -> Finding:
    support = facts["median_support"]
    if support < 30:
        return Finding(
            "doubt",
            f"The median candidate rests on {support:.3g} effective samples; below about 30 it is mostly noise.",
            "Use more rows or queries, or lower point_scale.",
        )
    return Finding("good", f"The median candidate rests on {support:,.0f} effective samples.")


def _scatter(facts: Facts) -> Finding:
    cosine = facts["mean_cosine"]
    if cosine < 0.9:
        return Finding(
            "doubt",
            f"Candidates scatter around their cluster centres (mean cosine {cosine:.2f}; near 1 is tight).",
            "Ask for purer candidates (min_purity), more queries per point, or check the number of units.",
        )
    return Finding("good", f"Candidates lie tightly around their cluster centres (mean cosine {cosine:.3f}).")


def _contradicted(facts: Facts) -> Finding | None:
    n = facts["n_contradicted"]
    if not n:
        return None
    return Finding(
        "doubt",
        f"{n} fitted weights have the opposite sign of what their candidates say.",
        "Those units are probably spurious: ask for fewer units or purer candidates.",
    )


def _not_gaussian(facts: Facts) -> Finding | None:
    if max(facts["covariance_off"], facts["largest_mean"]) <= 0.2:
        return None
    return Finding(
        "doubt",
        "The rows are not standard Gaussian, which the paper's kernel assumes "
        f"(covariance off by {facts['covariance_off']:.2g}, mean by {facts['largest_mean']:.2g}).",
        'Standardise the columns, or use method="auto".',
    )


def _consistency(facts: Facts) -> Finding:
    chi = facts["chi"]
    if np.isfinite(chi) and chi < 2:
        return Finding("good", f"Every answer agrees with the model to {chi:.2g} times the expected rounding error.")
    return Finding(
        "doubt",
        f"Some answer misses the model by {chi:.3g} times the expected rounding error.",
        "The black box may be noisy, rounded, or another function: state noise=, or try another activation.",
    )


def _attempts(facts: Facts) -> Finding | None:
    n = facts["attempts"]
    if n <= 1:
        return None
    return Finding("note", f"It took {n} circles to see every unit: some units hide each other from one plane.")


def _angle(facts: Facts) -> Finding | None:
    units = facts["units"]
    if len(units) < 2 or len(units) > 2000:
        return None
    cosines = np.abs(units @ units.T) - 2 * np.eye(len(units))
    i, j = np.unravel_index(int(np.argmax(cosines)), cosines.shape)
    degrees = float(np.degrees(np.arccos(min(1.0, cosines[i, j]))))
    pair = f"units {min(i, j) + 1} and {max(i, j) + 1}, {degrees:.3g} degrees apart"
    if degrees < 5:
        return Finding("note", f"The closest pair are {pair}: small errors move weight between them.")
    return Finding("good", f"The closest pair are {pair}.")


def _better(facts: Facts) -> Finding:
    p = facts["p_better"]
    if np.isnan(p):
        return Finding("doubt", "There are too few rows to test for a further unit.", "Use more rows.")
    if p < 0.01:
        return Finding(
            "doubt",
            f"A test finds that a better or further unit exists (p = {p:.1g}).",
            "Allow more units, or raise max_rounds.",
        )
    return Finding("good", f"A test on held-out halves finds no further unit (p = {p:.2g}).")


def _rivals(facts: Facts) -> Finding | None:
    gap, hits = facts["gap"], facts["hits"]
    if gap < 3 and hits < 3:
        return Finding(
            "doubt",
            f"Another solution fits almost as well ({gap:.1f} nats behind; this one was reached {hits} times).",
            "Use more rows, or compare both by what they mean.",
        )
    return Finding("good", f"Independent starts reached this solution {hits} times.") if hits > 1 else None


def _simpler(facts: Facts) -> Finding | None:
    constant, linear = facts["gain_over_constant"], facts["gain_over_linear"]
    if constant <= 0:
        return Finding("doubt", "A constant explains these rows as well: there is no signal to speak of.",
                       "Check the target column, or collect more rows.")  # fmt: skip
    if linear <= 0:
        return Finding("doubt", "A linear function explains these rows as well.",
                       "Use linear or logistic regression, or more rows.")  # fmt: skip
    return Finding("good", f"BIC prefers this model to a constant by {constant:,.0f}.")


def _flat(facts: Facts) -> Finding | None:
    n = facts["n_flat"]
    if not n:
        return None
    return Finding(
        "doubt",
        f"{n} directions of the inputs do not vary (constant or collinear columns): units are unknown along them.",
        "Drop the columns that repeat others.",
    )


def _converged(facts: Facts) -> Finding | None:
    if facts["converged"]:
        return None
    return Finding("doubt", "The last polish did not converge.", "Run again with another seed or fewer units.")


def _notes(facts: Facts) -> Finding | None:
    notes = [str(note) for note in facts["notes"]]
    return Finding("note", "On the way: " + "; ".join(notes) + ".") if notes else None


_RULES: tuple[tuple[tuple[str, ...], Callable[[Facts], Finding | None]], ...] = (
    (("median_support",), _support),
    (("mean_cosine",), _scatter),
    (("n_contradicted",), _contradicted),
    (("covariance_off", "largest_mean"), _not_gaussian),
    (("chi",), _consistency),
    (("attempts",), _attempts),
    (("units",), _angle),
    (("p_better",), _better),
    (("gap", "hits"), _rivals),
    (("gain_over_constant", "gain_over_linear"), _simpler),
    (("n_flat",), _flat),
    (("converged",), _converged),
    (("notes",), _notes),
)
