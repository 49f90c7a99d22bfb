"""A real cluster of two worker processes: same bits, only summaries come back, and a lost worker costs nothing else."""

import os
import signal
import threading
import time
import warnings

import numpy as np
import pytest

import gradsift as gs
from gradsift.paper.method.kernel import KernelSummary
from gradsift.progress import reporting
from gradsift.sources import ArraySource, MomentSummary, as_source

arrays = pytest.importorskip("dask.array")
distributed = pytest.importorskip("distributed")

POINTS = np.random.default_rng(7).standard_normal((20, 4))


@pytest.fixture(scope="module")
def client():
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0") as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def chunked(table):
    _, X, y = table
    return arrays.from_array(X, chunks=(1_500, 4)), arrays.from_array(y, chunks=1_500)


def test_two_processes_give_the_same_bits_and_the_same_recovery(client, table):
    _, X, y = table
    ours, theirs = (source.reduce(KernelSummary(POINTS)) for source in (as_source(chunked(table)), ArraySource(X, y)))
    np.testing.assert_array_equal(ours.values, theirs.values)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", gs.errors.UncertifiedWarning)
        ours, theirs = (gs.recover(rows, 2, random_state=5).model for rows in (chunked(table), (X, y)))
    np.testing.assert_allclose(ours.units, theirs.units, rtol=0, atol=1e-8)


@pytest.mark.parametrize("where", ["cluster", "threads"])
def test_passes_report_their_rows_and_give_the_same_bits(client, table, where):
    import contextlib

    import dask

    class Short(MomentSummary):
        def block_rows(self, n_features):
            return 1_500

    heard = []
    silent = as_source(chunked(table)).reduce(Short())
    with (
        dask.config.set(scheduler="threads") if where == "threads" else contextlib.nullcontext(),
        reporting(lambda *told: heard.append(told)),
    ):
        source = as_source(chunked(table))
        told = source.reduce(Short())
        n_first = len(heard)
        source.reduce(Short())
    np.testing.assert_array_equal(told.covariance, silent.covariance)
    n_rows = len(table[1])
    for number, reports in ((1, heard[:n_first]), (2, heard[n_first:])):
        stages, done, totals = zip(*reports)
        assert set(stages) == {f"pass {number}, rows"}
        assert set(totals) == {n_rows}
        assert list(done) == sorted(set(done))
        assert done[-1] == n_rows
        assert len(done) == 16


def test_an_error_in_a_worker_is_the_same_when_somebody_listens(client, table):
    X, y = chunked(table)
    with reporting(lambda *_: None), pytest.raises(ValueError, match="row 0 holds NaN"):
        as_source((X, y * np.nan)).reduce(MomentSummary())


def test_work_runs_in_the_workers(client, table):
    class Where(MomentSummary):
        def chunk(self, rows):
            return {os.getpid()}

        def merge(self, left, right):
            return left | right

        def finalize(self, state):
            return state

        def block_rows(self, n_features):
            return 500

    pids = set(client.run(os.getpid).values())
    found = as_source(chunked(table)).reduce(Where())
    assert found
    assert found <= pids
    assert os.getpid() not in found


@pytest.mark.parametrize("heard", [None, []], ids=["silent", "with progress"])
def test_a_worker_killed_in_the_middle_costs_a_recomputation_and_not_the_fit(client, table, heard):
    class Slow(MomentSummary):
        """A quarter of a second per chunk: 16 chunks on two workers take two seconds."""

        def chunk(self, rows):
            time.sleep(0.25)
            return super().chunk(rows)

        def block_rows(self, n_features):
            return 1_500

    victims = client.run(os.getpid)
    killed = []

    def kill():
        killed.append(next(iter(victims.values())))
        os.kill(killed[0], signal.SIGKILL)

    timer = threading.Timer(0.9, kill)
    timer.start()
    source = as_source(chunked(table))
    with reporting(False if heard is None else lambda *told: heard.append(told)):
        found = source.reduce(Slow())
    timer.join()
    assert heard is None or heard[-1] == ("pass 1, rows", len(table[1]), len(table[1]))
    assert killed

    class Same(MomentSummary):
        def block_rows(self, n_features):
            return 1_500

    truth = ArraySource(table[1], table[2]).reduce(Same())
    np.testing.assert_array_equal(found.covariance, truth.covariance)
    assert source.n_passes == 1
    client.wait_for_workers(2, timeout=30)  # the nanny has started another
    assert killed[0] not in client.run(os.getpid).values()
