"""The black box: find the network inside, whatever the quality of its answers."""

from __future__ import annotations

from .exact.search import identify
from .exact.tail_student import Student, train_student
from .outputs import OutputLayer, solve_last_layer, solve_outputs
from .result import Identification, Progress
from .route import identify_box

__all__ = [
    "Identification", "OutputLayer", "Progress", "Student",
    "identify", "identify_box", "solve_last_layer", "solve_outputs", "train_student",
]  # fmt: skip
