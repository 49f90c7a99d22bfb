"""The order of stages for imperfect answers."""

from __future__ import annotations

from collections.abc import Mapping

from ..stage import END, Stage
from .missing_unit import look, look_at_full_weight, look_at_replies, look_if_changed, look_when_sharp
from .partner_stages import look_at_profiles, look_beside_planes
from .refine_directions import (
    allow_for_uneven_noise,
    measure_parameters,
    pull_rough_levers,
    question_noise,
    sharpen,
    sharpen_by_labels,
    take_all_in,
)
from .start import learn, learn_more, look_at_scale, read_steps
from .state import Asker, Belief, Outcome

Stages = Mapping[str, Stage[Belief, Asker]]

_STANDS, _MISSING, _REFUTED, _IMPATIENT = Outcome
_LEARN_MORE = dict.fromkeys((_MISSING, _REFUTED, _IMPATIENT), "learn more")


def _any(name: str) -> dict[Outcome, str]:
    return dict.fromkeys(Outcome, name)


ADDITIVE_STAGES: Stages = {  # noise, rounding, single precision
    "read steps": Stage(read_steps, {_STANDS: "sharpen what was read", _MISSING: "scale", _REFUTED: "scale"}),
    "sharpen what was read": Stage(sharpen, _any("look at what was read")),
    "look at what was read": Stage(look_when_sharp, _any("beside planes")),
    "scale": Stage(look_at_scale, {_STANDS: "learn"}),
    "learn": Stage(learn, {_STANDS: "rough levers"}),
    "rough levers": Stage(pull_rough_levers, {_STANDS: "look at replies", **_LEARN_MORE}),
    "look at replies": Stage(look_at_replies, {_STANDS: "look", **_LEARN_MORE}),
    "look": Stage(look, {_STANDS: "sharpen", **_LEARN_MORE}),
    "sharpen": Stage(sharpen, _any("look when sharp")),
    "look when sharp": Stage(look_when_sharp, {_STANDS: "beside planes", **_LEARN_MORE}),
    "beside planes": Stage(look_beside_planes, {_STANDS: "profiles", _MISSING: "sharpen", _REFUTED: "look when sharp"}),
    "profiles": Stage(look_at_profiles, {_STANDS: "question noise", _MISSING: "sharpen"}),
    "learn more": Stage(learn_more, {_REFUTED: "learn", _IMPATIENT: "sharpen anyway"}),
    "sharpen anyway": Stage(sharpen, _any("question noise")),
    "question noise": Stage(question_noise, {_STANDS: "take all in"}),
    "take all in": Stage(take_all_in, {_STANDS: "last look at replies"}),
    "last look at replies": Stage(look_at_replies, _any("parameters")),
    "parameters": Stage(measure_parameters, {_STANDS: "uneven noise"}),
    "uneven noise": Stage(allow_for_uneven_noise, {_STANDS: END}),
}

LABEL_STAGES: Stages = {
    "scale": Stage(look_at_scale, {_STANDS: "learn"}),
    "learn": Stage(learn, {_STANDS: "look"}),
    "look": Stage(look_at_full_weight, {_STANDS: "rough levers", **_LEARN_MORE}),
    "rough levers": Stage(pull_rough_levers, {_STANDS: "look at replies", **_LEARN_MORE}),
    "look at replies": Stage(look_at_replies, {_STANDS: "look again", **_LEARN_MORE}),
    "look again": Stage(look_if_changed, {_STANDS: "sharpen", **_LEARN_MORE}),
    "sharpen": Stage(sharpen_by_labels, {_STANDS: "look when sharp", **_LEARN_MORE}),
    "look when sharp": Stage(look, {_STANDS: END, **_LEARN_MORE}),  # a merged pair hides while units are rough
    "learn more": Stage(learn_more, {_STANDS: "look", _REFUTED: "learn", _IMPATIENT: "sharpen anyway"}),
    "sharpen anyway": Stage(sharpen, _any("last look at replies")),
    "last look at replies": Stage(look_at_replies, _any(END)),
}
