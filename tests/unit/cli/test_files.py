"""recover, fit and predict as a person would use them, with files and exit codes."""

import gzip
import json
import sys

import numpy as np
import pytest

import gradsift as gs
from gradsift import recovery
from gradsift.cli import tables
from gradsift.cli.app import main

BOX = """
import numpy as np
a = np.array([[2.0, 0, 1], [0, 1.5, -1]])
def f(X):
    return np.tanh(X @ a.T) @ [0.8, 0.5]
"""


@pytest.fixture
def run(monkeypatch, tmp_path, capsys):
    """Run the command line in an empty folder; return exit code, output and error lines."""
    monkeypatch.chdir(tmp_path)

    def call(*arguments):
        monkeypatch.setattr(sys, "argv", ["gradsift", *map(str, arguments)])
        code = 0
        try:
            main()
        except SystemExit as leave:
            code = leave.code or 0
        shown = capsys.readouterr()
        return code, shown.out, shown.err

    return call


@pytest.fixture
def rows(tmp_path):
    """A table of two units in three columns, as csv and as parquet, with words for labels."""
    truth = gs.SigmoidCombination(np.eye(3)[:2], [0.6, 0.4], 4.0)
    X, y = truth.sample(4000, "labels", rng=1)
    words = np.where(y > 0, "yes", "no")
    columns = {"a": X[:, 0], "b b": X[:, 1], 'c"': X[:, 2], "y": truth.predict(X), "word": words}
    for suffix in tables.SUFFIXES:
        tables.write_table(tmp_path / f"d{suffix}", columns)
    return columns


def test_what_stands_beside_the_units_is_printed_with_them(run, tmp_path):
    (tmp_path / "skipped.py").write_text(BOX.replace("0.5]", "0.5] + 0.7 + X @ [0.1, 0, 2.5]"))
    code, out, err = run("recover", "--oracle", "skipped:f", "--features", 3, "--out", "found.json")
    assert (code, err) == (0, "")
    assert "intercept 0.7 +- " in out
    assert "linear term [0.100, 0.000, 2.500]" in out


def test_the_accuracy_asked_for_decides_how_much_is_asked(run, tmp_path):
    (tmp_path / "noisy.py").write_text(
        BOX.replace("0.5]", "0.5] + 0.1 * rng.standard_normal(len(X))") + "rng = np.random.default_rng(0)\n"
    )
    asked = []
    for accuracy in (0.1, 1e-6):
        how = ("--features", 3, "--accuracy", accuracy, "--out", "found.json", "--json")
        code, out, _ = run("recover", "--oracle", "noisy:f", *how)
        assert code == 0
        asked.append(json.loads(out)["n_queries"])
    assert asked[0] < asked[1]


def test_a_function_is_recovered_certified_and_written_with_its_report(run, tmp_path):
    (tmp_path / "boxed.py").write_text(BOX)
    code, out, err = run(
        "recover", "--oracle", "boxed:f", "--features", 3, "--out", "found.json", "--report", "found.html"
    )
    assert (code, err) == (0, "")
    held = json.loads((tmp_path / "found.json").read_text())
    assert held["certified"] is True
    assert held["verdict"] in " ".join(out.split())
    X = np.random.default_rng(0).standard_normal((50, 3))
    found = gs.SigmoidCombination.load("found.json")
    np.testing.assert_allclose(found.predict(X), sys.modules["boxed"].f(X), atol=1e-9)
    page = (tmp_path / "found.html").read_text()
    for part in ("boxed:f", "The black box on a large half circle", "Where the queries went"):
        assert part in page


def test_a_journal_answers_a_second_run_and_a_few_of_its_rows_are_asked_again(run, tmp_path):
    (tmp_path / "counted.py").write_text(BOX.replace("    return", "    rows.extend(X)\n    return") + "rows = []\n")
    how = ("recover", "--oracle", "counted:f", "--features", 3, "--journal", "answers.db", "--json", "--out")
    code, out, _ = run(*how, "found.json")
    assert code == 0
    asked = sys.modules["counted"].rows
    n = len(asked)
    assert n == json.loads(out)["n_queries"]
    code, again, _ = run(*how, "again.json", "--recheck", 0)
    assert (code, len(asked)) == (0, n)
    assert json.loads(again)["n_queries"] == n
    assert gs.SigmoidCombination.load("again.json") == gs.SigmoidCombination.load("found.json")
    code, again, _ = run(*how, "again.json")
    assert (code, len(asked), json.loads(again)["n_rechecked"]) == (0, n + 12, 12)


def test_what_is_not_certified_exits_three_and_is_written_all_the_same(run, tmp_path):
    (tmp_path / "boxed.py").write_text(BOX)
    how = ("--features", 3, "--units", 2, "--method", "paper")
    code, out, _ = run("recover", "--oracle", "boxed:f", *how, "--out", "found.npz")
    assert code == 3
    assert "no certificate" in out
    assert gs.SigmoidCombination.load("found.npz").n_units == 2


@pytest.mark.parametrize("suffix", tables.SUFFIXES)
def test_fit_then_predict_agrees_with_the_model_on_the_rows(run, rows, tmp_path, suffix):
    code, out, err = run(
        "fit", f"d{suffix}", "--target", "y", "--columns", 'a,b b,c"', "--units", 2, "--out", "m.json", "--json"
    )
    assert code in (0, 3)
    assert err == ""
    told = json.loads(out)
    assert told["columns"] == ["a", "b b", 'c"']
    assert run("predict", "m.json", f"d{suffix}", "--out", f"p{suffix}")[0] == 0
    X = np.column_stack([rows[name] for name in told["columns"]])
    expected = gs.SigmoidCombination.load("m.json").predict(X)
    predicted = tables.read_numbers(tmp_path / f"p{suffix}", ["prediction"])[:, 0]
    np.testing.assert_array_equal(predicted, expected)


def test_labels_may_be_words_and_come_back_as_words(run, rows, tmp_path):
    how = ("--target", "word", "--labels", "--columns", 'a,b b,c"', "--units", 2, "--report", "m.html")
    code, _, err = run("fit", "d.csv", *how, "--out", "m.json")
    assert code in (0, 3), err
    assert "Calibration" in (tmp_path / "m.html").read_text()
    assert run("predict", "m.json", "d.csv", "--out", "p.csv")[0] == 0
    words = tables.read_columns(tmp_path / "p.csv", ["prediction"])["prediction"]
    second = tables.read_numbers(tmp_path / "p.csv", ["probability"])[:, 0]
    assert set(words) <= {"yes", "no"}
    np.testing.assert_array_equal(words == "yes", second > 0.5)


def people(path, separator, gaps=True):
    """Write a table as people have them: words, truth values, a gap, a quoted name with a comma."""
    rng = np.random.default_rng(3)
    colour = rng.choice(["red", "green", "blue"], 200)
    size, flag = rng.standard_normal(200), rng.choice(["True", "False"], 200)
    y = np.tanh(1.5 * size + (colour == "red")) + 0.2 * rng.standard_normal(200)
    shown = [f"{v:.6f}" for v in size]
    shown[7] = "NA" if gaps else "0"
    lines = [separator.join(['"size, in m"', "colour", "flag", "y"])]
    lines += [separator.join((a, b, c, f"{d:.6f}")) for a, b, c, d in zip(shown, colour, flag, y)]
    with (gzip.open if path.suffix == ".gz" else open)(path, "wt") as file:
        file.write("\n".join(lines) + "\n")


@pytest.mark.parametrize(("name", "separator"), [("a.csv", ","), ("b.csv", ";"), ("c.tsv", "\t"), ("d.csv.gz", ",")])
def test_tables_are_read_as_people_have_them(tmp_path, name, separator):
    people(tmp_path / name, separator)
    inputs = ["size, in m", "colour", "flag"]
    assert tables.column_names(tmp_path / name) == [*inputs, "y"]
    dropped = tables.load(tmp_path / name, inputs, "y", words=False, na="drop")
    assert dropped.X.shape == (199, 4)
    assert dropped.n_dropped == 1
    assert dropped.coding.inputs == ["size, in m", "colour=green", "colour=red", "flag"]
    filled = tables.load(tmp_path / name, inputs, "y", words=False, na="mean")
    assert filled.X[7, 0] == pytest.approx(dropped.X[:, 0].mean())
    assert set(filled.X[:, 3]) == {0.0, 1.0}
    np.testing.assert_array_equal(tables.inputs_of(tmp_path / name, filled.coding), filled.X)
    with pytest.raises(ValueError, match="misses a value in data row 8, column 'size, in m'"):
        tables.load(tmp_path / name, inputs, "y", words=False, na="error")
    with pytest.raises(ValueError, match="fit the model with --na mean"):
        tables.inputs_of(tmp_path / name, dropped.coding)


def test_categories_keep_their_coding_and_dates_and_strange_levels_are_refused_by_name(run, tmp_path):
    people(tmp_path / "d.csv", ",", gaps=False)
    code, out, err = run("fit", "d.csv", "--target", "y", "--units", 1, "--out", "m.json")
    assert code in (0, 3), err
    assert "'colour' is coded against its base level 'blue'" in out
    assert run("predict", "m.json", "d.csv", "--out", "p.csv")[0] == 0
    lines = (tmp_path / "d.csv").read_text().splitlines()
    (tmp_path / "red.csv").write_text("\n".join([lines[0], *(row for row in lines[1:] if "red" in row)]) + "\n")
    assert run("predict", "m.json", "red.csv", "--out", "r.csv")[0] == 0  # a part of the levels, the same coding
    every = tables.read_numbers(tmp_path / "p.csv", ["prediction"])[:, 0]
    red = ["red" in row for row in lines[1:]]
    np.testing.assert_array_equal(tables.read_numbers(tmp_path / "r.csv", ["prediction"])[:, 0], every[red])
    (tmp_path / "d.csv").write_text("\n".join([*lines, "0.1,mauve,True,0.5"]) + "\n")
    code, _, err = run("predict", "m.json", "d.csv", "--out", "q.csv")
    assert code == 2
    assert "'mauve' in data row 201, column 'colour', which the model does not know" in err
    (tmp_path / "t.csv").write_text("day,y\n2024-01-07,1\n2024-01-08,2\n")
    code, _, err = run("fit", "t.csv", "--target", "y", "--out", "t.json")
    assert code == 2
    assert "t.csv holds dates in column 'day' ('2024-01-07')" in err


def test_a_row_with_a_gap_has_no_prediction_where_such_rows_were_dropped(run, tmp_path):
    people(tmp_path / "d.csv", ",")
    assert run("fit", "d.csv", "--target", "y", "--units", 1, "--na", "drop", "--out", "m.json")[0] in (0, 3)
    assert run("predict", "m.json", "d.csv", "--out", "p.csv")[0] == 0
    predicted = tables.read_columns(tmp_path / "p.csv", ["prediction"])["prediction"]
    assert [row for row, text in enumerate(predicted) if not text] == [7]


def test_classes_may_be_fitted_by_their_log_odds(run, rows, tmp_path):
    how = (
        "fit",
        "d.csv",
        "--target",
        "word",
        "--columns",
        'a,b b,c"',
        "--units",
        1,
        "--out",
        "m.json",
        "--link",
        "logit",
    )
    code, _, err = run(*how)
    assert code == 2
    assert "--link logit is for classes: use it with --labels" in err
    assert run(*how, "--labels")[0] in (0, 3)
    assert run("predict", "m.json", "d.csv", "--out", "p.csv")[0] == 0
    X, y = np.column_stack([rows[name] for name in ("a", "b b", 'c"')]), rows["word"]
    with pytest.warns(gs.errors.UncertifiedWarning):
        fit = gs.SigmoidMixtureClassifier(1, link="logit", random_state=0).fit(X, y)
    second = tables.read_numbers(tmp_path / "p.csv", ["probability"])[:, 0]
    np.testing.assert_allclose(second, fit.predict_proba(X)[:, 1], atol=1e-3)  # an optimum to the tolerance of fits


def test_rare_words_of_a_column_with_many_become_one_level(tmp_path):
    words = [*(f"w{i % 49:02}" for i in range(196)), "x", "y"]
    (tmp_path / "d.csv").write_text("word,y\n" + "".join(f"{word},{len(word)}\n" for word in words))
    found = tables.load(tmp_path / "d.csv", ["word"], "y", words=False, na="error")
    assert found.coding.inputs[-1] == "word=(other)"
    assert found.X.shape == (198, 49)
    np.testing.assert_array_equal(np.flatnonzero(found.X[:, -1]), [196, 197])
    assert any("the rarest, and any other, count as '(other)'" in told for told in found.coding.notes(0))
    (tmp_path / "new.csv").write_text("word\nz\nw03\n")
    X = tables.inputs_of(tmp_path / "new.csv", found.coding)
    np.testing.assert_array_equal(X.sum(axis=1), [1, 1])
    assert X[0, -1] == 1
    (tmp_path / "id.csv").write_text("word,y\n" + "".join(f"id{i},{i}\n" for i in range(99)))
    with pytest.raises(ValueError, match="holds 99 different words in the 99 rows of column 'word', which name rows"):
        tables.load(tmp_path / "id.csv", ["word"], "y", words=False, na="error")


def test_what_a_fit_found_is_written_with_its_notes_and_stays_as_it_was(run, tmp_path, monkeypatch):
    people(tmp_path / "d.csv", ",", gaps=False)
    kept, recover = [], recovery.recover
    monkeypatch.setattr(recovery, "recover", lambda *a, **how: kept.append(recover(*a, **how)) or kept[-1])
    monkeypatch.setattr("tempfile.TemporaryDirectory", lambda *_: pytest.fail("the model was written elsewhere first"))
    code, _, err = run("fit", "d.csv", "--target", "y", "--units", 1, "--out", "m.json")
    assert code in (0, 3), err
    held = json.loads((tmp_path / "m.json").read_text())
    assert held["notes"][0].startswith("'colour' is coded against its base level 'blue'")
    assert kept[0].diagnostics["notes"] == []
    assert gs.SigmoidCombination.load("m.json") == kept[0].model


SEVERAL = BOX.replace("@ [0.8, 0.5]", "@ [[0.8, 0.1], [0.5, -0.9]]")
DEEP = """
import gradsift as gs
first = [[0.9, -0.4, 0.3], [-0.5, 0.8, 0.6], [0.2, 0.7, -0.9]], [0.3, -0.2, 0.1]
second = [[0.8, -0.6, 0.4], [0.3, 0.9, -0.7]], [0.1, -0.3]
f = gs.Network([first, second, LAST]).predict
"""
BOXES = {
    "one": BOX,
    "several": SEVERAL,
    "deep": DEEP.replace("LAST", "([[1.0, -0.7]], [0.2])"),
    "deep_several": DEEP.replace("LAST", "([[1.0, -0.7], [0.4, 0.9]], [0.2, 0.0])"),
}


@pytest.mark.parametrize("suffix", [".json", ".npz", ".onnx"])
@pytest.mark.parametrize("name", BOXES)
def test_predict_reads_every_model_that_recover_writes(run, tmp_path, name, suffix):
    if suffix == ".onnx":
        pytest.importorskip("onnxruntime")
    (tmp_path / f"{name}.py").write_text(BOXES[name])
    how = ("--features", 3, "--out", f"found{suffix}")
    assert run("recover", "--oracle", f"{name}:f", *how)[0] == 0
    X = np.random.default_rng(0).standard_normal((20, 3))
    tables.write_table(tmp_path / "d.csv", dict(zip("abc", X.T)))
    assert run("predict", f"found{suffix}", "d.csv", "--out", "p.csv")[0] == 0
    expected = sys.modules.pop(name).f(X)
    names = ["prediction_1", "prediction_2"] if expected.ndim > 1 else ["prediction"]
    assert tables.column_names(tmp_path / "p.csv") == names
    np.testing.assert_allclose(tables.read_numbers(tmp_path / "p.csv", names), expected.reshape(20, -1), atol=1e-9)


def test_a_file_of_another_kind_is_no_model(run, tmp_path):
    (tmp_path / "m.json").write_text('{"format": "gradsift.Journal", "version": 1}')
    (tmp_path / "d.csv").write_text("a,b\n1,2\n")
    code, _, err = run("predict", "m.json", "d.csv", "--out", "p.csv")
    assert (code, err) == (2, "gradsift: m.json holds a 'Journal', not a Network or a SigmoidCombination.\n")


def test_several_outputs_as_the_version_before_wrote_them_are_read(run, tmp_path):
    model = gs.SigmoidCombination(np.eye(2), [1.0, 1.0])
    outputs = [{"weights": [1.0, 2.0], "intercept": 0.5}, {"weights": [3.0, 0.0], "intercept": 0.0, "linear": [1, 0]}]
    model.save(tmp_path / "m.json", {"outputs": outputs})
    (tmp_path / "d.csv").write_text("a,b\n1,2\n")
    assert run("predict", "m.json", "d.csv", "--out", "p.csv")[0] == 0
    told = tables.read_numbers(tmp_path / "p.csv", ["prediction_1", "prediction_2"])[0]
    a, b = np.tanh([1.0, 2.0])
    np.testing.assert_allclose(told, [a + 2 * b + 0.5, 3 * a + 1], rtol=1e-14)


def test_hostile_column_names_survive_the_whole_way(run, tmp_path):
    names = ["<script>alert(1)</script>", 'quote " and, comma', "ünïcödé 中文", "=1+1"]
    X = np.random.default_rng(0).standard_normal((600, 4))
    y = np.tanh(3 * X[:, 0])
    tables.write_table(tmp_path / "d.csv", {**dict(zip(names, X.T)), "y <b>": y})
    code, _, err = run("fit", "d.csv", "--target", "y <b>", "--units", 1, "--out", "m.json", "--report", "m.html")
    assert code in (0, 3), err
    page = (tmp_path / "m.html").read_text()
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert(1)" in page
    assert run("predict", "m.json", "d.csv", "--out", "p.csv")[0] == 0
    np.testing.assert_allclose(tables.read_numbers(tmp_path / "p.csv", ["prediction"])[:, 0], y, atol=1e-3)


def test_a_model_without_column_names_takes_all_columns_in_order(run, tmp_path):
    gs.SigmoidCombination(np.eye(2), [1.0, 2.0]).save(tmp_path / "m.npz")
    tables.write_table(tmp_path / "d.csv", {"u": [0.0, 1.0], "v": [0.0, 0.5]})
    assert run("predict", "m.npz", "d.csv", "--out", "p.csv")[0] == 0
    expected = [0.0, np.tanh(1.0) + 2 * np.tanh(0.5)]
    np.testing.assert_allclose(tables.read_numbers(tmp_path / "p.csv", ["prediction"])[:, 0], expected, rtol=1e-15)
    tables.write_table(tmp_path / "e.csv", {"u": [0.0]})
    code, _, err = run("predict", "m.npz", "e.csv", "--out", "q.csv")
    assert code == 2
    assert "1 columns, but the model has 2 inputs" in err


BAD = {
    "no file": (("fit", "nosuch.csv", "--target", "y"), "There is no file nosuch.csv"),
    "no column": (("fit", "d.csv", "--target", "zz"), "no column 'zz'; it has 'a'"),
    "text": (("fit", "bad.csv", "--target", "y"), "data row 2, column 'b', holds 'oops'"),
    "not a number": (("fit", "nan.csv", "--target", "y"), "nan.csv misses a value in data row 2, column 'a'"),
    "no rows": (("fit", "head.csv", "--target", "y"), "column names but no rows"),
    "empty": (("fit", "empty.csv", "--target", "y"), "is empty"),
    "short row": (("fit", "short.csv", "--target", "y"), "3 values in every row, but data row 2 has 2"),
    "not UTF-8": (("fit", "latin.csv", "--target", "y"), "latin.csv must be a table in UTF-8 text"),
    "seed": (("fit", "d.csv", "--target", "y", "--columns", "a", "--seed", -1), "A seed must be at least 0, got -1"),
    "file for a folder": (("figures",), "x.json must be a folder"),
    "twice": (("fit", "twice.csv", "--target", "y"), "two columns named 'a'"),
    "kind of file": (("fit", "d.xlsx", "--target", "y"), "must end in .csv, .tsv, .csv.gz, .tsv.gz or .parquet"),
    "three classes": (("fit", "bad.csv", "--target", "b", "--labels", "--columns", "a"), "needs two classes"),
    "target as input": (("fit", "d.csv", "--target", "y", "--columns", "a,y"), "cannot be an input too"),
    "units": (("fit", "d.csv", "--target", "y", "--units", "many"), "--units must be auto or a number"),
    "module": (("recover", "--oracle", "nosuch:f", "--features", 3), "nosuch:f cannot be loaded"),
    "module that fails": (("recover", "--oracle", "broken:f"), "broken:f cannot be loaded: KeyError: 'key'."),
    "module that leaves": (("recover", "--oracle", "leaves:f"), "leaves:f cannot be loaded: SystemExit: 7."),
    "module of many words": (("recover", "--oracle", "loud:f"), "loud:f cannot be loaded: RuntimeError: two lines."),
    "box that leaves": (("recover", "--oracle", "quits:f", "--features", 3), "quits:f ended the program"),
    "no pickle": (("recover", "--oracle", "nosuch.joblib"), "There is no file nosuch.joblib"),
    "trust": (("recover", "--oracle", "m.joblib"), "pass --trust"),
    "activation": (
        ("recover", "--oracle", "boxed:f", "--features", 3, "--activation", "sine", "--journal", "j.db"),
        "'sine'",
    ),
    "parquet": (("fit", "false.parquet", "--target", "y"), "false.parquet"),
    "bounds": (("recover", "--oracle", "boxed:f", "--bounds", "1"), "two numbers LO,HI"),
    "noise": (("recover", "--oracle", "boxed:f", "--noise", "loud"), "--noise must be auto"),
    "model": (("predict", "bad.csv", "bad.csv"), "model file must end"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_one_line_exit_two_and_leaves_nothing(run, rows, tmp_path, name):
    (tmp_path / "bad.csv").write_text("a,b,y\n1,2,3\n4,oops,6\n7,8,9\n")
    (tmp_path / "nan.csv").write_text("a,y\n1,2\nnan,3\n2,1\n1,1\n")
    (tmp_path / "head.csv").write_text("a,y\n")
    (tmp_path / "empty.csv").write_text("")
    (tmp_path / "twice.csv").write_text("a,a,y\n1,2,3\n")
    (tmp_path / "short.csv").write_text("a,b,y\n1,2,3\n4,5\n")
    (tmp_path / "latin.csv").write_bytes("é,y\n1,2\n".encode("latin-1"))
    if name == "file for a folder":
        (tmp_path / "x.json").touch()
    (tmp_path / "boxed.py").write_text(BOX)
    (tmp_path / "m.joblib").write_bytes(b"no pickle")
    (tmp_path / "false.parquet").write_text("a,y\n1,2\n")
    (tmp_path / "broken.py").write_text("{}['key']")
    (tmp_path / "leaves.py").write_text("raise SystemExit(7)")
    (tmp_path / "quits.py").write_text("def f(X):\n    raise SystemExit(3)")
    (tmp_path / "loud.py").write_text("raise RuntimeError('two\\nlines.')")
    arguments, complaint = BAD[name]
    before = sorted(p.name for p in tmp_path.iterdir())
    out = "x.csv" if arguments[0] == "predict" else "x.json"
    more = ("--units", 2) if arguments[0] in ("fit", "recover") and "--units" not in arguments else ()
    code, shown, err = run(*arguments, *more, "--out", out)
    assert (code, shown) == (2, "")
    assert complaint in err
    assert err.count("\n") == 1
    assert sorted(p.name for p in tmp_path.iterdir()) == before


@pytest.mark.parametrize("place", ["no/x.json", "x.txt", "folder.json"])
def test_a_place_that_cannot_be_written_is_refused_before_any_work(run, rows, tmp_path, place, monkeypatch):
    (tmp_path / "folder.json").mkdir()
    monkeypatch.setattr(recovery, "recover", lambda *_, **__: pytest.fail("the work began"))
    for option in ("--out", "--report"):
        other = ("--report", "r.html") if option == "--out" else ("--out", "x.json")
        code, _, err = run("fit", "d.csv", "--target", "y", option, place, *other)
        assert code == 2
        assert err.count("\n") == 1
    assert sorted(p.name for p in tmp_path.iterdir()) == ["d.csv", "d.parquet", "folder.json"]


def test_a_pickle_is_loaded_only_with_trust_and_never_without_a_warning(run, tmp_path):
    joblib = pytest.importorskip("joblib")
    from sklearn.neural_network import MLPRegressor

    X = np.random.default_rng(0).standard_normal((200, 2))
    net = MLPRegressor(hidden_layer_sizes=(2,), activation="tanh", solver="lbfgs", max_iter=500, random_state=0)
    joblib.dump(net.fit(X, np.tanh(X[:, 0])), tmp_path / "m.joblib")
    code, _, err = run("recover", "--oracle", "m.joblib", "--trust", "--out", "found.json")
    assert code in (0, 3)
    assert err == "gradsift: warning: loading m.joblib runs the code stored in it, as --trust allows.\n"
    (tmp_path / "m.joblib").write_bytes(b"no pickle")
    code, _, err = run("recover", "--oracle", "m.joblib", "--trust", "--out", "x.json")
    assert code == 2
    assert "gradsift: m.joblib cannot be loaded" in err
    assert "Traceback" not in err
    assert not (tmp_path / "x.json").exists()


def test_a_method_that_gives_up_exits_three_with_one_line(run, tmp_path):
    (tmp_path / "boxed.py").write_text(BOX)
    how = ("--features", 3, "--units", 2, "--method", "paper", "--budget", 50)
    code, _, err = run("recover", "--oracle", "boxed:f", *how, "--out", "x.json")
    assert code == 3
    assert "of 50 queries" in err
    assert not (tmp_path / "x.json").exists()


def test_a_missing_extra_is_one_line_that_names_it(run, rows, tmp_path, monkeypatch):
    def absent(name):
        raise ModuleNotFoundError(f"No module named {name!r}", name="pyarrow")

    monkeypatch.setattr("gradsift.runtime.importlib.import_module", absent)
    code, _, err = run("fit", "d.parquet", "--target", "y", "--out", "x.json")
    assert code == 2
    assert "gradsift[parquet]" in err


def test_a_report_that_cannot_be_made_is_refused_before_any_work(run, rows, tmp_path, monkeypatch):
    def absent(name):
        raise ModuleNotFoundError(f"No module named {name!r}", name="jinja2")

    monkeypatch.setattr("gradsift.runtime.importlib.import_module", absent)
    monkeypatch.setattr(recovery, "recover", lambda *_, **__: pytest.fail("the work began"))
    code, _, err = run("fit", "d.csv", "--target", "y", "--out", "x.json", "--report", "x.html")
    assert code == 2
    assert "gradsift[report]" in err


def test_tables_keep_every_bit_and_odd_names(tmp_path):
    values = np.random.default_rng(0).standard_normal(100) * 10.0 ** np.arange(-50, 50)
    for suffix in tables.SUFFIXES:
        path = tmp_path / f"t{suffix}"
        tables.write_table(path, {"plain": values, 'a,"b"': -values})
        assert tables.column_names(path) == ["plain", 'a,"b"']
        np.testing.assert_array_equal(tables.read_numbers(path, ['a,"b"', "plain"]), np.column_stack((-values, values)))
