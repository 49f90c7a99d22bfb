"""One table, held in every way that a source can hold it."""

import numpy as np
import pytest

import gradsift as gs
from gradsift.sources import as_source

N, D = 24_000, 4  # more rows than a search looks at, so that the sample matters


@pytest.fixture(scope="session")
def table():
    """Float32 rows of a model with two units (teacher 1, rows 2): (model, X, y)."""
    model = gs.simulate.random_combination(D, 2, slope=2.0, rng=1)
    X, y = model.sample(N, 0.2, rng=2)
    return model, X.astype(np.float32), y.astype(np.float32)


@pytest.fixture(scope="session")
def folder(table, tmp_path_factory):
    """The table as three Parquet files with row groups that fit no block."""
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    _, X, y = table
    whole = arrow.table({**{f"x{j}": X[:, j] for j in range(D)}, "y": y})
    path = tmp_path_factory.mktemp("parquet")
    for i, (start, stop) in enumerate([(0, 7_001), (7_001, 15_000), (15_000, N)]):
        parquet.write_table(whole.slice(start, stop - start), path / f"{i}.parquet", row_group_size=1_999)
    return path


def held(kind, table, folder, tmp_path):
    """Return the table as a source of the given kind."""
    _, X, y = table
    if kind == "array":
        return as_source((X, y))
    if kind == "memmap":
        np.save(tmp_path / "X.npy", X)
        return as_source((np.load(tmp_path / "X.npy", mmap_mode="r"), y))
    if kind == "parquet":
        return gs.sources.parquet(folder, target="y")
    if kind == "torch":
        torch = pytest.importorskip("torch")
        return as_source((torch.tensor(X), torch.tensor(y)))
    if kind == "polars":
        polars = pytest.importorskip("polars")
        return as_source((polars.DataFrame(X), polars.Series("y", y)))
    if kind == "dask array":
        arrays = pytest.importorskip("dask.array")
        return as_source((arrays.from_array(X, chunks=(3_333, 3)), arrays.from_array(y, chunks=7_000)))
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=[f"x{j}" for j in range(D)])
    if kind == "pandas":
        return as_source((frame, pandas.Series(y, name="y")))
    frames = pytest.importorskip("dask.dataframe")
    return gs.sources.dask(frames.from_pandas(frame.assign(y=y), npartitions=5), "y")


KINDS = ["memmap", "pandas", "polars", "parquet", "dask array", "dask frame", "torch"]


@pytest.fixture(params=KINDS)
def source(request, table, folder, tmp_path):
    return held(request.param, table, folder, tmp_path)


@pytest.fixture
def in_memory(table, folder, tmp_path):
    return held("array", table, folder, tmp_path)
