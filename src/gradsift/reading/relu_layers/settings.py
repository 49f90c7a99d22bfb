"""What was chosen, not derived, on the way to several layers of ReLU units.

Behind a number stands the kind of row of ``boxes/black_box_deep_relu.py`` that it was tuned on (with other seeds), or
the word guess.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ReluLayersPolicy:
    """All stages."""

    far: float = 30.0  # radius of the first paths over the reach; all rows
    pair: float = 2e-3  # spacing of two answers that make a piece, over the gap; guess
    beside: float = 1e-3  # of the room, between a crossing point and the answers that test it; guess
    step: float = 4e-2  # of a gradient, over the width of a cell; 40-20-10-1
    rounds: int = 60  # of a scan, and crossings of a walk; guess
    members: int = 14  # places at which a hyperplane or a surface is looked for again; 40-20-10-10-1
    brief: int = 6  # segments that bring nothing before a layer is complete; 40-20-10-10-1
    attempts: int = 3  # all steps, at other places; 10-20-20-1
    dense: int = 6000  # unknowns of the fit of all layers, whose equations are dense; guess
    spacing: float = 1e-7  # distance from a kink over the size of an input, below which an answer is left out; guess


RELU_LAYERS = ReluLayersPolicy()
