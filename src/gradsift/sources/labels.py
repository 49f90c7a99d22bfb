"""Whether every target is a label, -1 or +1."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .summary import Rows, Summary


class LabelState(NamedTuple):
    all_labels: bool


class LabelSummary(Summary[LabelState, bool]):
    """True where y is -1 or +1 in all rows."""

    any_layout = True

    def chunk(self, rows: Rows) -> LabelState:
        return LabelState(bool((np.abs(rows.y) == 1).all()))

    def chunk_on_device(self, rows: Any) -> LabelState:
        return LabelState(bool((rows.y.abs() == 1).all()))

    def merge(self, left: LabelState, right: LabelState) -> LabelState:
        return LabelState(left.all_labels and right.all_labels)

    def finalize(self, state: LabelState) -> bool:
        return state.all_labels
