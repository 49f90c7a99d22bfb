"""The theory of the paper as numbers; imports none of the algorithms.

`constants` and `bounds` are the paper's (errata applied), `exact`, `tight` and what is labelled "ours" is not;
`planning` asks them for sample sizes, `partition` holds a run against a theorem, `verify` checks every statement a
second way.
"""

from __future__ import annotations

from . import bounds, constants, information, partition, planning, tight
from . import exact_parameters as exact
from .constants import Problem, RunParameters, parameters
from .exact_parameters import exact_parameters
from .log_space import Bound
from .partition import CandidateRun, check_theorem
from .planning import SamplePlan, plan

__all__ = [
    "Bound",
    "CandidateRun",
    "Problem",
    "RunParameters",
    "SamplePlan",
    "bounds",
    "check_theorem",
    "constants",
    "exact",
    "exact_parameters",
    "information",
    "parameters",
    "partition",
    "plan",
    "planning",
    "tight",
]  # fmt: skip
