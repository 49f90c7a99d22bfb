"""Boxes that only decide: what can be checked where every answer is one class of a few."""

from __future__ import annotations

from .check import Check, make, n_of


def crossings_as_foretold(n_missed: int, n: int, least: int, within: float) -> Check:
    """Whether the decision changes where it was foretold, on lines that were used for nothing else."""
    if n < least:
        return make(
            "fresh crossings", n, ">=", least, "",
            f"only {n_of(n, 'line')} between usual inputs are foretold to cross the boundary, {least} are needed",
            "One class is rare: give typical rows of all classes with inputs=.",
        )  # fmt: skip
    return make(
        "fresh crossings", n_missed, "<=", 0,
        f"on {n_of(n, 'fresh line')} the decision changes within {within:.1g} of where it was foretold",
        f"on {n_missed} of {n_of(n, 'fresh line')} the decision does not change where it was foretold",
        "The box has something beside these units: another seed may find it; or it is no network of one hidden layer.",
    )  # fmt: skip


def determined(is_singular: bool, n_unknowns: int) -> Check:
    """Whether the crossings determine every parameter but the common factor."""
    return make(
        "no singular information", int(is_singular), "<=", 0,
        f"the crossings determine all {n_of(n_unknowns, 'parameter')}",
        "some parameter is not determined by the boundary that was met",
        "A unit may be open: its hyperplane is met at one place of the boundary only.",
    )  # fmt: skip


def decided_alike(n: int, n_different: int, share: float) -> Check:
    """Whether typical inputs are decided as the network has it; `share` is the bound of 95% on those that are not."""
    return make(
        "decided alike", n_different, "<=", 0,
        f"{n_of(n, 'typical input')} are decided alike: less than {100 * share:.2g}% of such inputs are decided "
        "otherwise (95%)",
        f"{n_different} of {n_of(n, 'typical input')} are decided otherwise than by the network",
        "The box has something beside these units: look at the input in .verification.where.",
    )  # fmt: skip
