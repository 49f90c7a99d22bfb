"""Recorded answers in CSV and Parquet tables."""

import csv

import numpy as np
import pandas as pd
import pytest

import gradsift as gs
from gradsift.oracle import from_table

from .boxes import points, smooth, two_outputs

X = points(9)


def write(path, X, Y, names=("a", "b", "c", "y")):
    if path.suffix == ".parquet":
        pd.DataFrame(np.column_stack([X, Y]), columns=list(names)).to_parquet(path)
        return path
    with path.open("w", newline="") as stream:
        csv.writer(stream).writerows([names, *np.column_stack([X, Y]).tolist()])
    return path


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_recorded_rows_are_answered_to_the_bit_in_any_order(tmp_path, suffix):
    oracle = from_table(write(tmp_path / f"t{suffix}", X, smooth(X)), batch_size=2)
    np.testing.assert_array_equal(oracle(X[::-1]), smooth(X)[::-1])
    np.testing.assert_array_equal(oracle(X[:1]), smooth(X)[:1])  # again: it is the same answer
    assert (oracle.n_features, oracle.n_queries) == (3, 10)


def test_columns_can_be_named(tmp_path):
    path = write(tmp_path / "t.csv", X, two_outputs(X), ("a", "b", "c", "u", "v"))
    np.testing.assert_array_equal(from_table(path, ["u", "v"])(X), two_outputs(X))
    np.testing.assert_array_equal(from_table(path, "v", features=["c", "a"])(X[:, [2, 0]]), two_outputs(X)[:, 1])


def test_rows_that_are_not_recorded_are_handed_over(tmp_path):
    oracle = from_table(write(tmp_path / "t.csv", X[:6], smooth(X[:6])))
    with pytest.raises(gs.errors.OracleFailure, match="has no answer for 3 of the 5 rows asked for") as caught:
        oracle(X[4:])
    np.testing.assert_array_equal(caught.value.partial, X[6:])


def test_a_laboratory_in_the_loop_fills_the_table_until_the_campaign_ends(tmp_path):
    from .campaign import campaign

    path, known = tmp_path / "t.csv", points(1, seed=9)
    for _ in range(20):
        try:
            state = campaign(from_table(write(path, known, smooth(known))))
            break
        except gs.errors.OracleFailure as request:
            known = np.vstack([known, request.partial])
    np.testing.assert_array_equal(state, campaign(gs.Oracle(smooth, 3)))


def test_repeated_measurements_are_given_out_once_each(tmp_path):
    path = write(tmp_path / "t.csv", np.zeros((3, 3)), np.array([0.1, 0.3, 0.2]))
    oracle = from_table(path)
    np.testing.assert_array_equal(oracle(np.zeros((2, 3))), [0.1, 0.3])
    with pytest.raises(gs.errors.OracleFailure, match="1 of the 2 rows"):
        oracle(np.zeros((2, 3)))
    np.testing.assert_array_equal(oracle(np.zeros((1, 3))), [0.2])  # the refused question used nothing up


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,b,y\n1,2,3\n4,oops,6\n", "line 3, must hold numbers, got '4,oops,6'"),
        ("a,b,y\n1,2,3\n4,5\n", "line 3, must have 3 entries, got 2"),
        ("a,b,y\n1,nan,3\n", "inputs must be finite"),
        ("a,b,z\n1,2,3\n", "has no column 'y', only a, b, z"),
        ("y\n1\n", "no columns beside the target"),
        ("a,b,y\n", "holds no answers"),
        ("", "holds no answers"),
    ],
)
def test_bad_tables_get_one_sentence(tmp_path, text, message):
    (tmp_path / "t.csv").write_text(text)
    with pytest.raises(ValueError, match=message):
        from_table(tmp_path / "t.csv")


def test_files_of_another_kind_or_none_are_refused(tmp_path):
    (tmp_path / "t.xlsx").write_text("")
    with pytest.raises(ValueError, match=r"must end in \.csv or \.parquet"):
        from_table(tmp_path / "t.xlsx")
    with pytest.raises(FileNotFoundError, match="There is no table"):
        from_table(tmp_path / "none.csv")
    pd.DataFrame({"a": ["x"], "y": [1.0]}).to_parquet(tmp_path / "t.parquet")
    with pytest.raises(TypeError, match="inputs must hold real numbers"):
        from_table(tmp_path / "t.parquet")
