"""The black box: find the network inside, whatever the quality of its answers."""

from __future__ import annotations

from .outputs import OutputLayer, solve_outputs
from .paths import identify_box
from .pipeline import identify
from .result import Identification, Progress
from .student import Student, train_student

__all__ = [
    "Identification", "OutputLayer", "Progress", "Student",
    "identify", "identify_box", "solve_outputs", "train_student",
]  # fmt: skip
