"""``gradsift forecast``: how many queries a black box will be asked."""

from __future__ import annotations

from typing import Annotated

import typer

from .show import AsJson, print_json

__all__ = ["forecast"]


def forecast(
    features: Annotated[int, typer.Option(help="Number of inputs.")],
    units: Annotated[int, typer.Option(help="Number of hidden units; a guess will do.")],
    answers: Annotated[str, typer.Option(help="exact, float32, noise or labels.")] = "exact",
    noise: Annotated[float | None, typer.Option(help="Standard deviation of the answers.")] = None,
    accuracy: Annotated[float | None, typer.Option(help="Direction error wanted under noise.")] = None,
    bounds: Annotated[str | None, typer.Option(help="LO,HI: the box that inputs must stay in.")] = None,
    outputs: Annotated[int, typer.Option(help="Number of outputs.")] = 1,
    as_json: AsJson = False,
) -> None:
    """Say how many queries a black box will be asked.

    Example: gradsift forecast --features 20 --units 5 --answers float32
    """
    from ..forecasting import forecast as foretell

    told = foretell(features, units, answers, noise, accuracy, bounds, outputs)
    if as_json:
        print_json({"queries": told.queries, "low": told.low, "high": told.high})
    else:
        typer.echo(f"{told}.")
