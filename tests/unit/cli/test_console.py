"""The same words at every door: defaults of the library, and its sentences with the command line's options."""

import inspect
import json

import numpy as np
import pytest

import gradsift as gs
from gradsift import recovery
from gradsift.cli.app import app
from gradsift.cli.console import FLAGS, as_options

from .test_files import BOX, DEEP, run  # noqa: F401  (a fixture)

RELU = BOX.replace("np.tanh(X @ a.T)", "np.maximum(X @ a.T + [0.3, -0.2], 0)")


def commands():
    """Return the functions behind the commands, by name."""
    return {command.callback.__name__: command.callback for command in app.registered_commands}


def test_recover_has_the_defaults_of_the_library():
    library, ours = inspect.signature(gs.recover).parameters, inspect.signature(commands()["recover"]).parameters
    for keyword, name in (("method", "method"), ("layers", "layers"), ("n_verify", "verify"), ("n_units", "units")):
        assert ours[name].default == library[keyword].default
    assert (ours["activation"].default, library["activation"].default) == ("auto", None)  # the same by definition


def test_every_flag_is_an_option_of_some_command():
    known = {name for function in commands().values() for name in inspect.signature(function).parameters}
    assert {flag.removeprefix("--").replace("-", "_") for flag in FLAGS.values()} <= known


@pytest.mark.parametrize(
    ("library", "ours"),
    [
        ("Try activation='erf'.", "Try --activation erf."),
        ("use activation='tanh' or 'auto'.", "use --activation tanh or auto."),
        ("raise max_queries or ask for less.", "raise --max-queries or ask for less."),
        ("Allow more queries (max_queries).", "Allow more queries (--max-queries)."),
        ("Ask for a higher accuracy (accuracy=0.01), or", "Ask for a higher accuracy (--accuracy 0.01), or"),
        ("Ask for a smaller `accuracy`.", "Ask for a smaller --accuracy."),
        ("give link='logistic' if they are", "give --link logistic if they are"),
        ("stay closer with bounds=, or take", "stay closer with --bounds, or take"),
        ("say so with bounds=(low, high).", "say so with --bounds low,high."),
        ("if answers are noisy, say so with noise=.", "if answers are noisy, say so with --noise."),
        ("give layers=2, 3 or 'auto'.", "give --layers 2, 3 or auto."),
        ("layers must be 'auto', 1, 2 or 3, got 0.", "--layers must be 'auto', 1, 2 or 3, got 0."),
        ('Use method="auto", which can', "Use --method auto, which can"),
        ("n_verify must be at least 0, got -1.", "--verify must be at least 0, got -1."),
        ("where n_units=3 was given. Leave n_units out.", "where --units 3 was given. Leave --units out."),
        ("cannot be told from outside: give n_features.", "cannot be told from outside: give --features."),
        ("another random_state or fewer units", "another --seed or fewer units"),
        ("(recheck=0 believes it)", "(--recheck 0 believes it)"),
        ("n_jobs must be at least 1, got 0.", "--jobs must be at least 1, got 0."),
        ("lower batch_size", "lower --batch"),
        ("Set alpha above 0 (or 'auto'), alpha=0 to", "Set --alpha above 0 (or 'auto'), --alpha 0 to"),
        ("or labels=True with y -1 and +1", "or --labels with y -1 and +1"),
        ("with trust=True.", "with --trust."),
        ("answers must be one of exact, noise", "--answers must be one of exact, noise"),
        ("n_outputs must be at least 1, got 0.", "--outputs must be at least 1, got 0."),
        ("journal must be a path", "--journal must be a path"),
    ],
)  # fmt: skip
def test_a_sentence_of_the_library_names_options_as_the_command_line_spells_them(library, ours):
    assert as_options(library) == ours
    assert as_options(ours) == ours


def test_every_flag_has_a_sentence_above():
    cases = test_a_sentence_of_the_library_names_options_as_the_command_line_spells_them.pytestmark[0].args[1]
    assert all(any(flag in ours for _, ours in cases) for flag in FLAGS.values())


@pytest.mark.parametrize(
    "sentence",
    [
        "There is no file noise=3.csv.", "d.csv has no column 'n_units'.", "max_queries.csv is empty.",
        "Several hidden layers must be asked for.", "The noise must be small, and the activation known.",
        "labels=False fits it by least squares", "--noise must be auto, labels or a number.", "a link=unknown word",
    ],
)  # fmt: skip
def test_english_words_and_what_others_wrote_stay_as_they_are(sentence):
    assert as_options(sentence) == sentence


def test_a_box_of_relu_units_needs_no_option(run, tmp_path):  # noqa: F811
    (tmp_path / "kinked.py").write_text(RELU)
    code, _, err = run("recover", "--oracle", "kinked:f", "--features", 3, "--out", "m.json", "--json")
    assert (code, err) == (0, "")
    assert json.loads((tmp_path / "m.json").read_text())["activation"] == "relu"


def test_layers_and_verification_can_be_asked_for(run, tmp_path):  # noqa: F811
    (tmp_path / "deeper.py").write_text(DEEP.replace("LAST", "([[1.0, -0.7]], [0.2])"))
    how = ("recover", "--oracle", "deeper:f", "--features", 3, "--seed", 2, "--layers", 2, "--out", "m.json", "--json")
    asked = []
    for more in ((), ("--verify", 0)):
        code, out, err = run(*how, *more)
        assert (code, err) == (0, "")
        assert gs.Network.load("m.json").widths == (3, 2)
        asked.append(json.loads(out)["n_queries"])
    assert asked[0] - asked[1] == 30
    assert run(*how, "--layers", 1)[0] == 3  # one layer is refuted


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (("--layers", "many"), "--layers must be"),
        (("--layers", 0), "--layers must be"),
        (("--verify", -1), "--verify must be at least 0, got -1."),
        (("--method", "magic"), "--method must be 'auto' or 'paper', got 'magic'."),
        (("--method", "paper"), "--method paper needs --units"),
        (("--activation", "sine"), "--activation must be one of tanh"),
        (("--max-queries", 0), "--max-queries must be at least 1, got 0."),
        (("--jobs", 0), "--jobs must be at least 1, got 0."),
        (("--link", "probit"), "--link must be None or one of"),
        (("--bounds", "2,1"), "--bounds must have low < high"),
        (("--accuracy", -1, "--noise", 0.1), "--accuracy must be"),
    ],
)
def test_a_bad_option_is_refused_under_its_own_name(run, tmp_path, options, complaint):  # noqa: F811
    (tmp_path / "boxed.py").write_text(BOX)
    how = ("recover", "--oracle", "boxed:f", "--features", 3, "--out", "x.json", *options)
    code, _, err = run(*how)
    assert (code, err.count("\n")) == (2, 1)
    assert complaint in err
    code, out, _ = run(*how, "--json")
    assert code == 2
    assert complaint in json.loads(out)["verdict"]


@pytest.mark.parametrize("word", ["--max-queries", "--budget"])
def test_a_spent_budget_names_the_option_that_raises_it(run, tmp_path, word):  # noqa: F811
    (tmp_path / "boxed.py").write_text(BOX)
    code, _, err = run("recover", "--oracle", "boxed:f", "--features", 3, "--out", "x.json", word, 20)
    assert code == 3
    assert "raise --max-queries" in err


def test_a_verdict_advises_what_the_command_line_can_be_given(run, tmp_path):  # noqa: F811
    (tmp_path / "boxed.py").write_text(BOX)
    how = ("recover", "--oracle", "boxed:f", "--features", 3, "--units", 2, "--method", "paper", "--out", "m.json")
    code, out, _ = run(*how)
    assert code == 3
    assert "Use --method auto, which can be certified." in out
    told = json.loads(run(*how, "--json")[1])
    assert "Use --method auto" in told["verdict"]
    assert [check["advice"] for check in told["checks"] if check["name"] == "certificate"] == [
        "Use --method auto, which can be certified."
    ]
    assert 'method="' not in json.dumps(told)


def test_the_notes_of_a_table_name_the_option_for_classes(run, tmp_path):  # noqa: F811
    X = np.random.default_rng(0).standard_normal((200, 2))
    rows = [f"{a!r},{b!r},{int(a > 0)}" for a, b in X.tolist()]
    (tmp_path / "d.csv").write_text("a,b,y\n" + "\n".join(rows) + "\n")
    code, out, err = run("fit", "d.csv", "--target", "y", "--units", 1, "--out", "m.json")
    assert code in (0, 3), err
    assert "or --labels with y -1 and +1" in " ".join(out.split())


def test_activation_auto_is_passed_on_as_it_is(run, tmp_path, monkeypatch):  # noqa: F811
    (tmp_path / "boxed.py").write_text(BOX)
    given, recover = {}, recovery.recover
    monkeypatch.setattr(recovery, "recover", lambda *a, **how: given.update(how) or recover(*a, **how))
    how = ("recover", "--oracle", "boxed:f", "--features", 3, "--out", "m.json")
    assert run(*how)[0] == 0
    assert [given[name] for name in ("activation", "layers", "n_verify", "method")] == ["auto", "auto", 30, "auto"]
    assert run(*how, "--layers", 1, "--verify", 5)[0] == 0
    assert [given[name] for name in ("layers", "n_verify")] == [1, 5]
