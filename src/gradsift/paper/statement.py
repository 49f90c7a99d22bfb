"""What is known about one statement."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

PRINTED = "gradsift.paper.theory.printed."  # where printed forms are kept, to be shown failing


@dataclass(frozen=True)
class Erratum:
    """A slip of the paper.

    Attributes
    ----------
    name : str
        Short name; a test marked ``paper(label, erratum=name)`` shows the printed form failing.
    printed, right : str
        The two forms, in our words.
    form : str
        Dotted name of the printed form as a function, where it is one ("" otherwise).
    """

    name: str
    printed: str
    right: str
    form: str = ""

    def function(self) -> Callable[..., Any]:
        """Return the printed form itself, to be tried out."""
        if not self.form:
            raise ValueError(f"The erratum {self.name!r} is a matter of words: its printed form is no function.")
        module, name = self.form.rsplit(".", 1)
        found: Callable[..., Any] = getattr(importlib.import_module(module), name)
        return found


@dataclass(frozen=True)
class Statement:
    """One equation, lemma, theorem, algorithm or figure.

    Attributes
    ----------
    label : str
        LaTeX label.
    kind : str
    place : str
        Section of the paper.
    says : str
        The statement in our own words.
    errata : tuple of Erratum
    """

    label: str
    kind: str
    place: str
    says: str
    errata: tuple[Erratum, ...] = ()
