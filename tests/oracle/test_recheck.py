"""A journal belongs to one model: told by its source, or by rows that are asked again."""

import sqlite3
import sys

import joblib
import numpy as np
import pytest

import gradsift as gs
from gradsift.oracle import from_spec, from_table

from .boxes import Watched, points, smooth, two_outputs

X = points(20)


def record(path, function, rows=X, **options):
    with gs.Oracle(function, 3, journal=path, **options) as oracle:
        return oracle(rows), oracle


def test_the_same_model_goes_on_and_its_rechecked_rows_are_counted(tmp_path):
    record(tmp_path / "c.db", smooth, X[:15])
    box = Watched()
    answers, oracle = record(tmp_path / "c.db", box, X, max_queries=20)
    np.testing.assert_array_equal(answers, smooth(X))
    assert (oracle.n_replayed, oracle.n_rechecked, oracle.n_queries, box.n_rows) == (15, 10, 15, 15)
    assert oracle.n_answered == 20  # the campaign is as long as without


@pytest.mark.parametrize("factor", [1 + 1e-4, 2.0, -1.0])
@pytest.mark.parametrize("function", [smooth, two_outputs])
def test_another_model_is_refused_with_what_differs(tmp_path, function, factor):
    record(tmp_path / "c.db", function)
    with pytest.raises(gs.errors.GradsiftError, match=r"c\.db records .* as the answer to query 1, and now it is"):
        record(tmp_path / "c.db", lambda rows: factor * function(rows))
    answers, oracle = record(tmp_path / "c.db", lambda rows: pytest.fail("asked"), recheck=0)
    np.testing.assert_array_equal(answers, function(X))
    assert oracle.n_rechecked == 0


def test_a_model_that_changed_somewhere_only_is_found_by_a_row_from_there(tmp_path):
    record(tmp_path / "c.db", smooth)
    changed = lambda rows: np.where((rows == X[-1]).all(axis=1), 5.0, smooth(rows))
    with pytest.raises(gs.errors.GradsiftError, match="query 20, and now it is 5:"):
        record(tmp_path / "c.db", changed)


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("noise", [1e-12, 1e-3, 1.0])
def test_noise_and_rounding_are_no_other_model(tmp_path, noise, seed):
    rng = np.random.default_rng(seed)
    noisy = lambda rows: smooth(rows) + noise * rng.standard_normal(len(rows))
    recorded, _ = record(tmp_path / "c.db", noisy, X[:15])
    answers, oracle = record(tmp_path / "c.db", noisy)
    np.testing.assert_array_equal(answers[:15], recorded)
    assert (oracle.n_replayed, oracle.n_rechecked) == (15, 10)


@pytest.mark.parametrize("seed", range(5))
def test_labels_are_not_compared(tmp_path, seed):
    rng = np.random.default_rng(seed)
    labels = lambda rows: np.where(rng.random(len(rows)) < 0.9, 1.0, -1.0)
    recorded, _ = record(tmp_path / "c.db", labels, X[:15])
    answers, oracle = record(tmp_path / "c.db", labels)
    np.testing.assert_array_equal(answers[:15], recorded)
    assert oracle.n_replayed == 15


def test_single_precision_may_round_with_the_batch(tmp_path):
    rounded = lambda rows: (smooth(rows) * (1 + 1e-7 * len(rows))).astype(np.float32)
    recorded, _ = record(tmp_path / "c.db", rounded, X[:15])
    answers, oracle = record(tmp_path / "c.db", rounded)
    np.testing.assert_array_equal(answers[:15], recorded)
    assert (oracle.n_replayed, oracle.n_rechecked) == (15, 10)


def test_another_number_of_outputs_is_refused(tmp_path):
    record(tmp_path / "c.db", smooth)
    with pytest.raises(ValueError, match="same number of outputs, got 2 after 1"):
        record(tmp_path / "c.db", two_outputs)


BOX = """
import numpy as np
W = 1.0
def f(X): return np.tanh(W * X[:, 0])
class C:
    def __call__(self, X): return f(X)
c = C()
"""


@pytest.mark.parametrize("word", ["box_for_recheck:f", "box_for_recheck:c"])
def test_an_edited_source_is_refused_before_anything_is_asked(tmp_path, monkeypatch, word):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "box_for_recheck.py").write_text(BOX)
    with from_spec(word, 3, journal="c.db") as oracle:
        oracle(X)
    with from_spec(word, 3, journal="c.db") as oracle:
        oracle(X)
        assert oracle.n_rechecked == 10  # it might have loaded something that changed
    (tmp_path / "box_for_recheck.py").write_text(BOX.replace("1.0", "3.0"))
    sys.modules.pop("box_for_recheck")
    with pytest.raises(gs.errors.GradsiftError, match="its source has changed since"):
        from_spec(word, 3, journal="c.db")
    sys.modules.pop("box_for_recheck")


def test_a_journal_of_the_first_format_goes_on_and_is_sealed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "box_for_recheck.py").write_text(BOX)
    with from_spec("box_for_recheck:f", 3, journal="c.db") as oracle:
        oracle(X[:15])
    with sqlite3.connect("c.db") as connection:
        connection.execute("ALTER TABLE answers RENAME TO sealed")
        connection.execute(
            "CREATE TABLE answers (position INTEGER PRIMARY KEY, row BLOB NOT NULL, answer BLOB NOT NULL)"
        )
        connection.execute("INSERT INTO answers SELECT position, row, answer FROM sealed")
        connection.execute("DROP TABLE sealed")
        connection.execute("UPDATE header SET value = 'gradsift.journal 1' WHERE name = 'format'")
        connection.execute("UPDATE header SET value = 'box_for_recheck:f' WHERE name = 'model'")
    connection.close()
    expected = np.tanh(X[:, 0])
    np.testing.assert_array_equal(gs.oracle.from_journal("c.db")(X[:15]), expected[:15])
    with from_spec("box_for_recheck:f", 3, journal="c.db") as oracle:
        np.testing.assert_array_equal(oracle(X), expected)
        assert (oracle.n_replayed, oracle.n_rechecked) == (15, 10)
    with sqlite3.connect("c.db") as connection:
        assert connection.execute("SELECT count(seal) FROM answers").fetchone() == (20,)
        assert connection.execute("SELECT value FROM header WHERE name = 'format'").fetchone() == (
            "gradsift.journal 2",
        )
    connection.close()
    sys.modules.pop("box_for_recheck")


def test_an_estimator_is_known_by_its_hash_and_not_asked_again(tmp_path):
    from sklearn.neural_network import MLPRegressor

    net = MLPRegressor(hidden_layer_sizes=(2,), solver="lbfgs", random_state=0).fit(X, X[:, 0])
    joblib.dump(net, tmp_path / "net.joblib")
    for _ in range(2):
        with from_spec(str(tmp_path / "net.joblib"), trust=True, journal=tmp_path / "c.db") as oracle:
            oracle(X)
    assert (oracle.n_replayed, oracle.n_rechecked) == (20, 0)


def test_a_table_is_asked_again_unless_that_uses_its_answers_up(tmp_path):
    lines = [f"{x!r},{y!r}" for x, y in zip(range(5), (0.5, 1.5, 2.5, 3.5, 4.5))]
    path = tmp_path / "t.csv"
    path.write_text("\n".join(["a,y", *lines]) + "\n")
    rows = np.arange(5.0)[:, None]
    for n in (0, 8):
        with from_table(path, journal=tmp_path / "c.db") as oracle:
            oracle(rows)
        assert oracle.n_rechecked == n
    path.write_text("\n".join(["a,y", *lines, "0,0.25"]) + "\n")  # 0 has two answers now, to be given out in turn
    with from_table(path, journal=tmp_path / "c.db") as oracle:
        oracle(rows)
    assert oracle.n_rechecked == 0
    path.write_text("\n".join(["a,y", *lines]).replace("2.5", "9.5") + "\n")
    with (
        pytest.raises(gs.errors.GradsiftError, match=r"records 2\.5 .* now it is 9\.5"),
        from_table(path, journal=tmp_path / "c.db") as oracle,
    ):
        oracle(rows)
