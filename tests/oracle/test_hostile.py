"""Servers and journals that mean harm, or have come to harm: deadlines, sizes, secrets, checksums."""

import logging
import sqlite3
import time
import traceback

import numpy as np
import pytest

import gradsift as gs
from benchmarks.hostile.fuzzing.runner import SECRETS
from benchmarks.hostile.fuzzing.servers import BAD, GOOD, X, right, served
from gradsift.oracle import Retry, from_spec, from_url

from .boxes import points, smooth

KEY, PASSWORD, TOKEN = SECRETS[2], SECRETS[0], SECRETS[1]


def ask(handle, **options):
    with served(handle) as port:
        url = f"http://x:{PASSWORD}@127.0.0.1:{port}/predict?token={TOKEN}"
        how = {"timeout": 0.3, "retry": Retry(2, 0.01), "headers": {"X-Key": f"Bearer {KEY}"}, **options}
        with from_url(url, 2, **how) as oracle:
            return oracle(X)


@pytest.mark.parametrize("name", sorted(GOOD))
def test_servers_that_mean_well_are_understood(name):
    np.testing.assert_array_equal(ask(GOOD[name], timeout=20.0), right(X))


@pytest.mark.parametrize("name", [name for name in sorted(BAD) if name.startswith("drips") or "silent" in name])
def test_a_server_that_sends_a_byte_now_and_then_is_late(name):
    with pytest.raises(gs.errors.OracleFailure, match=r"did not answer in 2 attempts"):
        ask(BAD[name])


def test_a_deadline_that_ends_a_body_is_no_end_of_the_reply():
    """Such a body ends with its connection, and the connection ends with the deadline."""

    def handle(wire, rows):
        wire.sendall(b"HTTP/1.1 200 OK\r\n\r\n[" + b",".join(b"%r" % v for v in right(rows)) + b"]")
        time.sleep(3)

    with pytest.raises(gs.errors.OracleFailure, match="no complete reply within"):
        ask(handle)


@pytest.mark.parametrize("name", ["endless list", "gzip bomb", "deflate bomb", "endless chunks of a byte"])
def test_a_reply_longer_than_the_question_is_left_unread(name):
    with pytest.raises(gs.errors.OracleFailure, match=r"sent more than 16,777,216 bytes|no complete reply"):
        ask(BAD[name], timeout=6.0, retry=Retry(1))


def test_the_limit_follows_what_was_asked_for_and_can_be_set():
    padded = lambda n: (
        lambda wire, rows: wire.sendall(
            b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (n, f"{right(rows)}".encode().ljust(n))
        )
    )
    np.testing.assert_array_equal(ask(padded(10_000), max_reply=10_000, timeout=20), right(X))
    with pytest.raises(gs.errors.OracleFailure, match="more than 9,999 bytes"):
        ask(padded(10_000), max_reply=9_999, timeout=20)
    sizes = iter([2 << 20, 2 << 20])  # fine while the outputs are unknown; too much for twelve numbers
    with (
        served(lambda wire, rows: padded(next(sizes))(wire, rows)) as port,
        from_url(f"http://127.0.0.1:{port}/", 2, timeout=20) as oracle,
    ):
        oracle(X)
        with pytest.raises(gs.errors.OracleFailure, match=r"more than 1,049,344 bytes"):  # 1 MiB and 64 each
            oracle(X)


@pytest.mark.parametrize("name", ["10^400", "10^5000", "1e400", "nested JSON", "nested predictions"])
def test_numbers_and_forms_beyond_reason_are_refused_in_a_sentence(name):
    with pytest.raises((gs.errors.OracleFailure, ValueError, TypeError)) as caught:
        ask(BAD[name], timeout=6.0, retry=Retry(1))
    assert str(caught.value).endswith(".")
    assert len(str(caught.value)) < 500


# Secrets


@pytest.mark.parametrize(  # words are classes
    "name", sorted(name for name in BAD if not name.startswith(("drips", "endless", "slow", "silent", "words")))
)
def test_no_exception_and_no_log_gives_a_secret_away(name, caplog):
    with caplog.at_level(logging.DEBUG), pytest.raises((gs.errors.GradsiftError, ValueError, TypeError)) as caught:
        ask(BAD[name], timeout=2.0)
    seen = "".join(traceback.format_exception(caught.value)) + repr(caught.value)
    seen += "".join(f"{record.getMessage()} {vars(record)}" for record in caplog.records)
    for secret in (KEY, PASSWORD, TOKEN):
        assert secret not in seen


def test_logs_of_other_requests_are_left_alone(caplog):
    import httpx

    with served(GOOD["plain"]) as port, caplog.at_level(logging.INFO, "httpx"):
        ask(GOOD["plain"], timeout=20.0)
        assert caplog.records == []
        httpx.post(f"http://127.0.0.1:{port}/mine", json={"instances": [[1.0, 2.0]]})
    assert "/mine" in caplog.text


@pytest.mark.parametrize(
    "word",
    [
        f"http://x:{PASSWORD}@host/?token={TOKEN}", f"ftp://x:{PASSWORD}@host/?token={TOKEN}",
        f"http://x:{PASSWORD}@host:99999/", f"http://x:{PASSWORD}/a@host/?{TOKEN}", f"me:{PASSWORD}@host/?{TOKEN}",
        f"https://x:{PASSWORD}@[bad/?token={TOKEN}",
    ],
)  # fmt: skip
@pytest.mark.parametrize("n_features", [None, 2, -1])
def test_no_address_is_quoted_with_its_secrets(word, n_features):
    seen = failure_of(lambda: from_spec(word, n_features).close())
    assert seen or n_features == 2
    assert PASSWORD not in seen
    assert TOKEN not in seen


def failure_of(work):
    try:
        work()
    except (ValueError, TypeError) as problem:
        return "".join(traceback.format_exception(problem))
    return ""


@pytest.mark.parametrize("value", ["b34r3r-\u00e9", "b34r3r\nkey", 7])
def test_bad_headers_are_refused_without_being_quoted(value):
    with pytest.raises(ValueError, match=r"headers must be a dict of ASCII texts\.$"):
        from_url("http://host/", 2, headers={"X-Key": value})


# Journals


def test_every_flipped_bit_of_an_answer_is_noticed_and_named(tmp_path):
    rows = points(3)
    with gs.Oracle(smooth, 3, journal=tmp_path / "c.db") as oracle:
        oracle(rows)
    with sqlite3.connect(tmp_path / "c.db") as connection:
        (good,) = connection.execute("SELECT answer FROM answers WHERE position = 1").fetchone()
        for bit in range(64):
            changed = bytearray(good)
            changed[bit // 8] ^= 1 << bit % 8
            connection.execute("UPDATE answers SET answer = ? WHERE position = 1", (bytes(changed),))
            connection.commit()
            with pytest.raises(gs.errors.GradsiftError, match="damaged: the answer to query 2 is not the one"):
                gs.oracle.from_journal(tmp_path / "c.db")(rows)
        connection.execute("UPDATE answers SET answer = ? WHERE position = 1", (good,))
    connection.close()
    np.testing.assert_array_equal(gs.oracle.from_journal(tmp_path / "c.db")(rows), smooth(rows))


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE answers SET answer = x''", "UPDATE answers SET answer = 'text'",
        "UPDATE answers SET answer = zeroblob(7)",
        "UPDATE answers SET row = 1", "UPDATE answers SET seal = zeroblob(8)", "DELETE FROM header WHERE name = 'seed'",
        "UPDATE header SET value = 'x' WHERE name = 'n_features'", "DELETE FROM header", "DROP TABLE answers",
        "CREATE VIEW v AS SELECT 1", "CREATE TRIGGER t AFTER INSERT ON answers BEGIN DELETE FROM answers; END",
        "UPDATE header SET value = '\u0663' WHERE name = 'seed'", "UPDATE answers SET position = 9 WHERE position = 2",
    ],
)  # fmt: skip
def test_a_journal_that_says_something_impossible_is_refused_in_a_sentence(tmp_path, statement):
    rows = points(3)
    with gs.Oracle(smooth, 3, journal=tmp_path / "c.db") as oracle:
        oracle(rows)
    with sqlite3.connect(tmp_path / "c.db") as connection:
        connection.execute(statement)
    connection.close()
    with pytest.raises(gs.errors.GradsiftError) as caught, gs.oracle.from_journal(tmp_path / "c.db") as oracle:
        oracle(np.vstack([rows, np.zeros((7, 3))]))
    assert str(caught.value).endswith(".")
