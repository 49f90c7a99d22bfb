"""The exact black box: find the network inside with about as many queries as it has unknowns."""

from __future__ import annotations

from .outputs import OutputLayer, solve_outputs
from .pipeline import identify
from .result import Identification, Progress
from .student import Student, train_student

__all__ = ["Identification", "OutputLayer", "Progress", "Student", "identify", "solve_outputs", "train_student"]
