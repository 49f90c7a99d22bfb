"""``gradsift bench``, ``zoo`` and ``playground``: doors to what lies beside the library."""

from __future__ import annotations

import importlib
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import mean
from typing import Annotated, Any

import typer

from .console import AsJson, keeping, print_json, print_table
from .results import require_place, verdict_speaks


def playground(
    port: Annotated[int, typer.Option(min=0, max=65_535, help="Port on this machine; 0 takes a free one.")] = 0,
    browser: Annotated[bool, typer.Option(help="Open a browser.")] = True,
    out: Annotated[Path | None, typer.Option(help="Write the page to this .html file instead of serving it.")] = None,
) -> None:
    """Play with units, gradients and candidates in the plane; served to this machine only, until Ctrl-C.

    Example: gradsift playground
    """
    from ..show.playground import make_server, page

    if out is not None:
        from ..files import atomic_writer

        require_place(out, (".html",))
        with atomic_writer(out) as stream:
            stream.write(page())
        typer.echo(f"Written: {out}")
        return
    with make_server(port) as server:
        address = f"http://{server.server_address[0]!s}:{server.server_address[1]}/"
        typer.echo(f"Playground at {address} (Ctrl-C ends it)")
        if browser:
            import webbrowser

            webbrowser.open(address)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            typer.echo("Closed.")


_BOXES = ((5, 3), (10, 5), (20, 10))  # (inputs, units)
_BENCH_TABLES = ((10, 3, 5_000), (20, 5, 10_000))  # (inputs, units, rows)
_BENCH_NOISE = 0.2
_RESTARTS = 5
_FOUND = 0.2  # units count as found when each is this close to a true one (11 degrees)

Seed = Annotated[int, typer.Option("--seed", help="First seed of models, data and algorithms.")]
Repeats = Annotated[int, typer.Option("--repeats", help="Draws of each size; a second or three each.")]


@dataclass(frozen=True)
class BoxRow:
    """One random network behind a black box, and what finding it took.

    Attributes
    ----------
    inputs, units, unknowns : int
    queries : int
    queries_per_unknown : float
    units_found : int
    largest_error : float
        Largest difference from the box on fresh standard Gaussian inputs.
    certified : bool
    seconds : float
        Processor time.
    """

    inputs: int
    units: int
    unknowns: int
    queries: int
    queries_per_unknown: float
    units_found: int
    largest_error: float
    certified: bool
    seconds: float


@dataclass(frozen=True)
class TableRow:
    """One noisy table, fitted by gradsift and by scikit-learn's network (L-BFGS, best of five starts).

    Attributes
    ----------
    inputs, units, rows : int
    error, sklearn_error : float
        Largest distance between a true unit and the found one.
    misfit, sklearn_misfit : float
        Root mean square difference from the noiseless model on fresh rows.
    seconds, sklearn_seconds : float
        Processor time.
    """

    inputs: int
    units: int
    rows: int
    error: float
    sklearn_error: float
    misfit: float
    sklearn_misfit: float
    seconds: float
    sklearn_seconds: float


def bench(seed: Seed = 1, repeats: Repeats = 5, as_json: AsJson = False) -> None:
    """Measure gradsift here in half a minute: black boxes, and tables beside scikit-learn's network.

    Example: gradsift bench --repeats 10
    """
    from ..arguments import at_least
    from ..progress import report, reporting

    at_least("--seed", seed, 0)
    at_least("--repeats", repeats, 1)
    boxes: list[BoxRow] = []
    tables: list[TableRow] = []
    with reporting(True), verdict_speaks():
        for i in range(repeats):
            boxes += [_measure_box(d, k, seed + i) for d, k in _BOXES]
            tables += [_measure_table(d, k, n, seed + i) for d, k, n in _BENCH_TABLES]
            report("draws", i + 1, repeats)
    if as_json:
        print_json({"seed": seed, "boxes": [asdict(row) for row in boxes], "tables": [asdict(t) for t in tables]})
    else:
        _show_boxes(boxes)
        _show_tables(tables)


def _measure_box(d: int, k: int, seed: int) -> BoxRow:
    import numpy as np

    from ..oracle import Oracle
    from ..recovery import recover
    from ..simulate import random_combination

    teacher, fresh, algorithm = (np.random.default_rng([seed, d, k, i]) for i in range(3))
    truth = random_combination(d, k, slope=2.0, offsets=True, rng=teacher)
    start = time.process_time()
    found = recover(Oracle(truth.predict, d), random_state=algorithm)
    seconds = time.process_time() - start
    X = fresh.standard_normal((1000, d))
    return BoxRow(
        d, k, truth.n_parameters,
        queries=found.n_queries,
        queries_per_unknown=found.n_queries / truth.n_parameters,
        units_found=found.n_units,
        largest_error=float(np.abs(found.model.predict(X) - truth.predict(X)).max()),
        certified=found.certified,
        seconds=seconds,
    )  # fmt: skip


def _measure_table(d: int, k: int, n: int, seed: int) -> TableRow:
    import numpy as np

    from ..geometry import match_units
    from ..recovery import recover
    from ..simulate import random_combination

    teacher, rows, fresh, algorithm = (np.random.default_rng([seed, d, k, n, i]) for i in range(4))
    truth = random_combination(d, k, slope=2.0, min_singular_value=0.5, rng=teacher)
    X, y = truth.sample(n, _BENCH_NOISE, rng=rows)
    new, value = truth.sample(10_000, None, rng=fresh)
    start = time.process_time()
    found = recover((X, y), k, random_state=algorithm).model
    between = time.process_time()
    network = _best_network(X, y, k, seed)
    end = time.process_time()
    return TableRow(
        d, k, n,
        error=match_units(found.units, truth.units).max_error,
        sklearn_error=match_units(network.coefs_[0].T, truth.units).max_error,
        misfit=float(np.sqrt(np.mean((found.predict(new) - value) ** 2))),
        sklearn_misfit=float(np.sqrt(np.mean((network.predict(new) - value) ** 2))),
        seconds=between - start,
        sklearn_seconds=end - between,
    )  # fmt: skip


def _best_network(X: Any, y: Any, k: int, seed: int) -> Any:
    """Return scikit-learn's network of least loss, out of five starts."""
    import warnings

    from sklearn.exceptions import ConvergenceWarning
    from sklearn.neural_network import MLPRegressor

    how: dict[str, Any] = {"hidden_layer_sizes": (k,), "activation": "tanh", "solver": "lbfgs", "alpha": 0}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # such a start may still be the best
        starts = range(_RESTARTS * seed, _RESTARTS * (seed + 1))
        fits = [MLPRegressor(**how, max_iter=2000, random_state=start).fit(X, y) for start in starts]
    return min(fits, key=lambda network: network.loss_)


def _show_boxes(boxes: list[BoxRow]) -> None:
    cells = []
    for d, k in _BOXES:
        runs = [b for b in boxes if (b.inputs, b.units) == (d, k)]
        certified = f"{sum(b.certified for b in runs)} of {len(runs)}"
        error, seconds = max(b.largest_error for b in runs), mean(b.seconds for b in runs)
        cells.append((d, k, certified, mean(b.queries_per_unknown for b in runs), error, seconds))
    columns = ("inputs", "units", "certified", "queries per unknown", "largest error", "CPU seconds")
    print_table(columns, cells, title="Black boxes: random tanh networks with offsets")


def _show_tables(tables: list[TableRow]) -> None:
    lines: list[tuple[Any, ...]] = []
    for size in _BENCH_TABLES:
        runs = [t for t in tables if (t.inputs, t.units, t.rows) == size]
        ours = _told([t.error for t in runs], [t.misfit for t in runs], [t.seconds for t in runs])
        theirs = _told(
            [t.sklearn_error for t in runs], [t.sklearn_misfit for t in runs], [t.sklearn_seconds for t in runs]
        )
        lines.append((*(f"{n:,}" for n in size), "gradsift", *ours))
        lines.append(("", "", "", "scikit-learn", *theirs))
        lines.append(("", "", "", "ratio", "", *(a / b for a, b in zip(theirs[1:], ours[1:]))))
    columns = ("inputs", "units", "rows", "", "units found", "misfit", "CPU seconds")
    print_table(columns, lines, title=f"Noisy tables; scikit-learn is the best of {_RESTARTS} L-BFGS starts")


def _told(errors: list[float], misfits: list[float], seconds: list[float]) -> tuple[str, float, float]:
    n_found = sum(error < _FOUND for error in errors)
    return f"{n_found} of {len(errors)}", mean(misfits), mean(seconds)


_COLUMNS = ("family", "certified", "units", "unknowns", "queries per unknown", "worst error", "seconds")


def zoo(
    families: Annotated[list[str] | None, typer.Argument(help="Families to open; none opens all.")] = None,
    share: Annotated[float, typer.Option(help="Share of each family, evenly taken; at least one network.")] = 1.0,
    jobs: Annotated[int, typer.Option(help="Processes.")] = 1,
    kept: Annotated[
        Path | None, typer.Option(help="File that keeps a line for each network; those in it are skipped.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Open networks that others trained and released; from a checkout, whose benchmarks/zoo fetches them with pip.

    Example: gradsift zoo leaves --share 0.2
    """
    from ..arguments import at_least

    at_least("--jobs", jobs, 1)
    if not 0 < share <= 1:
        raise ValueError(f"--share must lie in (0, 1], got {share!r}.")
    runner = _runner()
    names = families or list(runner.FAMILIES)
    if unknown := sorted(set(names) - set(runner.FAMILIES)):
        raise ValueError(f"The zoo has the families {', '.join(runner.FAMILIES)}; got {', '.join(unknown)}.")
    records = []
    with keeping(lambda: f"{kept} holds what was opened" if kept else "nothing was kept (--kept FILE would)"):
        for record in runner.run(names, share, jobs, kept):
            records.append(record)
            typer.echo(_line(record), err=True)
    rows = runner.table(records)
    if as_json:
        print_json({"rows": rows, "missing": {r["family"]: r["missing"] for r in records if "missing" in r}})
    else:
        _show(rows)
    if any(row["certified but wrong"] for row in rows):
        raise typer.Exit(1)


def _runner() -> Any:
    """Return the module that opens the zoo, from the checkout that this package runs from."""
    root = Path(__file__).resolve().parents[3]
    if not (root / "benchmarks" / "zoo").is_dir():
        raise ValueError("gradsift zoo runs from a checkout: its readers are in benchmarks/zoo of the repository.")
    if str(root) not in sys.path:
        sys.path.insert(0, str(root))
    return importlib.import_module("benchmarks.zoo.zoo_run")


def _line(record: dict[str, Any]) -> str:
    if "missing" in record:
        return f"{record['family']}: left out; {record['missing']}"
    how = "certified" if record["certified"] else "not certified: " + record["cause"]
    return f"{record['family']} {record['name']}: {record['queries']} queries, {record['seconds']:.1f} s, {how}"


def _show(rows: list[dict[str, Any]]) -> None:
    cells = []
    for row in rows:
        certified = f"{row['certified']} of {row['networks']}"
        measured = ("-" if row[name] is None else float(row[name]) for name in ("queries per unknown", "worst error"))
        cells.append((row["family"], certified, row["hidden units"], row["unknowns"], *measured, row["seconds"]))
    print_table(_COLUMNS, cells, title="Networks that others released or trained")
    for row in rows:
        for cause, count in row["refusals"].items():
            typer.echo(f"- {row['family']}, {count} of {row['networks']} not certified: {cause}")
    wrong = sum(row["certified but wrong"] for row in rows)
    typer.echo(f"{sum(row['networks'] for row in rows)} networks, {wrong} certified but wrong.")
