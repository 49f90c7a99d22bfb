"""The command line: help, versions, errors."""

import json
import subprocess
import sys

import pytest
from typer.testing import CliRunner

import gradsift as gs
from gradsift.cli.app import app, main


def run(*arguments):
    return CliRunner().invoke(app, list(arguments))


def test_every_command_has_a_help_page_with_an_example():
    for command in app.registered_commands:
        name = command.name or command.callback.__name__.rstrip("_")
        result = CliRunner(env={"COLUMNS": "80"}).invoke(app, [name, "--help"])
        assert result.exit_code == 0, result.output
        assert "gradsift " + name in result.output, f"no example in the help of {name}"
        assert len(result.output.splitlines()) <= 40


def test_the_list_of_commands_fits_a_screen_and_carries_an_example():
    result = CliRunner(env={"COLUMNS": "80"}).invoke(app, ["--help"])
    assert "Example: gradsift demo" in result.output
    assert "130 interrupted" in " ".join(result.output.split())
    assert len(result.output.splitlines()) <= 40


def test_the_version_is_printed_as_text_and_as_json():
    assert run("version").output.strip() == gs.__version__
    assert json.loads(run("version", "--json").output) == {"version": gs.__version__}


def test_bad_input_is_one_line_and_exit_code_two(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["gradsift", "paper", "nonsense"])
    with pytest.raises(SystemExit) as caught:
        main()
    assert caught.value.code == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_debug_shows_the_traceback():
    code = "from gradsift.cli import main; main()"
    out = subprocess.run(
        [sys.executable, "-c", code, "--debug", "paper", "nonsense"], capture_output=True, text=True, check=False
    )
    assert out.returncode == 2
    assert "Traceback" in out.stderr
    assert out.stderr.splitlines()[-1].startswith("gradsift: The paper has no statement")


@pytest.mark.parametrize("command", ["demo", "figures"])
def test_an_unwritable_folder_is_refused_before_any_work(tmp_path, monkeypatch, command):
    def work(*_):
        raise AssertionError("work began")

    monkeypatch.setattr("gradsift.cli.demo.compare", work)
    monkeypatch.setattr("gradsift.paper.figures.FIGURES", (work,))
    blocked = tmp_path / "file"
    blocked.write_text("")
    result = run(command, "--out", str(blocked / "sub"))
    assert "must be a folder" in str(result.exception)
    assert blocked.read_text() == ""
