"""The command `gradsift plan`, and the benchmark behind the page on the theorems."""

import json
import runpy
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

import gradsift as gs
from gradsift.cli import main
from gradsift.cli.app import app


def run(*arguments):
    return CliRunner().invoke(app, ["plan", *arguments])


def test_the_table_shows_theorem_and_limit_side_by_side():
    shown = run()
    assert shown.exit_code == 0
    for part in ("xi0", "264.3", "maintheorem", "n*", "Cramer-Rao"):
        assert part in shown.output


def test_json_holds_what_the_library_says():
    shown = json.loads(run("--scheme", "gaussian", "--form", "printed", "--json").output)
    plan = gs.plan(gs.Problem(10, 2, 1.0, 0.9, 0.5, 1.0), "gaussian", delta=0.25, rho=0.5, form="printed")
    assert shown["numbers"]["n"]["log10"] == plan.n.log10
    assert shown["numbers"]["n"]["value"] is None  # beyond floating point
    assert shown["numbers"]["xi0"]["value"] == float(plan.xi0)
    assert shown["constants"] == {"C": 1.0, "C''": 1.0}


def test_explain_and_budget():
    assert "repaired (1 + 2 delta)" in run("--explain").output
    spent = json.loads(run("--budget", "1e20", "--json").output)
    assert spent["numbers"]["n"]["log10"] == pytest.approx(20)
    assert spent["delta"] < 0.25
    assert json.loads(run("--proved", "--json").output)["constants"] == {"C": 96.0, "C'": 8.0}


@pytest.mark.parametrize("arguments", [("--delta", "7"), ("--k", "11"), ("--scheme", "magic"), ("--budget", "10")])
def test_bad_input_is_one_line_and_exit_code_two(arguments, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["gradsift", "plan", *arguments])
    with pytest.raises(SystemExit) as stop:
        main()
    assert stop.value.code == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_the_looseness_benchmark_runs_and_orders_its_columns(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["theory_looseness", "--quick", "--out", str(tmp_path / "out.json")])
    runpy.run_module("benchmarks.paper.theory_looseness", run_name="__main__")
    (row,) = json.loads((tmp_path / "out.json").read_text())["rows"]
    assert row["cramer_rao"] < row["measured"] < row["oracle_exact"] < row["oracle_repaired"] < row["gaussian_exact"]


def test_the_page_on_the_theorems_quotes_the_benchmark():
    root = Path(__file__).parents[3]
    rows = json.loads((root / "benchmarks" / "results" / "theory_looseness.json").read_text())["rows"]
    page = (root / "docs" / "theorems.md").read_text(encoding="utf-8")
    for r in rows:
        cells = [r["d"], r["k"], f"{r['beta']:g}"]
        cells += [f"{r[name]:.1f}" for name in ("oracle_repaired", "oracle_exact", "measured", "cramer_rao")]
        cells += [f"{r[name]:,.0f}" for name in ("gaussian_repaired", "projected_repaired")]
        assert "| " + " | ".join(str(c) for c in cells) + " |" in page
