"""A peer is one small file, and adding one is all there is to do."""

import sys
from pathlib import Path

import numpy as np
import pytest

from benchmarks.boxes.deep_networks import random_deep
from benchmarks.peers import peer_boxes, peer_tables
from benchmarks.peers.methods import Box, Peer, peers
from benchmarks.peers.methods._students import begin, jacobian, residuals

FOLDER = Path(__file__).parents[2] / "benchmarks"
DUMMY = """
from benchmarks.peers.methods import Peer

def guess({arguments}, rng):
    return rng.standard_normal({shape})

PEER = Peer("a dummy", guess, takes="{takes}")
"""


@pytest.mark.parametrize(
    ("script", "takes", "arguments", "shape", "small"),
    [
        (peer_tables, "rows", "X, y, k", "(k, X.shape[1])", ["--part", "same_data", "--rows", "200", "--seeds", "1"]),
        (peer_boxes, "box", "ask, box", "(box.k, box.d)", ["--boxes", "tanh,4,2", "--seeds", "1"]),
    ],
)
def test_a_file_in_a_folder_is_a_peer_of_the_table(
    script, takes, arguments, shape, small, tmp_path, monkeypatch, capsys
):
    (tmp_path / f"dummy_{takes}.py").write_text(DUMMY.format(arguments=arguments, shape=shape, takes=takes))
    monkeypatch.setattr(sys, "argv", ["script", *small, "--only", "dummy", "--more", str(tmp_path)])
    script.main()
    assert "method a dummy" in capsys.readouterr().out


def test_every_peer_is_found_once_and_fits_on_a_page():
    names = [peer.name for takes in ("rows", "box") for peer in peers(takes)]
    files = [path for path in (FOLDER / "peers" / "methods").glob("*.py") if not path.name.startswith("_")]
    assert len(names) == len(set(names)) == len(files)
    assert max(len(path.read_text(encoding="utf-8").splitlines()) for path in files) <= 80


def test_a_peer_whose_package_is_missing_says_so_instead_of_failing():
    absent = Peer("absent", print, takes="box", needs=("numpy", "nowhere", "R nothing.of.this.name"))
    assert absent.missing == ["nowhere", "R nothing.of.this.name"]
    (row,) = peer_boxes.table([absent], [Box(4, (2,))], range(1))
    assert row["not run"] == "no nowhere, no R nothing.of.this.name"
    assert "success" not in row


def test_a_box_that_a_peer_is_not_made_for_is_no_failure_of_it():
    sigmoids = Peer("sigmoids", print, takes="box", opens=lambda box: box.activation == "tanh")
    (row,) = peer_boxes.table([sigmoids], [Box(4, (2,), "relu")], range(1))
    assert row["not run"] == "not its setting"


def cheat(ask, box, rng):
    names = [*box.activation.encode(), box.d, *box.widths]
    return random_deep([0, 1, *names], box.d, box.widths, box.activation).layers[0].weights


GUESS = Peer("guess", lambda ask, box, rng: rng.standard_normal((box.k, box.d)), takes="box")


@pytest.mark.parametrize("box", [Box(6, (3,)), Box(5, (4, 2), "logistic")])
def test_a_guess_is_no_success_and_the_truth_is(box):
    rows = peer_boxes.table([GUESS, Peer("truth", cheat, takes="box")], [box], range(1))
    assert [row["success"] for row in rows] == ["0 of 1", "1 of 1"]


def test_what_was_run_is_taken_up_again(tmp_path):
    calls = []

    def counted(ask, box, rng):
        calls.append(1)
        return GUESS.run(ask, box, rng)

    peer, kept = Peer("counted", counted, takes="box"), tmp_path / "kept.jsonl"
    first, second = (peer_boxes.table([peer], [Box(4, (2,))], range(2), kept=kept) for _ in range(2))
    assert first == second
    assert len(calls) == 2


def test_tuning_prefers_successes_then_few_queries():
    rows = [
        {"method": "a", "options": {"x": 1}, "success": "3 of 9", "queries per unknown": 2.0},
        {"method": "a", "options": {"x": 2}, "success": "5 of 9", "queries per unknown": 5.0},
        {"method": "a", "options": {"x": 3}, "success": "5 of 9", "queries per unknown": 3.0},
    ]
    assert peer_boxes.choices(rows) == {"a": {"x": 3}}
    angles = [{"method": "b", "options": {"x": i}, "labels": 9.0 - i, "values": 2.0 * i} for i in range(3)]
    assert peer_tables.choices(angles) == {"b": {"x": 0}}


@pytest.mark.parametrize("box", [Box(3, (2,)), Box(3, (4, 2), "softplus")])
def test_the_jacobian_of_a_student_is_that_of_its_residuals(box):
    rng = np.random.default_rng(2)
    X, y, p = rng.standard_normal((6, 3)), rng.standard_normal(6), begin(box, 1.0, rng)
    assert len(p) == box.unknowns
    step = 1e-6 * np.eye(len(p))
    slopes = [(residuals(p + e, X, y, box) - residuals(p - e, X, y, box)) / 2e-6 for e in step]
    np.testing.assert_allclose(jacobian(p, X, y, box), np.transpose(slopes), atol=1e-8)
