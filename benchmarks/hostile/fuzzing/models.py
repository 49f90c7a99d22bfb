"""Model files, mutated: bits, bytes, JSON values, archives with false sizes."""

from __future__ import annotations

import io
import json
import random
import zipfile
import zlib
from pathlib import Path
from typing import Any

from .fixtures import make_fixtures
from .runner import Findings, command, folder_of, judge

VALUES: list[Any] = [
    None,
    True,
    0,
    -1,
    1e308,
    float("inf"),
    float("nan"),
    10**400,
    1e-320,
    "",
    "x",
    "\ud83d",
    [],
    {},
    [[]],
]
VALUES += [[0.0] * 3, [[0.0] * 3], [[1.0, 2.0, 3.0]] * 5, [[[1.0]]], {"weights": []}, [None], ["a", "a"], 2**63, -0.0]


def models(n: int, seed: int) -> Findings:
    """Try `n` model files, each with ``gradsift predict``."""
    rng, found = random.Random(seed), Findings("mutated model files")
    with folder_of() as fixtures:
        make_fixtures(fixtures)
        good = [fixtures / f"{name}.json" for name in ("good", "named", "classes", "outputs")] + [fixtures / "good.npz"]
        for _ in range(n):
            base = rng.choice(good)
            content, what = mutated(rng, base)
            with folder_of() as folder:
                (folder / "good.csv").write_text("a,b,c\n1,2,3\n4,5,6\n")
                (folder / f"given{base.suffix}").write_bytes(content)
                run = command(["predict", f"given{base.suffix}", "good.csv", "--out", "out.csv"], folder, limit=20)
                judge(found, run, [base.name, what], folder)
                if run.code == 0 and len((folder / "out.csv").read_text().splitlines()) != 3:
                    found.defect("half-written file", [base.name, what])
    return found


def mutated(rng: random.Random, base: Path) -> tuple[bytes, str]:
    """Return the content of a file with something wrong, and a name for it."""
    content = base.read_bytes()
    ways = [_flip, _cut, _insert, _repeat, *([_value, _value, _value, _nest] if base.suffix == ".json" else [])]
    ways += [_member, _member, _sizes, _bomb] if base.suffix == ".npz" else []
    way = rng.choice(ways)
    return way(rng, content), way.__name__.strip("_")


def _flip(rng: random.Random, content: bytes) -> bytes:
    changed = bytearray(content)
    for _ in range(rng.choice([1, 1, 2, 8])):
        changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
    return bytes(changed)


def _cut(rng: random.Random, content: bytes) -> bytes:
    return content[: rng.randrange(len(content))]


def _insert(rng: random.Random, content: bytes) -> bytes:
    place = rng.randrange(len(content))
    return content[:place] + rng.randbytes(rng.choice([1, 4, 50])) + content[place:]


def _repeat(rng: random.Random, content: bytes) -> bytes:
    start, stop = sorted(rng.sample(range(len(content)), 2))
    return content[:stop] + content[start:stop] * rng.choice([1, 3]) + content[stop:]


def _value(rng: random.Random, content: bytes) -> bytes:
    """Replace, drop or add a value somewhere in the JSON."""
    held = json.loads(content)
    place, parents = held, []
    while isinstance(place, (dict, list)) and place and rng.random() < (1.0 if not parents else 0.5):
        key = rng.choice(sorted(place)) if isinstance(place, dict) else rng.randrange(len(place))
        parents.append((place, key))
        place = place[key]
    where, key = parents[-1]
    if rng.random() < 0.2:
        del where[key]
    else:
        where[key] = rng.choice(VALUES)
    if rng.random() < 0.3:
        held[rng.choice(["classes", "outputs", "columns", "linear", "target"])] = rng.choice(VALUES)
    return json.dumps(held).encode()


def _nest(rng: random.Random, content: bytes) -> bytes:
    depth = rng.choice([50, 500, 5_000, 100_000])
    held = json.loads(content)
    name = rng.choice(sorted(held))
    text = json.dumps({**held, name: "HERE"})
    return text.replace('"HERE"', "[" * depth + "]" * depth).encode()


def _parts(content: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def _packed(parts: dict[str, bytes], how: int = zipfile.ZIP_DEFLATED) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", how) as archive:
        for name, part in parts.items():
            archive.writestr(name, part)
    return stream.getvalue()


def _member(rng: random.Random, content: bytes) -> bytes:
    """Damage one array inside an archive that is whole, or its packed bytes."""
    parts = _parts(content)
    name = rng.choice(sorted(parts))
    way = rng.randrange(5)
    if way == 0:
        parts[name] = _flip(rng, parts[name])
    elif way == 1:
        parts[name] = _cut(rng, parts[name])
    elif way == 2:
        del parts[name]
    elif way == 3:
        parts[name] = rng.choice([b"", b"\x93NUMPY", b"\x93NUMPY\x09\x00", b"\x80\x04garbage", rng.randbytes(100)])
    packed = _packed(parts, rng.choice([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA]))
    return packed if way < 4 else _flip(rng, packed)


def npy(shape: str, dtype: str, body: bytes) -> bytes:
    """Return an array file that declares what it likes."""
    header = f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': {shape}, }}".encode()
    header = header.ljust(-(-(len(header) + 11) // 64) * 64 - 11) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + body


def _sizes(rng: random.Random, content: bytes) -> bytes:
    """Let an array declare a shape or type that it has not."""
    parts = _parts(content)
    name = rng.choice(sorted(parts))
    shape = rng.choice(
        ["(1000000000000,)", "(2, 3)", "(-1,)", "()", "(2**70,)", "(99999999999999999999,)", "(0,)", "'x'"]
    )
    dtype = rng.choice(["<f8", "<f8", "|O", "<c16", "<U1000000", "|V8", "<M8[s]", "nonsense", "<f4", ">f8"])
    parts[name] = npy(shape, dtype, rng.randbytes(rng.choice([0, 8, 48])))
    return _packed(parts)


def _bomb(rng: random.Random, content: bytes) -> bytes:
    """Pack megabytes of zeros into kilobytes, truthfully declared or not."""
    parts = _parts(content)
    n = rng.choice([1 << 20, 4 << 20])
    shape = rng.choice([f"({n}, 3)", f"({n * 3},)", "(2, 3)", f"({n * 1000},)"])
    name = rng.choice(["units.npy", "weights.npy", "format.npy", "extra.npy"])
    parts[name] = npy(shape, "<f8", b"")  # then zeros, packed by hand: writing them in full would take a second each
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for part_name, part in parts.items():
            if part_name != name:
                archive.writestr(part_name, part)
            else:
                with archive.open(part_name, "w") as out:
                    out.write(part)
                    for _ in range(n * 24 >> 20):
                        out.write(_ZEROS)
    return stream.getvalue()


_ZEROS = bytes(1 << 20)
assert len(zlib.compress(_ZEROS)) < 2_000
