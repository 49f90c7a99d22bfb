"""The order of stages for imperfect answers."""

from __future__ import annotations

from collections.abc import Mapping

from ..searches import END, Stage
from .missing_unit import (
    compare_model_sizes,
    look_for_strong_unit,
    look_for_unit,
    look_for_unit_again,
    look_for_unit_at_end,
)
from .partner_stages import look_beside_planes, look_for_parallel_pairs
from .refine_directions import (
    measure_parameters,
    question_noise,
    refine,
    refine_by_labels,
    refine_rough_directions,
    take_all_in,
    weigh_uneven_noise,
)
from .start import find_input_scale, read_steps, train, train_again
from .state import FitState, Outcome, Session

Stages = Mapping[str, Stage[FitState, Session]]

_STANDS, _MISSING, _REFUTED, _SPENT = Outcome
_TRAIN_AGAIN = dict.fromkeys((_MISSING, _REFUTED, _SPENT), "train again")


def _all(name: str) -> dict[Outcome, str]:
    return dict.fromkeys(Outcome, name)


ADDITIVE_STAGES: Stages = {  # noise, rounding, single precision
    "read steps": Stage(read_steps, {_STANDS: "refine what was read", _MISSING: "scale", _REFUTED: "scale"}),
    "refine what was read": Stage(refine, _all("look at what was read")),
    "look at what was read": Stage(look_for_unit_at_end, _all("beside planes")),
    "scale": Stage(find_input_scale, {_STANDS: "train"}),
    "train": Stage(train, {_STANDS: "rough directions"}),
    "rough directions": Stage(refine_rough_directions, {_STANDS: "look at replies", **_TRAIN_AGAIN}),
    "look at replies": Stage(compare_model_sizes, {_STANDS: "look", **_TRAIN_AGAIN}),
    "look": Stage(look_for_unit, {_STANDS: "refine", **_TRAIN_AGAIN}),
    "refine": Stage(refine, _all("look when sharp")),
    "look when sharp": Stage(look_for_unit_at_end, {_STANDS: "beside planes", **_TRAIN_AGAIN}),
    "beside planes": Stage(look_beside_planes, {_STANDS: "profiles", _MISSING: "refine", _REFUTED: "look when sharp"}),
    "profiles": Stage(look_for_parallel_pairs, {_STANDS: "question noise", _MISSING: "refine"}),
    "train again": Stage(train_again, {_REFUTED: "train", _SPENT: "refine anyway"}),
    "refine anyway": Stage(refine, _all("question noise")),
    "question noise": Stage(question_noise, {_STANDS: "take all in"}),
    "take all in": Stage(take_all_in, {_STANDS: "last look at replies"}),
    "last look at replies": Stage(compare_model_sizes, _all("parameters")),
    "parameters": Stage(measure_parameters, {_STANDS: "uneven noise"}),
    "uneven noise": Stage(weigh_uneven_noise, {_STANDS: END}),
}

LABEL_STAGES: Stages = {
    "scale": Stage(find_input_scale, {_STANDS: "train"}),
    "train": Stage(train, {_STANDS: "look"}),
    "look": Stage(look_for_strong_unit, {_STANDS: "rough directions", **_TRAIN_AGAIN}),
    "rough directions": Stage(refine_rough_directions, {_STANDS: "look at replies", **_TRAIN_AGAIN}),
    "look at replies": Stage(compare_model_sizes, {_STANDS: "look again", **_TRAIN_AGAIN}),
    "look again": Stage(look_for_unit_again, {_STANDS: "refine", **_TRAIN_AGAIN}),
    "refine": Stage(refine_by_labels, {_STANDS: "look when sharp", **_TRAIN_AGAIN}),
    "look when sharp": Stage(
        look_for_unit, {_STANDS: END, **_TRAIN_AGAIN}
    ),  # a merged pair hides while units are rough
    "train again": Stage(train_again, {_STANDS: "look", _REFUTED: "train", _SPENT: "refine anyway"}),
    "refine anyway": Stage(refine, _all("last look at replies")),
    "last look at replies": Stage(compare_model_sizes, _all(END)),
}
