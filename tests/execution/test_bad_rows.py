"""Rows that cannot be used are refused in one sentence that names file, column or chunk, before any long work."""

import numpy as np
import pytest

import gradsift as gs
from gradsift.sources import MomentSummary, as_source

Y = np.linspace(0, 1, 100)
X = np.column_stack((np.sin(7 * Y), np.cos(5 * Y)))


@pytest.fixture
def write(tmp_path):
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")

    def writer(name="t.parquet", **columns):
        parquet.write_table(arrow.table(columns), tmp_path / name)
        return tmp_path

    return writer


@pytest.mark.parametrize(
    ("column", "kind"),
    [
        (["a"] * 100, "string"),
        ([b"a"] * 100, "binary"),
        ([[1.0]] * 100, "list"),
        (np.full(100, "2020-01-01", dtype="datetime64[s]"), "timestamp"),
    ],
)
def test_parquet_columns_that_are_no_numbers_are_named(write, column, kind):
    folder = write(x=X[:, 0], city=column, y=Y)
    with pytest.raises(TypeError, match=rf"t\.parquet: column 'city' must hold numbers, got {kind}"):
        gs.sources.parquet(folder, target="y")
    assert gs.sources.parquet(folder, target="y", features=["x"]).n_features == 1  # projection leaves it out


def test_categorical_parquet_columns_are_named(write):
    arrow = pytest.importorskip("pyarrow")
    folder = write(x=arrow.array(["a", "b"] * 50).dictionary_encode(), y=Y)
    with pytest.raises(TypeError, match="column 'x' must hold numbers, got dictionary"):
        gs.sources.parquet(folder, target="y")


def test_nulls_in_parquet_are_named_when_it_is_opened(write):
    folder = write(x=[None, *X[1:, 0]], y=Y)
    with pytest.raises(ValueError, match=r"t\.parquet: column 'x' must not have nulls, it has 1"):
        gs.sources.parquet(folder, target="y")


def test_nulls_that_the_file_does_not_count_are_found_in_the_first_pass(tmp_path):
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    parquet.write_table(arrow.table({"x": [None, *X[1:, 0]], "y": Y}), tmp_path / "t.parquet", write_statistics=False)
    with pytest.raises(ValueError, match="column 'x' must not have nulls"):
        gs.sources.parquet(tmp_path, target="y").reduce(MomentSummary())


def test_nan_in_parquet_is_named_by_row(write):
    x = X[:, 0].copy()
    x[41] = np.nan
    with pytest.raises(ValueError, match="row 41 holds NaN"):
        gs.sources.parquet(write(x=x, y=Y), target="y").reduce(MomentSummary())


def test_parquet_without_the_target_says_what_it_has(write):
    folder = write(x=X[:, 0], y=Y)
    with pytest.raises(ValueError, match=r"target must be a column of .*, got 'z'; it has x, y"):
        gs.sources.parquet(folder, target="z")
    with pytest.raises(ValueError, match=r"features must be columns of .*, got 'w'"):
        gs.sources.parquet(folder, target="y", features=["x", "w"])
    with pytest.raises(ValueError, match="must have a column beside the target"):
        gs.sources.parquet(folder, target="y", features=[])


def test_parquet_files_that_differ_are_named(write):
    write("a.parquet", x=X[:, 0], y=Y)
    folder = write("b.parquet", z=X[:, 0], y=Y)
    with pytest.raises(ValueError, match=r"b\.parquet must have the column 'x'"):
        gs.sources.parquet(folder, target="y")


def test_paths_that_hold_no_parquet_are_named(tmp_path):
    pytest.importorskip("pyarrow")
    with pytest.raises(FileNotFoundError, match="does not exist"):
        gs.sources.parquet(tmp_path / "absent", target="y")
    (tmp_path / "t.parquet").write_text("hello")
    with pytest.raises(ValueError, match="cannot be read as Parquet"):
        gs.sources.parquet(tmp_path / "t.parquet", target="y")


def test_parquet_without_rows_is_refused(write):
    with pytest.raises(ValueError, match="holds no rows"):
        gs.sources.parquet(write(x=np.empty(0), y=np.empty(0)), target="y")


def test_weights_below_zero_are_refused(write):
    with pytest.raises(ValueError, match="sample_weight must be finite and at least 0"):
        gs.sources.parquet(write(x=X[:, 0], y=Y, w=-Y), target="y", weight="w").reduce(MomentSummary())


def test_dask_arrays_of_unknown_chunks_are_refused():
    arrays, frames = pytest.importorskip("dask.array"), pytest.importorskip("dask.dataframe")
    pandas = pytest.importorskip("pandas")
    unknown = frames.from_pandas(pandas.DataFrame(X), npartitions=3).to_dask_array()
    with pytest.raises(ValueError, match=r"call X\.compute_chunk_sizes\(\) first"):
        as_source((unknown, arrays.from_array(Y)))


def test_dask_rows_and_targets_of_different_number_are_refused():
    arrays = pytest.importorskip("dask.array")
    with pytest.raises(ValueError, match="same number of rows, got 100 and 99"):
        as_source((arrays.from_array(X), arrays.from_array(Y[1:])))


def test_dask_frames_with_text_name_the_column():
    frames, pandas = pytest.importorskip("dask.dataframe"), pytest.importorskip("pandas")
    table = frames.from_pandas(pandas.DataFrame({"x": X[:, 0], "city": ["a"] * 100, "y": Y}), npartitions=2)
    with pytest.raises(TypeError, match="X column 'city' must hold real numbers"):
        gs.sources.dask(table, "y")
    with pytest.raises(ValueError, match="y must be a column of X, got 'z'"):
        gs.sources.dask(table, "z")


def test_dask_chunks_that_are_not_as_announced_are_refused():
    arrays, dask = pytest.importorskip("dask.array"), pytest.importorskip("dask")
    parts = [X[:50], X[50:, :1]]  # the second is narrower than it says
    lying = arrays.concatenate([arrays.from_delayed(dask.delayed(p), (50, 2), dtype=float) for p in parts])
    with pytest.raises(ValueError, match=r"at row 50 is \(50, 1\), not \(50, 2\)"):
        as_source((lying, arrays.from_array(Y, chunks=50))).reduce(MomentSummary())


def test_nan_in_a_dask_chunk_is_named_by_row_of_the_whole():
    arrays = pytest.importorskip("dask.array")
    bad = np.random.default_rng(0).standard_normal((400_000, 2))
    bad[300_001, 0] = np.nan
    with pytest.raises(ValueError, match="row 300001 holds NaN"):
        as_source((arrays.from_array(bad, chunks=(150_000, 2)), np.zeros(400_000))).reduce(MomentSummary())


@pytest.mark.parametrize("package", ["pandas", "polars"])
def test_frames_with_text_or_nulls_name_the_column(package):
    frames = pytest.importorskip(package)
    with pytest.raises(TypeError, match="X column 'city' must hold real numbers"):
        as_source((frames.DataFrame({"x": X[:, 0], "city": ["a"] * 100}), Y))
    holes = frames.DataFrame({"x": [None, *X[1:, 0]]})
    with pytest.raises(ValueError, match="row 0 holds NaN"):
        as_source((holes, Y)).reduce(MomentSummary())


def test_what_is_no_pair_is_refused():
    for bad in (X, (X,), "file.parquet", (X, Y, Y, Y)):
        with pytest.raises(TypeError, match="a Source or a pair"):
            as_source(bad)


def test_dask_weights_below_zero_or_all_zero_are_refused():
    arrays = pytest.importorskip("dask.array")
    with pytest.raises(ValueError, match="sample_weight must be finite and at least 0"):
        as_source((arrays.from_array(X), Y, -Y)).reduce(MomentSummary())
    with pytest.raises(ValueError, match="must not be all 0"):
        as_source((arrays.from_array(X), Y, 0 * Y)).reduce(MomentSummary())
