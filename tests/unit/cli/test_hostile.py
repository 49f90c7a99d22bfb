"""The command line with hostile or mistaken input: exit codes, one line, no secret, no file overwritten."""

import os
import socket
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import gradsift as gs
from gradsift.cli import app as streams
from gradsift.show import playground

from .test_files import BOX, run  # noqa: F401  (a fixture)

MAIN = "import sys; from gradsift.cli import main; main()"
ADDRESS = "http://someone:hunter2@127.0.0.1:9/predict?token=s3cr3t"


@pytest.mark.parametrize(
    "words",
    [
        ["recover", "--oracle", ADDRESS, "--out", "x.json"],
        ["recover", "--oracle", ADDRESS.replace("http", "ftp"), "--features", 2, "--out", "x.json"],
        ["recover", "--oracle", "someone:hunter2@host/?token=s3cr3t", "--features", 2, "--out", "x.json", "--debug"],
        ["recover", "--oracle", "boxed:f", "--features", 3, "--out", ADDRESS + ".json"],
        ["recover", "--oracle", "boxed:f", "--features", ADDRESS, "--out", "x.json"],
        ["fit", ADDRESS, "--target", "y", "--out", "x.json"],
        ["predict", ADDRESS, "d.csv", "--out", "x.csv"],
        ["plan", ADDRESS],
        [ADDRESS],
    ],
)
def test_no_complaint_quotes_a_secret(run, tmp_path, words):  # noqa: F811
    (tmp_path / "boxed.py").write_text(BOX)
    code, out, err = run(*words)
    assert code == 2
    assert "hunter2" not in out + err
    assert "s3cr3t" not in out + err
    assert "Traceback" not in err or "--debug" in words


def test_a_report_shows_an_address_without_its_secrets(tmp_path):
    pytest.importorskip("matplotlib", reason="the report draws")
    found = gs.recover(gs.Oracle(lambda X: np.tanh(X @ [1.0, 2.0]), 2), random_state=0)
    found.to_html(tmp_path / "r.html", settings={"oracle": ADDRESS, "more": [ADDRESS]})
    page = (tmp_path / "r.html").read_text()
    assert "http://127.0.0.1:9/predict" in page
    assert "hunter2" not in page
    assert "s3cr3t" not in page


def test_one_place_for_two_files_is_refused_and_nothing_is_overwritten(run, tmp_path):  # noqa: F811
    (tmp_path / "boxed.py").write_text(BOX)
    how = ("recover", "--oracle", "boxed:f", "--features", 3)
    gs.SigmoidCombination(np.eye(2), [1.0, 1.0]).save(tmp_path / "m.json")
    (tmp_path / "d.csv").write_text("a,b\n1,2\n")
    os.symlink("d.csv", tmp_path / "link.csv")
    (tmp_path / "sub").mkdir()
    for words in (
        (*how, "--journal", "x.json", "--out", "x.json"),
        (*how, "--journal", "x.html", "--out", "x.json", "--report", "sub/../x.html"),
        ("recover", "--oracle", "d.csv", "--journal", "d.csv", "--out", "x.json"),
        ("predict", "m.json", "d.csv", "--out", "d.csv"),
        ("predict", "m.json", "d.csv", "--out", "link.csv"),
    ):
        code, _, err = run(*words)
        assert (code, "must be different files" in err) == (2, True), words
    assert (tmp_path / "d.csv").read_text() == "a,b\n1,2\n"
    assert sorted(path.name for path in tmp_path.glob("x*")) == []


def test_an_edited_box_behind_the_same_journal_is_refused(run, tmp_path):  # noqa: F811
    (tmp_path / "edited.py").write_text(BOX)
    how = ("recover", "--oracle", "edited:f", "--features", 3, "--journal", "j.db", "--out", "m.json")
    assert run(*how)[0] == 0
    (tmp_path / "edited.py").write_text(BOX.replace("0.8", "0.7"))
    sys.modules.pop("edited")
    code, _, err = run(*how)
    assert code == 2
    assert "its source has changed since" in err
    sys.modules.pop("edited", None)


@pytest.mark.parametrize(
    "words",
    [
        ["playground", "--port", "70000"], ["playground", "--port", "-1"], ["plan", "--delta", "1e-300"],
        ["plan", "--beta", "1e300"], ["plan", "--kappa", "1e-12"], ["plan", "--rho", "1e-300"],
        ["plan", "--d", "9" * 20],
        ["predict", "m.json", "d.csv", "--out", "p.csv"],
    ],
)  # fmt: skip
def test_what_used_to_break_exits_two_in_words(run, tmp_path, words):  # noqa: F811
    (tmp_path / "m.json").write_text("[" * 20_000 + "]" * 20_000)
    (tmp_path / "d.csv").write_text("a,b\n1,2\n")
    code, out, err = run(*words)
    assert code == 2
    assert "Traceback" not in out + err


@pytest.mark.parametrize(
    "notes",
    ['"classes": []', '"classes": ["a", "a"]', '"outputs": [{}]', '"outputs": 3', '"columns": 7', '"columns": [1]',
     '"weights": [1e308, 1e308]', '"target": []'],
)  # fmt: skip
def test_notes_that_cannot_be_are_refused(run, tmp_path, notes):  # noqa: F811
    gs.SigmoidCombination(np.eye(2), [1.0, 1.0]).save(tmp_path / "m.json")
    text = (tmp_path / "m.json").read_text().rstrip().removesuffix("}")
    (tmp_path / "m.json").write_text(f"{text}, {notes}}}")
    (tmp_path / "d.csv").write_text("a,b\n100,200\n")
    code, out, err = run("predict", "m.json", "d.csv", "--out", "p.csv")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert not (tmp_path / "p.csv").exists()


@pytest.mark.parametrize("header", ['"a\nfirst","b\n\nsecond",y', '"a\r\nfirst",b,y'])
def test_a_quoted_name_may_go_on_in_the_next_line(run, tmp_path, header):  # noqa: F811
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 2))
    lines = [f"{a!r},{b!r},{c!r}" for a, b, c in np.c_[X, np.tanh(2 * X[:, 0])].tolist()]
    (tmp_path / "d.csv").write_bytes((header + "\n" + "\n".join(lines) + "\n").encode())
    assert run("fit", "d.csv", "--target", "y", "--units", 1, "--out", "m.json")[0] in (0, 3)
    assert run("predict", "m.json", "d.csv", "--out", "p.csv")[0] == 0
    assert len((tmp_path / "p.csv").read_text().splitlines()) == 201


def test_a_table_of_far_more_rows_than_its_size_tells_is_refused_unread(run, tmp_path):  # noqa: F811
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    gs.SigmoidCombination(np.eye(2), [1.0, 1.0]).save(tmp_path / "m.json")
    batch = arrow.table({"a": np.zeros(1_000_000), "b": np.ones(1_000_000)})
    with parquet.ParquetWriter(tmp_path / "d.parquet", batch.schema) as writer:
        for _ in range(20):
            writer.write_table(batch, row_group_size=1_000_000)
    code, _, err = run("predict", "m.json", "d.parquet", "--out", "p.csv")
    assert code == 2
    assert "d.parquet declares 20,000,000 rows: it would unpack to 320,000,000 bytes" in err


@pytest.mark.parametrize("stdout", ["closed", "left", "full"])
def test_nobody_reading_the_output_changes_nothing(tmp_path, stdout):
    (tmp_path / "boxed.py").write_text(BOX)
    words = ["recover", "--oracle", "boxed:f", "--features", "3", "--out", "m.json"]
    start = {"closed": ">&-", "left": "| true", "full": ">/dev/full"}[stdout]
    shell = f'set -o pipefail; "$0" -c "$1" {" ".join(words)} {start}'
    done = subprocess.run(
        ["bash", "-c", shell, sys.executable, MAIN], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr
    assert done.returncode == (2 if stdout == "full" else 0), done.stderr
    assert gs.SigmoidCombination.load(tmp_path / "m.json").n_units == 2


def test_a_refusal_as_json_on_a_full_disk_is_still_one_sentence(tmp_path):
    words = "fit nosuch.csv --target y --out m.json --json"
    done = subprocess.run(
        ["bash", "-c", f'"$0" -c "$1" {words} >/dev/full', sys.executable, MAIN],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
    assert "There is no file nosuch.csv" in done.stderr


def test_streams_of_others_are_left_alone(monkeypatch):
    mine = sys.stdout
    streams.prepare_output()  # pytest's own
    assert sys.stdout is mine
    monkeypatch.setattr(sys, "stderr", None)
    streams.prepare_output()
    sys.stderr.write("into the void")
    sys.stderr.close()


def test_silent_and_slow_visitors_of_the_playground_are_sent_away(monkeypatch):
    monkeypatch.setattr(playground, "_LONGEST", 0.2)
    monkeypatch.setattr(playground, "_MOST_CONNECTIONS", 3)
    with playground.make_server() as server:
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        try:
            idle = [socket.create_connection(server.server_address[:2], timeout=20) for _ in range(5)]
            for wire in idle:
                assert wire.recv(10) == b""  # closed by the other side
                wire.close()
            for _ in range(200):
                with socket.create_connection(server.server_address[:2], timeout=20) as wire:
                    wire.sendall(f"GET / HTTP/1.0\r\nHost: localhost:{server.server_address[1]}\r\n\r\n".encode())
                    if wire.recv(12) == b"HTTP/1.0 200":
                        break
                time.sleep(0.05)
            else:
                pytest.fail("no room came free")
        finally:
            server.shutdown()
    with pytest.raises(ValueError, match="between 0 and 65535, got 70000"):
        playground.make_server(70_000)
