"""Killed and resumed campaigns, offline replay, and the guards against mixing campaigns up."""

import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import gradsift as gs
from gradsift.oracle import Journal, Retry

from .boxes import Watched, points, smooth, two_outputs
from .campaign import campaign

X = points(20)
N_ROWS = 12 * 5 + 3 * (0 + 1 + 2 + 3)  # of the campaign


def run_campaign(journal, n_jobs, kill_after=None):
    """Run the campaign in a process; SIGKILL it once it has announced `kill_after` rows. Return rows and result."""
    command = [sys.executable, str(Path(__file__).with_name("campaign.py")), str(journal), str(n_jobs)]
    command.append(str(kill_after or 10**9))
    env = {**os.environ, "PYTHONPATH": str(Path(gs.__file__).parents[1]), "OMP_NUM_THREADS": "1"}
    asked, result = [], None
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=env) as process:
        for line in process.stdout:
            word, value = line.split(maxsplit=1)
            if word == "done":
                result = json.loads(value)
            else:
                asked.append(value)
            if kill_after is not None and len(asked) >= kill_after:
                process.send_signal(signal.SIGKILL)
                break
    assert process.returncode == (0 if kill_after is None else -signal.SIGKILL)
    return asked, result


@pytest.mark.parametrize("n_jobs", [1, 3])
def test_a_campaign_killed_three_times_ends_in_the_same_bits_and_asks_nothing_recorded_again(tmp_path, n_jobs):
    straight, expected = run_campaign(tmp_path / "straight.db", n_jobs)
    assert expected["n_queries"] == len(straight) == N_ROWS
    path = tmp_path / "killed.db"
    recorded = 0
    for kill_after in (7, 11, 20):
        asked, _ = run_campaign(path, n_jobs, kill_after)
        before, recorded = recorded, n_recorded(path)
        assert recorded - before >= kill_after - 3 * n_jobs  # the batches in flight are all that was lost
    asked, result = run_campaign(path, n_jobs)
    assert result["state"] == expected["state"]
    assert result["n_replayed"] == recorded
    assert result["n_queries"] == len(asked) == N_ROWS - recorded
    assert sorted(asked) == sorted(set(straight) & set(asked))
    asked, result = run_campaign(path, n_jobs)  # and once more: nothing is left to ask
    assert (asked, result["n_replayed"], result["state"]) == ([], N_ROWS, expected["state"])


def n_recorded(path):
    journal = Journal(path)
    journal.open_to_read()
    with_answers = journal.n_recorded
    journal.close()
    return with_answers


def test_a_kill_between_batches_costs_nothing_at_all(tmp_path):
    """The box dies before it answers; until then every row was asked once, and after the resume too."""
    asked = []
    for limit in (9, 26, None):

        def box(rows, limit=limit):
            if limit is not None and len(asked) + len(rows) > limit:
                raise KeyboardInterrupt
            asked.extend(map(bytes, rows))
            return smooth(rows)

        with gs.Oracle(box, 3, batch_size=3, journal=tmp_path / "c.db", recheck=0) as oracle:
            if limit is None:
                state = campaign(oracle)
            else:
                with pytest.raises(KeyboardInterrupt):
                    campaign(oracle)
    assert len(asked) == len(set(asked)) == N_ROWS
    np.testing.assert_array_equal(state, campaign(gs.Oracle(smooth, 3, batch_size=3)))


@pytest.mark.parametrize("sizes", [(3, 7), (7, 3), (None, 4), (5, None)])
def test_a_resumed_run_may_cut_its_batches_and_calls_differently(tmp_path, sizes):
    with gs.Oracle(two_outputs, 3, batch_size=sizes[0], journal=tmp_path / "c.db") as oracle:
        oracle(X[:11])
    box = Watched(two_outputs)
    with gs.Oracle(box, 3, batch_size=sizes[1], journal=tmp_path / "c.db", recheck=0) as oracle:
        np.testing.assert_array_equal(np.concatenate([oracle(X[:4]), oracle(X[4:])]), two_outputs(X))
        assert (oracle.n_replayed, oracle.n_queries, oracle.n_answered) == (11, 9, 20)
        np.testing.assert_array_equal(oracle.answers().Y, two_outputs(X))
    assert box.n_rows == 9


def test_repeated_questions_keep_their_own_answers(tmp_path):
    rng = np.random.default_rng(0)
    noisy = lambda rows: rng.standard_normal(len(rows))
    same = np.zeros((6, 3))
    with gs.Oracle(noisy, 3, journal=tmp_path / "c.db") as oracle:
        first = oracle(same)
    assert len(set(first)) == 6
    np.testing.assert_array_equal(gs.oracle.from_journal(tmp_path / "c.db")(same), first)


def test_the_budget_is_the_campaigns_not_the_processs(tmp_path):
    with gs.Oracle(smooth, 3, journal=tmp_path / "c.db", max_queries=12) as oracle:
        oracle(X[:10])
    with gs.Oracle(smooth, 3, journal=tmp_path / "c.db", max_queries=12) as oracle:
        oracle(X[:10])
        with pytest.raises(gs.errors.BudgetSpent, match="10 of 12"):
            oracle(X[10:13])
        assert (oracle.n_queries, oracle.n_rechecked, oracle.n_replayed) == (10, 10, 10)  # asked again, beside it


def test_answers_around_a_failing_batch_are_kept(tmp_path):
    box = Watched(fail=lambda call, rows: bytes(rows[0]) == bytes(X[8]))
    with gs.Oracle(box, 3, batch_size=4, journal=tmp_path / "c.db", retry=Retry(attempts=1)) as oracle:
        with pytest.raises(gs.errors.OracleFailure):
            oracle(X)
        box.fail = lambda call, rows: False
        np.testing.assert_array_equal(oracle(X), smooth(X))  # the same object may simply be asked again
        assert (oracle.n_replayed, oracle.n_answered) == (8, 20)
    assert n_recorded(tmp_path / "c.db") == 20


# Guards


def record(path, function=smooth, n_features=3, rows=X, **options):
    with gs.Oracle(function, n_features, journal=Journal(path, **options)) as oracle:
        return oracle(rows)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (dict(rows=X + 1e-15 * (np.arange(20) == 7)[:, None]), "Query 8 differs from the one recorded in"),
        (dict(rows=X[::-1]), "Query 1 differs"),
        (dict(n_features=2, rows=X[:, :2]), "n_features '3' and this run has '2'"),
        (dict(identity="net 2"), "model 'net 1' and this run has 'net 2'"),
        (dict(plan="model version 2"), "plan '' and this run has 'model version 2'"),
    ],
)
def test_another_campaign_is_refused_and_asks_nothing(tmp_path, change, message):
    path = tmp_path / "c.db"
    box = Watched()
    box.identity = "net 1"
    record(path, box)
    box.identity = change.pop("identity", "net 1")
    with pytest.raises(gs.errors.GradsiftError, match=message):
        record(path, box, **change)
    assert box.calls == 1
    np.testing.assert_array_equal(record(path), smooth(X))  # the right campaign still goes on, also without a name


def test_another_version_is_named_when_the_plans_differ(tmp_path):
    record(tmp_path / "c.db")
    with sqlite3.connect(tmp_path / "c.db") as connection:
        connection.execute("UPDATE header SET value = '0.0.7' WHERE name = 'version'")
    connection.close()
    np.testing.assert_array_equal(record(tmp_path / "c.db"), smooth(X))  # same questions: the version is no obstacle
    with pytest.raises(gs.errors.GradsiftError, match=r"recorded by gradsift 0\.0\.7, this is"):
        record(tmp_path / "c.db", rows=X + 1)


def test_minus_zero_and_zero_are_the_same_question(tmp_path):
    record(tmp_path / "c.db", rows=np.zeros((1, 3)))
    assert gs.oracle.from_journal(tmp_path / "c.db")(-np.zeros((1, 3))).shape == (1,)


def test_two_runs_at_once_are_noticed(tmp_path):
    with gs.Oracle(smooth, 3, journal=tmp_path / "c.db") as one, gs.Oracle(smooth, 3, journal=tmp_path / "c.db") as two:
        one(X[:1])
        two(X[:1])  # replayed, no harm done
        slow = iter([lambda: one(X[1:2])])

        def meanwhile(rows):
            next(slow)()
            return smooth(rows)

        two.function = meanwhile
        with pytest.raises(gs.errors.GradsiftError, match="one journal serves one run at a time"):
            two(X[1:2])


def test_a_file_that_is_no_journal_is_refused_and_left_alone(tmp_path):
    text = tmp_path / "notes.db"
    text.write_text("not a database, however long this text may be. " * 20)
    with pytest.raises(gs.errors.GradsiftError, match=r"notes\.db cannot be used as a journal"):
        gs.Oracle(smooth, 3, journal=text)
    assert text.read_text().startswith("not a database")
    with sqlite3.connect(tmp_path / "other.db") as connection:
        connection.execute("CREATE TABLE books (title TEXT)")
    connection.close()
    for use in (lambda p: gs.Oracle(smooth, 3, journal=p), gs.oracle.from_journal):
        with pytest.raises(gs.errors.GradsiftError, match=r"other\.db cannot be used as a journal: its tables"):
            use(tmp_path / "other.db")
    with pytest.raises(FileNotFoundError, match="needs the directory"):
        gs.Oracle(smooth, 3, journal=tmp_path / "nowhere" / "c.db")


# Offline


def test_a_journal_replays_offline_and_asks_nobody(tmp_path):
    with gs.Oracle(smooth, 3, batch_size=3, journal=tmp_path / "c.db") as oracle:
        state = campaign(oracle)
    offline = gs.oracle.from_journal(tmp_path / "c.db")
    np.testing.assert_array_equal(campaign(offline), state)
    assert (offline.n_features, offline.n_queries, offline.n_replayed) == (3, 0, N_ROWS)


def test_offline_replay_says_what_is_not_recorded(tmp_path):
    record(tmp_path / "c.db")
    offline = gs.oracle.from_journal(tmp_path / "c.db")
    offline(X[:15])
    with pytest.raises(gs.errors.OracleFailure, match="holds 20 answers and 3 more were asked for") as caught:
        offline(np.vstack([X[15:], X[:3]]))
    np.testing.assert_array_equal(caught.value.partial, X[:3])
    with pytest.raises(gs.errors.GradsiftError, match="Query 16 differs"):
        offline(X[:1])
    with pytest.raises(FileNotFoundError, match="There is no journal"):
        gs.oracle.from_journal(tmp_path / "missing.db")


def test_a_journal_can_be_read_while_it_is_written_and_from_a_copy(tmp_path):
    with gs.Oracle(smooth, 3, journal=tmp_path / "c.db") as oracle:
        oracle(X[:5])
        np.testing.assert_array_equal(gs.oracle.from_journal(tmp_path / "c.db")(X[:5]), smooth(X[:5]))
        oracle(X[5:])
    shutil.copy(tmp_path / "c.db", tmp_path / "copy.db")
    np.testing.assert_array_equal(gs.oracle.from_journal(tmp_path / "copy.db")(X), smooth(X))
    assert not (tmp_path / "copy.db-wal").exists()


def test_the_campaigns_own_seed_survives_a_restart(tmp_path):
    with gs.Oracle(smooth, 3, journal=tmp_path / "a.db") as oracle:
        seed = oracle.journal_seed
    with gs.Oracle(smooth, 3, journal=tmp_path / "a.db") as oracle:
        assert oracle.journal_seed == seed
    with gs.Oracle(smooth, 3, journal=tmp_path / "b.db") as oracle:
        assert oracle.journal_seed != seed
    assert gs.Oracle(smooth, 3).journal_seed is None


def test_a_closed_journal_says_so(tmp_path):
    oracle = gs.Oracle(smooth, 3, journal=tmp_path / "c.db")
    oracle.close()
    with pytest.raises(gs.errors.GradsiftError, match="is closed; make a new Oracle"):
        oracle(X)
