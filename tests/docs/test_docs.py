"""The documentation's own promises: generated pages, short examples, links that hold. (``make docs`` builds it all.)"""

import ast
import importlib.util
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

import gradsift as gs
from gradsift.reading.noise.box_stages import BOX_STAGES
from gradsift.reading.noise.stages import ADDITIVE_STAGES, LABEL_STAGES

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted((ROOT / "examples").glob("plot_*.py"))


def load(name):
    spec = importlib.util.spec_from_file_location(name, ROOT / "docs" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def generated(tmp_path_factory):
    sys.path.insert(0, str(ROOT / "docs"))  # as conf.py does
    folder = tmp_path_factory.mktemp("generated")
    load("generate").write_all(folder)
    return folder


def test_the_paper_map_has_every_statement_with_code_and_tests(generated):
    text = (generated / "paper_map.md").read_text()
    for label in gs.paper.labels():
        assert f"\n## {label}\n" in text
    assert "Code: none" not in text
    assert "Tests: none" not in text


def test_the_stages_are_drawn_from_their_tables(generated):
    text = (generated / "stages.md").read_text()
    assert text.count("<svg") == 3
    for name in [*ADDITIVE_STAGES, *LABEL_STAGES, *BOX_STAGES]:
        assert f">{name}</text>" in text


def test_every_benchmark_result_has_its_table(generated):
    text = (generated / "benchmarks.md").read_text()
    for path in (ROOT / "benchmarks" / "results").glob("*.json"):
        assert f"\n## {path.stem.replace('_', ' ')}\n" in text
        assert f"/{path.stem}.py`" in text


def test_every_command_is_listed_with_its_example(generated):
    text = (generated / "commands.md").read_text()
    for name in (
        "recover",
        "fit",
        "predict",
        "plan",
        "paper",
        "figures",
        "demo",
        "bench",
        "zoo",
        "playground",
        "version",
    ):
        part = text.partition(f"\n## {name}\n")[2].partition("\n## ")[0]
        assert f"gradsift {name}" in part


def test_unchanged_pages_keep_their_time_stamps(generated):
    before = {path: path.stat().st_mtime_ns for path in generated.rglob("*.*")}
    load("generate").write_all(generated)
    assert before == {path: path.stat().st_mtime_ns for path in generated.rglob("*.*")}


def test_there_are_at_least_eight_examples_of_under_eighty_lines_each_with_a_picture():
    assert len(EXAMPLES) >= 8
    for path in EXAMPLES:
        text = path.read_text()
        assert len(text.splitlines()) < 80, path.name
        assert "plt.show()" in text, path.name
        compile(text, path.name, "exec")


@pytest.mark.parametrize("name", ["plot_black_box", "plot_planning"])  # the quick ones; make docs runs them all
def test_example_runs(name, monkeypatch):
    plt = pytest.importorskip("matplotlib.pyplot", reason="examples draw")
    plt.switch_backend("Agg")
    monkeypatch.setattr(plt, "show", lambda: None)
    runpy.run_path(str(ROOT / "examples" / f"{name}.py"))
    assert plt.get_fignums()
    plt.close("all")


def known_names():
    """Return all names that sources and benchmarks define: functions, records, fields, arguments, constants."""
    names = set()
    for path in (*(ROOT / "src").rglob("*.py"), *(ROOT / "benchmarks").rglob("*.py")):
        names.add(path.stem)
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            match node:
                case ast.FunctionDef(name=name) | ast.ClassDef(name=name) | ast.arg(arg=name):
                    names.add(name)
                case ast.Name(id=name, ctx=ast.Store()) | ast.alias(asname=str(name)):
                    names.add(name)
    return names


def unknown(page):
    """Return which files, functions and records a page names in backticks that do not exist."""
    names, roots = (
        known_names() | {"gradsift", "src"},
        (ROOT, ROOT / "docs", ROOT / "src" / "gradsift", ROOT / "benchmarks"),
    )
    missing = []
    for told in re.findall(r"(?<!`)`([^`\n]+)`(?!`)", page):
        if re.fullmatch(r"[\w./]+(?:\.\w{2,4}|/)", told) and ("/" in told or told.endswith((".py", ".md", ".toml"))):
            if not any((root / told).exists() or any(root.rglob(told.rstrip("/"))) for root in roots[1:]):
                missing += [] if (ROOT / told).exists() else [told]
        elif match := re.fullmatch(r"([A-Za-z_][\w.]*)(?:\(.*\))?", told):
            missing += [told] if any(part not in names for part in match[1].split(".")) else []
    return missing


@pytest.mark.parametrize("page", ["algorithm.md", "extend.md"])
def test_the_pages_name_only_what_exists(page):
    assert unknown((ROOT / "docs" / page).read_text(encoding="utf-8")) == []


def test_a_page_that_names_what_is_gone_is_noticed():
    page = "`nowhere.py`, `reading/gone/`, `no_such_function`, `NoSuchRecord.field`, `recover`, `reading/readers.py`"
    assert unknown(page) == ["nowhere.py", "reading/gone/", "no_such_function", "NoSuchRecord.field"]


def test_the_code_on_extending_runs():
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "extend.md").read_text(encoding="utf-8"), re.S)
    assert len(blocks) >= 2
    subprocess.run([sys.executable, "-c", "\n".join(blocks)], check=True, timeout=120)  # in a process: it registers


def test_broken_links_are_found_and_good_ones_are_not(tmp_path):
    (tmp_path / "a.html").write_text(
        '<a href="b.html#here">x</a><a href="https://example.org">y</a><a href="#top">z</a>'
    )
    (tmp_path / "b.html").write_text('<p id="here"></p><a href="a.html">back</a><p id="top"></p>')
    broken = load("check_links").broken
    assert broken(tmp_path) == ["a.html: #top"]
    (tmp_path / "a.html").write_text('<p id="top"></p><a href="b.html#gone">x</a><a href="c.html">y</a>')
    assert broken(tmp_path) == ["a.html: b.html#gone", "a.html: c.html"]


def test_the_screenshots_are_there():
    for name in ("report", "report-light", "report-dark", "report-narrow", "playground"):
        assert (ROOT / "docs" / "assets" / f"{name}.png").stat().st_size > 10_000
