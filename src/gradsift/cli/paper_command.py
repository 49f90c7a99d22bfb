"""``gradsift paper`` and ``gradsift plan``: what the paper says, what carries it here, what its theorems ask for."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .console import show_json

if TYPE_CHECKING:
    from ..paper.theory.verify import Verified


def paper(
    label: Annotated[
        str | None,
        typer.Argument(
            help="LaTeX label of a statement, such as gamma; none lists them; verify checks them all; run carries "
            "theorem 1 out; phases maps where the literal algorithm works."
        ),
    ] = None,
    printed: Annotated[
        bool, typer.Option("--printed", help="With verify: check the forms as printed, which must fail.")
    ] = False,
    d: Annotated[int, typer.Option("--d", help="With run: number of inputs.")] = 3,
    k: Annotated[int, typer.Option("--k", help="With run: number of hidden units.")] = 2,
    beta: Annotated[float, typer.Option("--beta", help="With run: slope of the sigmoid.")] = 1.0,
    delta: Annotated[float, typer.Option("--delta", help="With run: accuracy and chance of failure.")] = 0.3,
    rho: Annotated[float, typer.Option("--rho", help="With run: share of spurious candidates.")] = 0.5,
    form: Annotated[str, typer.Option("--form", help="With run: exact or tight sizes.")] = "exact",
    labels: Annotated[bool, typer.Option("--labels", help="With run: answers are -1 or 1.")] = False,
    out: Annotated[Path, typer.Option("--out", help="With phases: folder for the diagrams.")] = Path("phases"),
    seed: Annotated[int, typer.Option("--seed", help="With run and phases: seed.")] = 1,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Look a statement of the paper up, check them all, or carry the main theorem out.

    Examples: gradsift paper, gradsift paper gamma, gradsift paper verify, gradsift paper run --d 3 --delta 0.16
    """
    if printed and label != "verify":
        raise ValueError("--printed goes with verify: gradsift paper verify --printed.")
    if label == "verify":
        _verify(printed, as_json)
    elif label == "run":
        _run({"d": d, "k": k, "beta": beta}, delta, rho, form, labels, seed, as_json)
    elif label == "phases":
        _phases(out, seed, as_json)
    elif label is None:
        _show_all(as_json)
    else:
        _show(label, as_json)


def _facts(label: str) -> dict[str, Any]:
    from ..paper import code, folder_of_tests, shown_by, statement

    s = statement(label)
    errata = [
        {"name": e.name, "printed": e.printed, "right": e.right, "form": e.form, "tests": shown_by(label, e.name)}
        for e in s.errata
    ]
    entry: dict[str, Any] = {"label": label, "kind": s.kind, "place": s.place, "says": s.says, "errata": errata}
    entry["functions"] = code(label)
    entry["tests"] = shown_by(label) if folder_of_tests() else None
    return entry


def _show_all(as_json: bool) -> None:
    from ..paper import labels, statement

    if as_json:
        show_json([_facts(label) for label in labels()])
        return
    for label in labels():
        s = statement(label)
        flag = "*" if s.errata else " "
        typer.echo(f"{flag} {label:25} {s.kind:10} {s.place}")
    typer.echo("\n* has an erratum. 'gradsift paper LABEL' shows one statement.")


def _show(label: str, as_json: bool) -> None:
    entry = _facts(label)
    if as_json:
        show_json(entry)
        return
    typer.echo(f"{label} ({entry['kind']}, {entry['place']})\n  {entry['says']}")
    for erratum in entry["errata"]:
        typer.echo(f"erratum: {erratum['name']}\n  printed: {erratum['printed']}\n  right:   {erratum['right']}")
    typer.echo("functions")
    for name in entry["functions"]:
        typer.echo(f"  {name}")
    typer.echo("tests")
    for name in entry["tests"] if entry["tests"] is not None else ["tests/ of the source repository"]:
        typer.echo(f"  {name}")


def _verify(printed: bool, as_json: bool) -> None:
    """Run every check, one row for each labelled statement; exit 1 if one fails."""
    done = []
    for row in _rows(printed):
        done.append(row)
        if not as_json:
            typer.echo(_line(row.worst) + (f" [tightest of {len(row.parts)}]" if len(row.parts) > 1 else ""))
    failed = sum(not row.holds for row in done)
    if as_json:
        entries = [{"label": r.label, "holds": r.holds, "parts": [_check_fields(p) for p in r.parts]} for r in done]
        show_json(entries)
    else:
        typer.echo(f"{len(done) - failed} of {len(done)} hold.")
    if failed:
        raise typer.Exit(1)


def _rows(printed: bool) -> Iterator[Verified]:
    """Yield each label of the paper once, with its checks from theory, algorithms and figures, or the printed forms."""
    from ..paper import figures, labels
    from ..paper.method import theorem_run
    from ..paper.theory import verify

    if printed:
        for run in verify.printed_checks():
            check = run()
            yield verify.Verified(check.label, (check,))
        return
    sources = (verify.checks(), theorem_run.checks(), figures.checks())
    for label in labels():
        yield verify.Verified(label, tuple(run() for held in sources for run in held.get(label, ())))


def _run(
    shape: dict[str, Any], delta: float, rho: float, form: str, labels: bool, seed: int, as_json: bool
) -> None:  # fmt: skip
    """Carry maintheorem out; exit 1 if a promise is broken."""
    from ..paper.method.theorem_run import run_theorem
    from ..paper.theory import Problem
    from ..progress import reporting

    if form not in ("exact", "tight"):
        raise ValueError(f"--form must be exact or tight with run (the printed sizes are out of reach), got {form!r}.")
    problem = Problem(**shape, kappa=1.0, u0=1 / shape["k"])
    with reporting(True):
        run = run_theorem(problem, delta=delta, rho=rho, form=form, labels=labels, seed=seed)
    sizes = {q.symbol: float(q) for q in run.plan.quantities}
    if as_json:
        claims = [claim._asdict() for claim in run.report.claims]
        facts = {"n_queries": run.n_queries, "n_candidates": run.n_candidates, "seconds": run.seconds}
        show_json({"sizes": sizes, "holds": run.holds, "claims": claims, "angles": run.angles.tolist(), **facts})
    else:
        typer.echo(run.plan.explain())
        typer.echo(str(run.report))
        typer.echo(
            f"{run.n_queries:.3g} queries, {run.n_candidates} candidates, {run.seconds:.0f} s; centres of their "
            f"clusters within {run.angles.max():.2f} degrees of the units"
        )
    if not run.holds:
        raise typer.Exit(1)


def _phases(out: Path, seed: int, as_json: bool) -> None:
    """Draw the phase diagrams of the literal algorithm."""
    from ..paper.phases import write_phases
    from ..progress import reporting
    from .results import require_folder

    require_folder(out)
    with reporting(True):
        paths = write_phases(out, seed)
    typer.echo(json.dumps([str(p) for p in paths], indent=1) if as_json else "\n".join(str(p) for p in paths))


def _number(log_value: float) -> str:
    return f"{math.exp(log_value):.4g}" if abs(log_value) < 500 or math.isinf(log_value) else f"e^{log_value:.6g}"


def _line(check: Any) -> str:
    room = "equal" if check.relation == "==" else f"slack x{_number(max(check.log_slack, -math.inf))}"
    mark = "ok   " if check.holds else "FAILS"
    return (
        f"{mark} {check.label:19} {check.claim}: measured {_number(check.log_measured)} {check.relation} "
        f"{_number(check.log_claimed)}, {room} ({check.n_cases} cases; {check.how})"
    )


def _check_fields(check: Any) -> dict[str, Any]:
    return {name: str(v) if isinstance(v, float) and math.isinf(v) else v for name, v in asdict(check).items()}


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
        show_json(_fields(made))
    elif explain:
        typer.echo(made.explain())
    else:
        _table(made)


def _numbers(made: Any) -> list[Any]:
    from ..paper.theory.planning import MOST_UNITS

    return [*made.quantities, *([made.practical] if made.problem.k <= MOST_UNITS else [])]


def _fields(made: Any) -> dict[str, Any]:
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
