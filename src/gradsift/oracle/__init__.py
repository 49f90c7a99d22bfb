"""The black box, wrapped: counting, budget, batches, retries, journal, and adapters for common kinds of boxes."""

from __future__ import annotations

from .adapters.http import from_url
from .adapters.onnx_file import from_onnx
from .adapters.pytorch import from_torch
from .adapters.recorded import from_journal, from_table
from .adapters.scikit import from_sklearn
from .inputs import Answers, Bounds, InputFrame
from .journal import Journal
from .oracle import Oracle
from .retry import Retry
from .spec import from_spec

__all__ = [
    "Answers",
    "Bounds",
    "InputFrame",
    "Journal",
    "Oracle",
    "Retry",
    "from_journal",
    "from_onnx",
    "from_sklearn",
    "from_spec",
    "from_table",
    "from_torch",
    "from_url",
]
