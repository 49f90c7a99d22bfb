"""Opening the boxes of the zoo: one record for each network, one row for each family."""

from __future__ import annotations

import contextlib
import re
import signal
import time
import warnings
import zlib
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

import gradsift as gs
from benchmarks.zoo.specimen import Specimen, comparable

__all__ = ["open_box", "row"]

_METHOD, _INPUTS = 981, 982  # streams of their own
_SOUND = {False: 1e-6, True: 1e-2}  # a certificate is wrong beyond this error; in single precision, beyond the second


class OutOfTime(BaseException):
    """A network took more processor time than it was given; no failure of the box, which would be asked again."""


@contextlib.contextmanager
def within(seconds: float) -> Iterator[None]:
    """End the block with `OutOfTime` once this process has computed for so long in it."""

    def ring(*_: Any) -> None:
        raise OutOfTime(f"Given up here after {seconds:g} seconds of processor time.")

    before = signal.signal(signal.SIGVTALRM, ring)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def open_box(family: str, specimen: Specimen, seconds: float = 120.0) -> dict[str, Any]:
    """Recover one network with the defaults of `recover` and hold what was found against what is inside."""
    truth, oracle = specimen.truth, specimen.box()
    stream = zlib.crc32(f"{family} {specimen.name}".encode())
    record: dict[str, Any] = {
        "family": family, "name": specimen.name, "inputs": truth.n_features, "widths": list(truth.widths),
        "outputs": truth.n_outputs, "activation": truth.activation, "single": specimen.single,
        "unknowns": truth.n_parameters, "certified": False, "error": None, "value_error": None, "cause": "",
    }  # fmt: skip
    began = time.process_time()
    try:
        with warnings.catch_warnings(), within(seconds):
            warnings.simplefilter("ignore")
            found = gs.recover(oracle, random_state=np.random.default_rng([_METHOD, stream]))
        X = np.random.default_rng([_INPUTS, stream]).standard_normal((300, truth.n_features))
        record |= _held_against(found.network, truth, X)
        record |= {"certified": found.certified, "cause": "" if found.certified else found.verdict}
    except (gs.errors.GradsiftError, OutOfTime) as refused:
        record["cause"] = str(refused)
    except ValueError as defect:  # a defect of ours: shown as such, and no end of the run
        record["cause"] = f"Defect, {type(defect).__name__}: {defect}"
    record |= {"queries": oracle.n_queries, "seconds": round(time.process_time() - began, 2)}
    errors = [e for e in (record["error"], record["value_error"]) if e is not None]
    record["wrong"] = bool(record["certified"] and max(errors) > _SOUND[specimen.single])
    return record


def _held_against(found: gs.Network, truth: gs.Network, X: np.ndarray) -> dict[str, Any]:
    """Return the largest relative error of a row of parameters, where they can be paired, and of the values."""
    values = truth.predict(X)
    held: dict[str, Any] = {"value_error": float(np.abs(found.predict(X) - values).max() / np.abs(values).max())}
    mine, theirs = comparable(found), comparable(truth)
    if mine.activation == theirs.activation:
        error = gs.match_networks(mine, theirs).max_error
        held["error"] = error if np.isfinite(error) else 1.0  # another number of units: nothing is right
    return held


def _kind(cause: str) -> str:
    """Return what refusals of one kind have in common: the first clause, without its numbers."""
    clause = re.split(r"[:.(]\s|\.$|, by |, of size", cause.removeprefix("Not certified: "))[0]
    return re.sub(r"\d[\d,.]*", "n", clause)


def row(family: str, records: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """Sum up a family."""
    nets = list(records)
    good = [r for r in nets if r["certified"]]
    cost = [r["queries"] / r["unknowns"] for r in good]
    errors = [r["error"] if r["error"] is not None else r["value_error"] for r in good]
    causes = [_kind(r["cause"]) for r in nets if not r["certified"]]

    def span(values: Iterable[int]) -> str:
        held = sorted(values)
        return str(held[0]) if held[0] == held[-1] else f"{held[0]} to {held[-1]}"

    return {
        "family": family, "networks": len(nets), "inputs": span(r["inputs"] for r in nets),
        "hidden units": span(sum(r["widths"]) for r in nets), "layers": span(len(r["widths"]) for r in nets),
        "outputs": span(r["outputs"] for r in nets), "unknowns": span(r["unknowns"] for r in nets),
        "certified": len(good), "certified share": round(len(good) / len(nets), 3),
        "certified but wrong": sum(r["wrong"] for r in nets),
        "queries per unknown": round(float(np.median(cost)), 2) if good else None,
        "worst error": max(errors, default=None),
        "seconds": round(float(np.median([r["seconds"] for r in nets])), 2),
        "refusals": {cause: causes.count(cause) for cause in dict.fromkeys(causes)},
    }  # fmt: skip
