"""Files that are damaged or made to harm are refused in a sentence, before they cost memory."""

import json
import tracemalloc
import zipfile
from pathlib import Path

import numpy as np
import pytest

import gradsift as gs
from benchmarks.hostile.fuzzing.models import npy
from gradsift.files import same_file


@pytest.fixture
def model():
    return gs.SigmoidCombination([[1.0, 0.0], [0.0, 1.0]], [0.5, 0.25])


def repacked(path, changes, how=zipfile.ZIP_DEFLATED):
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(path, "w", how) as archive:
        for name, part in {**parts, **changes}.items():
            archive.writestr(name, part)


@pytest.mark.parametrize(
    ("name", "part", "words"),
    [
        ("units", npy("(1000000000000, 2)", "<f8", b""), "declares shape"),
        ("units", npy("(2, 2)", "<f8", bytes(8)), "declares shape"),
        ("weights", npy("(2,)", "|O", bytes(16)), "not numbers or text"),
        ("weights", npy("(2,)", "<c16", bytes(32)), "not numbers or text"),
        ("weights", b"\x93NUMPY\x09\x00", "ValueError"),
        ("weights", b"", "ValueError"),
        ("weights", b"\x93NUMPY\x01\x00\x10\x00{'descr': (\n     ", "damaged"),
    ],
)
def test_arrays_that_lie_about_themselves_are_refused(tmp_path, model, name, part, words):
    model.save(tmp_path / "m.npz")
    repacked(tmp_path / "m.npz", {f"{name}.npy": part})
    with pytest.raises(ValueError, match=rf"m\.npz does not hold a SigmoidCombination \(.*{words}"):
        gs.SigmoidCombination.load(tmp_path / "m.npz")


def test_a_bomb_is_refused_before_it_is_unpacked(tmp_path, model):
    model.save(tmp_path / "m.npz")
    repacked(tmp_path / "m.npz", {"units.npy": npy("(2000000, 2)", "<f8", bytes(32_000_000))})
    assert (tmp_path / "m.npz").stat().st_size < 100_000
    tracemalloc.start()
    with pytest.raises(ValueError, match=r"would unpack to 32,0.* bytes, 200 times its own size"):
        gs.SigmoidCombination.load(tmp_path / "m.npz")
    assert tracemalloc.get_traced_memory()[1] < 1e6
    tracemalloc.stop()


def test_a_packed_model_is_read_and_what_is_not_its_own_is_left_alone(tmp_path, model):
    model.save(tmp_path / "m.npz")
    repacked(tmp_path / "m.npz", {"notes.npy": b"anything"})
    assert gs.SigmoidCombination.load(tmp_path / "m.npz") == model


@pytest.mark.parametrize("compression", [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_damaged_archives_are_refused_or_read_aright(tmp_path, model, compression):
    model.save(tmp_path / "m.npz")
    repacked(tmp_path / "m.npz", {}, compression)
    content, n_refused = (tmp_path / "m.npz").read_bytes(), 0
    for place in range(40, 110, 5):
        (tmp_path / "m.npz").write_bytes(content[:place] + b"\xff\x00\xff" + content[place + 3 :])
        try:
            assert gs.SigmoidCombination.load(tmp_path / "m.npz") == model  # a date, perhaps
        except (ValueError, OSError):
            n_refused += 1
    assert n_refused > 5


@pytest.mark.parametrize(
    "change",
    [
        {"version": float("inf")}, {"version": "9" * 5000}, {"intercept": 10**400}, {"units": [[10**400, 1]]},
        {"units": [[float("nan"), 1], [1, 0]]}, {"weights": [None, 1]}, {"weights": {}}, {"activation": []},
        {"format": {}}, {"linear": [1, 2, 3]}, {"slopes": "x"},
    ],
)  # fmt: skip
def test_json_with_impossible_values_is_refused(tmp_path, model, change):
    model.save(tmp_path / "m.json")
    held = json.loads((tmp_path / "m.json").read_text())
    (tmp_path / "m.json").write_text(json.dumps({**held, **change}))
    with pytest.raises(ValueError, match=r"m\.json (does not hold|holds a damaged)"):
        gs.SigmoidCombination.load(tmp_path / "m.json")


@pytest.mark.parametrize("text", ["[" * 100_000, '{"format": ' + "[" * 5000 + "]" * 5000 + "}", "[]", "3", ""])
def test_json_of_another_form_is_refused(tmp_path, text):
    (tmp_path / "m.json").write_text(text)
    with pytest.raises(ValueError, match="does not hold a SigmoidCombination"):
        gs.SigmoidCombination.load(tmp_path / "m.json")


def test_two_names_of_one_file_are_one_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    here, there = Path("a.txt"), tmp_path / "a.txt"
    assert same_file(here, there)  # neither exists
    there.write_text("")
    Path("hard").hardlink_to("a.txt")
    Path("soft").symlink_to("a.txt")
    assert same_file(here, Path("hard"))
    assert same_file(there, Path("soft"))
    assert not same_file(here, Path("b.txt"))


@pytest.mark.parametrize("scale", [1e160, -1e160, 1e-310, 1e-153])
def test_numbers_that_cannot_be_squared_are_named_with_their_column(scale):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 3))
    y = np.tanh(X[:, 0])
    big = abs(scale) > 1
    with pytest.raises(ValueError, match="column 1 holds" if big else "column 1 of X holds numbers of about"):
        gs.recover((X * [1, scale, 1], y), 1, random_state=0)
    with pytest.raises(ValueError, match=r"^y must stay below 1e.151" if big else "^y holds numbers of about"):
        gs.recover((X, y * scale), 1, random_state=0)
    with pytest.raises(ValueError, match=r"sample_weight must have a mean between 1e-152 and 1e\+15, got 1e"):
        gs.recover((X, y, np.full(200, abs(scale))), 1, random_state=0)
    if big:
        with pytest.raises(ValueError, match=r"The oracle's answers must stay below 1e.151 in size, but output 0"):
            gs.recover(gs.Oracle(lambda rows: scale * np.tanh(rows[:, 0]), 3), random_state=0)


def test_a_breakdown_of_the_arithmetic_is_a_refusal_that_says_so():
    box = gs.Oracle(lambda rows: np.tanh(1e-170 * rows @ [1.0, 2.0]), 2)
    with pytest.raises(gs.errors.NotIdentifiable, match="numbers left double precision on the way"):
        gs.recover(box, random_state=0)


def test_half_a_character_in_a_file_is_told_in_words_that_can_be_written(tmp_path):
    (tmp_path / "m.json").write_text('{"format": "\\ud83d", "version": 1}')
    with pytest.raises(ValueError, match="its format is") as caught:
        gs.SigmoidCombination.load(tmp_path / "m.json")
    str(caught.value).encode()  # raises where a surrogate is left
