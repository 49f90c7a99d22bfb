"""The command line from files to files: boxes recovered and predicted, a table with words fitted."""

from __future__ import annotations

import contextlib
import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from typer.testing import CliRunner

import gradsift as gs
from gradsift.cli.app import app

from .cases import Witness, deep, numbers, teacher, values

__all__ = ["COMMANDS"]


class Asked:
    """Where the command line finds the box."""

    box: Witness


def command(*arguments: Any) -> Any:
    return CliRunner().invoke(app, [str(a) for a in arguments], catch_exceptions=False)


def in_a_folder(case: Callable[[], Any]) -> Callable[[], Any]:
    def inside() -> Any:
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
            return case()

    return inside


def written(result: Any, witness: Witness | None = None) -> dict[str, Any]:
    """Return what must stay the same of what a command said and of the file that it wrote."""
    said, held = json.loads(result.stdout), json.loads(Path("found.json").read_text())
    is_deep = held["format"].endswith("Network")
    net = gs.Network.load("found.json") if is_deep else gs.Network.of(gs.SigmoidCombination.load("found.json"))
    return {
        **{name: said[name] for name in ("certified", "verdict", "n_queries")},
        "error": None, "exit": result.exit_code, "asked": None if witness is None else witness.digest.hexdigest(),
        "keys": sorted(held), "coding": held.get("coding"), "activation": net.activation, "widths": list(net.widths),
        "models": [], "layers": [numbers(*part) for part in (*net.layers, [net.linear])],
    }  # fmt: skip


def predicted(rows: list[list[Any]]) -> dict[str, Any]:
    """Return what the model that was written predicts for these rows, the first of which are names."""
    Path("rows.csv").write_text("\n".join(",".join(map(str, row)) for row in rows) + "\n")
    result = command("predict", "found.json", "rows.csv", "--out", "predicted.csv")
    name, *column = Path("predicted.csv").read_text().split()
    return {"said": result.stdout, "column": name, "predictions": [numbers([float(value) for value in column])]}


def recovered(net: gs.SigmoidCombination | gs.Network, *options: str, predict: bool = True) -> Callable[[], Any]:
    def case() -> dict[str, Any]:
        Asked.box = Witness(values(net))
        how = ("--oracle", f"{__name__}:Asked.box", "--features", net.n_features, "--seed", 11, *options)
        run = written(command("recover", *how, "--out", "found.json", "--json"), Asked.box)
        X = np.random.default_rng(5).standard_normal((4, net.n_features)).tolist()
        return {**run, **predicted([["a", "b", "c", "d"], *X])} if predict else run

    return in_a_folder(case)


def fitted() -> dict[str, Any]:
    rng = np.random.default_rng(3)
    colour, size = rng.choice(["red", "green", "blue"], 400), rng.standard_normal(400)
    y = np.tanh(1.5 * size + (colour == "red")) + 0.2 * rng.standard_normal(400)
    lines = [f"{a:.6f},{b},{c:.6f}" for a, b, c in zip(size, colour, y)]
    Path("table.csv").write_text("\n".join(["size,colour,y", *lines]) + "\n")
    how = ("--target", "y", "--units", 1, "--seed", 11, "--out", "found.json", "--json")
    run = written(command("fit", "table.csv", *how))
    return {**run, **predicted([["size", "colour"], [0.5, "red"], [-1.0, "blue"], [0.0, "green"]])}


COMMANDS: dict[str, Callable[[], Any]] = {
    "exact command, tanh": recovered(teacher(4, 3)),
    "exact command, relu": recovered(teacher(4, 3, "relu"), "--activation", "relu"),
    "exact command, two layers": recovered(deep(4, (4, 3)), predict=False),
    "command, table with words": in_a_folder(fitted),
}
