"""The black box: find the network inside, whatever the quality of its answers."""

from __future__ import annotations

from .outputs import OutputLayer, output_errors, solve_output_layer, solve_outputs
from .plateaus.search import identify
from .plateaus.tails import Student, train_student
from .precision import Precision
from .result import Progress, Reading, Verification
from .route import identify_box
from .verify import verify

__all__ = [
    "OutputLayer", "Precision", "Progress", "Reading", "Student", "Verification", "identify", "identify_box",
    "output_errors", "solve_output_layer", "solve_outputs", "train_student", "verify",
]  # fmt: skip
