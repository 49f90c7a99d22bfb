"""A peer is one small file, and adding one is all there is to do."""

import sys
from pathlib import Path

import numpy as np
import pytest

from gradsift.simulate import random_combination

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

import peer_boxes
import rivals_table
from rivals import Peer, peers
from rivals._students import begin, jacobian, residuals

FOLDER = Path(__file__).parents[2] / "benchmarks"
DUMMY = """
from rivals import Peer

def guess({arguments}, k, rng):
    return rng.standard_normal((k, {width}))

PEER = Peer("a dummy", guess, takes="{takes}")
"""


@pytest.mark.parametrize(
    ("script", "takes", "arguments", "width", "small"),
    [
        (rivals_table, "rows", "X, y", "X.shape[1]", ["--part", "same_data", "--rows", "200", "--seeds", "1"]),
        (peer_boxes, "box", "ask, d", "d", ["--sizes", "4,2", "--seeds", "1"]),
    ],
)
def test_a_file_in_a_folder_is_a_peer_of_the_table(
    script, takes, arguments, width, small, tmp_path, monkeypatch, capsys
):
    (tmp_path / f"dummy_{takes}.py").write_text(DUMMY.format(arguments=arguments, width=width, takes=takes))
    monkeypatch.setattr(sys, "argv", ["script", *small, "--only", "dummy", "--more", str(tmp_path)])
    script.main()
    assert "method a dummy" in capsys.readouterr().out


def test_every_peer_is_found_once_and_fits_on_a_page():
    names = [peer.name for takes in ("rows", "box") for peer in peers(takes)]
    files = [path for path in (FOLDER / "rivals").glob("*.py") if not path.name.startswith("_")]
    assert len(names) == len(set(names)) == len(files)
    assert max(len(path.read_text(encoding="utf-8").splitlines()) for path in files) <= 80


def test_a_peer_whose_package_is_missing_says_so_instead_of_failing():
    absent = Peer("absent", print, takes="box", needs=("numpy", "nowhere"))
    assert absent.missing == ["nowhere"]
    (row,) = peer_boxes.table([absent], [(4, 2)], range(1), 1)
    assert row["not installed"] == "nowhere"
    assert "success" not in row


def test_a_guess_is_no_success_and_the_truth_is():
    def cheat(ask, d, k, rng):
        return random_combination(d, k, slope=2.0, offsets=True, rng=np.random.default_rng([0, d, k, 1])).units

    guess = Peer("guess", lambda ask, d, k, rng: rng.standard_normal((k, d)), takes="box")
    rows = peer_boxes.table([guess, Peer("truth", cheat, takes="box")], [(6, 3)], range(1), 1)
    assert [row["success"] for row in rows] == ["0 of 1", "1 of 1"]


def test_the_jacobian_of_a_student_is_that_of_its_residuals():
    rng = np.random.default_rng(2)
    X, y, p = rng.standard_normal((6, 3)), rng.standard_normal(6), begin(3, 2, 1.0, rng)
    step = 1e-6 * np.eye(len(p))
    slopes = [(residuals(p + e, X, y, 2) - residuals(p - e, X, y, 2)) / 2e-6 for e in step]
    np.testing.assert_allclose(jacobian(p, X, y, 2), np.transpose(slopes), atol=1e-8)
