"""``gradsift plan`` and ``gradsift forecast``: how many samples the theorems ask for, and how many queries a box."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer

from .console import AsJson, print_json


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


def plan(
    d: Annotated[int, typer.Option("--d", "--features", help="Number of inputs.")] = 10,
    k: Annotated[int, typer.Option("--k", "--units", help="Number of hidden units.")] = 2,
    beta: Annotated[float, typer.Option("--beta", help="Slope of the sigmoid.")] = 1.0,
    kappa: Annotated[float, typer.Option("--kappa", help="Smallest singular value of the units.")] = 0.9,
    u0: Annotated[float, typer.Option("--u0", help="Smallest absolute weight.")] = 0.5,
    M: Annotated[float, typer.Option("--M", "--bound", help="Bound on the responses.")] = 1.0,
    delta: Annotated[float, typer.Option("--delta", help="Accuracy and chance of failure, in (0, 0.5].")] = 0.25,
    rho: Annotated[float, typer.Option("--rho", help="Share of spurious candidates, in (0, 1).")] = 0.5,
    scheme: Annotated[str, typer.Option("--scheme", help="oracle, gaussian or projected.")] = "oracle",
    form: Annotated[str, typer.Option("--form", help="repaired, printed, exact or tight.")] = "repaired",
    proved: Annotated[bool, typer.Option("--proved", help="Use proved constants (ours) in place of 1.")] = False,
    budget: Annotated[float | None, typer.Option("--budget", help="Say which delta this many samples pay for.")] = None,
    explain: Annotated[bool, typer.Option("--explain", help="Say where each number comes from.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Say how many samples the theorems ask for.

    Example: gradsift plan --d 10 --k 2 --delta 0.25 --rho 0.5 --explain
    """
    from ..paper.theory import Problem
    from ..paper.theory import plan as make
    from ..paper.theory.bounds import THEOREM_CONSTANTS

    constants = THEOREM_CONSTANTS if proved else None
    made = make(Problem(d, k, beta, kappa, u0, M), scheme, delta=delta, rho=rho, form=form, constants=constants)
    if budget is not None:
        made = made.solve_for("delta", n=budget)
    if as_json:
        typer.echo(json.dumps(_fields(made), indent=1))
    elif explain:
        typer.echo(made.explain())
    else:
        _table(made)


def _numbers(made: Any) -> list[Any]:
    from ..paper.theory.planning import MOST_UNITS

    return [*made.quantities, *([made.practical] if made.problem.k <= MOST_UNITS else [])]


def _fields(made: Any) -> dict[str, Any]:
    from dataclasses import asdict

    numbers = {
        q.symbol: {"log10": q.log10, "value": float(q) if q.log_value < 709 else None, "meaning": q.meaning,
                   "label": q.label, "erratum": q.erratum}
        for q in _numbers(made)
    }  # fmt: skip
    return {
        "problem": asdict(made.problem), "scheme": made.scheme, "form": made.form, "delta": made.delta,
        "rho": made.rho, "radius": made.radius, "constants": dict(made.constants), "numbers": numbers,
    }  # fmt: skip


def _table(made: Any) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(title=f"{made.scheme}, {made.form}: delta = {made.delta:g}, rho = {made.rho:g}", box=None)
    for column in ("symbol", "value", "log10", "meaning", "from"):
        table.add_column(column, justify="right" if column in ("value", "log10") else "left")
    for q in _numbers(made):
        table.add_row(q.symbol, str(q), f"{q.log10:.4g}", q.meaning, q.label)
    Console().print(table)
