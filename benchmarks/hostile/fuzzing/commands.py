"""Command lines put together at random from good and bad parts."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np

import gradsift as gs

from .fixtures import make_fixtures, truth
from .runner import SECRETS, Findings, command, folder_of, judge

USER, PASSWORD, TOKEN = SECRETS[3], SECRETS[0], SECRETS[1]
ADDRESSES = [
    f"http://{USER}:{PASSWORD}@127.0.0.1:9/predict?token={TOKEN}",
    f"https://{USER}:{PASSWORD}@127.0.0.1:9/?key={TOKEN}",
    f"ftp://{USER}:{PASSWORD}@host/x?token={TOKEN}",
    f"postgres://{USER}:{PASSWORD}@host/db",
    f"http://{USER}:{PASSWORD}@host:99999/?token={TOKEN}",
    f"http://{USER}:{PASSWORD}/slash@host/?token={TOKEN}",
    f"http://[bad/{TOKEN}?x={PASSWORD}".replace(TOKEN, "v1"),
    f"{USER}:{PASSWORD}@host/path?token=x",
    f"HTTP://{USER}:{PASSWORD}@127.0.0.1:9/",
]
NUMBERS = [
    "0",
    "-1",
    "1",
    "2",
    "3",
    "7",
    "1e400",
    "nan",
    "inf",
    "-inf",
    "1e-300",
    "70000",
    "9" * 25,
    "",
    " ",
    "a",
    "0x10",
]
NUMBERS += ["0.5", "1e160", "1.5", "--", "-0", "1_0", "\u0663", "1e5"]
WORDS = [
    "",
    "auto",
    "labels",
    "tanh",
    "relu",
    "erf",
    "logistic",
    "paper",
    "none",
    "\u00e4\u00f6",
    "a" * 300,
    "%s%n",
    "{0}",
    "[red]x[/red]",
    "\n",
]
PLACES = [
    "out.json",
    "out.npz",
    "out.csv",
    "out.html",
    "out.parquet",
    "out.txt",
    "out",
    "no/where.json",
    ".",
    "",
    "/dev/null",
]
PLACES += ["/proc/x.json", "good.json", "good.csv", "out\n.json", "x" * 300 + ".json", "text.db"]


def commands(n: int, seed: int) -> Findings:
    """Try `n` command lines."""
    rng, found = random.Random(seed), Findings("command lines")
    with folder_of() as fixtures:
        make_fixtures(fixtures)
        names = sorted(path.name for path in fixtures.iterdir())
        for _ in range(n):
            arguments = rng.choice(MAKERS)(rng, names)
            stdout = rng.choices(["file", "closed", "pipe", "full"], [90, 4, 4, 2])[0]
            with folder_of(fixtures) as folder:
                inputs = {folder / name: (fixtures / name).read_bytes() for name in _inputs(arguments, names)}
                run = command(arguments, folder, stdout=stdout)
                judge(found, run, [stdout, *arguments], folder, inputs)
                _check_certificate(found, run.code, arguments, folder)
    return found


def _inputs(arguments: list[str], names: list[str]) -> list[str]:
    """Return the fixtures that a command reads and was not told to write."""
    written = {arguments[i + 1] for i, word in enumerate(arguments[:-1]) if word in ("--out", "--report", "--journal")}
    read = [word for i, word in enumerate(arguments) if word in names and (i == 0 or arguments[i - 1] not in OUTPUTS)]
    return [name for name in names if name in read or name not in written]


OUTPUTS = ("--out", "--report", "--journal")


def _check_certificate(found: Findings, code: int, arguments: list[str], folder: Path) -> None:
    """A certified recovery of the known box is that box."""
    if code != 0 or arguments[0] != "recover" or "box:f" not in arguments or not (folder / "out.json").is_file():
        return
    X = np.random.default_rng(0).standard_normal((50, 3))
    if np.abs(gs.SigmoidCombination.load(folder / "out.json").predict(X) - truth(X)).max() > 1e-6:
        found.defect("wrong certificate", arguments)


def _recover(rng: random.Random, names: list[str]) -> list[str]:
    boxes = ["f"] * 6 + ["two", "nan", "words", "none", "wrong", "ragged", "huge", "tiny", "big", "small_slope", "step"]
    boxes += ["constant", "relu", "raises", "leaves", "deep", "memory", "number", "nosuch", "noisy", ""]
    kind = rng.random()
    oracle = f"box:{rng.choice(boxes)}" if kind < 0.6 else rng.choice(ADDRESSES) if kind < 0.8 else rng.choice(names)
    oracle = rng.choice(["bad_syntax:f", "leaves_at_once:f", ":", "x", oracle]) if rng.random() < 0.1 else oracle
    arguments = ["recover", "--oracle", oracle, "--out", _place(rng, "out.json"), "--features", _number(rng, "3")]
    arguments += ["--budget", _number(rng, rng.choice(["300", "600"]))]
    options = {
        "--report": lambda: _place(rng, "out.html"), "--units": lambda: _number(rng, "2"),
        "--accuracy": lambda: _number(rng, "0.1"), "--journal": lambda: _place(rng, "out.db"),
        "--bounds": lambda: rng.choice(["-1,1", "1,-1", "nan,1", "0", "a,b", "-1e300,1e300", "-inf,inf"]),
        "--noise": lambda: rng.choice([*NUMBERS, *WORDS]), "--activation": lambda: rng.choice(WORDS),
        "--seed": lambda: _number(rng, "1"), "--recheck": lambda: _number(rng, "2"),
    }  # fmt: skip
    return [*arguments, *_some(rng, options), *_flags(rng, ["--json", "--trust", "--debug"])]


def _fit(rng: random.Random, names: list[str]) -> list[str]:
    tables = [name for name in names if name.endswith((".csv", ".parquet"))]
    data = rng.choice(tables) if rng.random() < 0.85 else rng.choice([*names, *ADDRESSES, "nosuch.csv"])
    arguments = ["fit", data, "--target", rng.choice(["y", "y", "y", "a", "zz", ""]), "--out", _place(rng, "out.json")]
    options = {
        "--units": lambda: rng.choice(["1", "1", "2", "auto", *NUMBERS]), "--report": lambda: _place(rng, "out.html"),
        "--columns": lambda: rng.choice(["a,b", "a", "a,a", "y", ",", "b,zz", "a\nfirst,b"]),
        "--activation": lambda: rng.choice(WORDS), "--seed": lambda: _number(rng, "1"),
    }  # fmt: skip
    chosen = _some(rng, options)
    chosen = chosen if "--units" in chosen else [*chosen, "--units", "1"]
    return [*arguments, *chosen, *_flags(rng, ["--labels", "--json"])]


def _predict(rng: random.Random, names: list[str]) -> list[str]:
    models = [name for name in names if name.endswith((".json", ".npz"))]
    tables = [name for name in names if name.endswith((".csv", ".parquet"))]
    model = rng.choice(models if rng.random() < 0.9 else [*names, *ADDRESSES])
    data = rng.choice(tables if rng.random() < 0.9 else [*names, *ADDRESSES])
    place = data if rng.random() < 0.1 else model if rng.random() < 0.1 else _place(rng, "out.csv")
    return ["predict", model, data, "--out", place, *_flags(rng, ["--json"])]


def _plan(rng: random.Random, names: list[str]) -> list[str]:
    words = {"--scheme": ["oracle", "gaussian", "projected", "x"], "--form": ["repaired", "printed", "exact", ""]}
    options = {name: (lambda values=values: rng.choice(values)) for name, values in words.items()}
    options |= {
        f"--{name}": (lambda: rng.choice(NUMBERS))
        for name in ["d", "k", "beta", "kappa", "u0", "M", "delta", "rho", "budget"]
    }
    return ["plan", *_some(rng, options, 4), *_flags(rng, ["--json", "--explain", "--proved"])]


def _other(rng: random.Random, names: list[str]) -> list[str]:
    return rng.choice([
        ["playground", "--port", rng.choice(["70000", "-1", "a", "1e3"])],
        ["playground", "--out", rng.choice(["out.html", *PLACES])],
        ["paper", rng.choice(["gamma", "nonsense", "", *WORDS])], ["paper", *_flags(rng, ["--json", "--printed"])],
        ["version", *_flags(rng, ["--json"])], ["bench", "--repeats", rng.choice(["0", "-1", "a", "nan"])],
        ["bench", "--seed", rng.choice(["-1", "a"])], ["demo", "--out", rng.choice(["good.json", "good.csv/x"])],
        ["figures", "--out", rng.choice(["good.json", "text.db/x"])], [rng.choice(WORDS), rng.choice(ADDRESSES)],
        [rng.choice(["recover", "fit", "plan"]), rng.choice(["--help", rng.choice(ADDRESSES), "--nosuch"])], [],
        ["recover", f"--oracel={rng.choice(ADDRESSES)}"], ["recover", "--features", rng.choice(ADDRESSES)],
    ])  # fmt: skip


MAKERS: list[Any] = [_recover, _recover, _fit, _predict, _predict, _plan, _other]


def _number(rng: random.Random, usual: str) -> str:
    return usual if rng.random() < 0.9 else rng.choice(NUMBERS)


def _place(rng: random.Random, usual: str) -> str:
    if rng.random() < 0.03:
        return rng.choice(ADDRESSES)
    return usual if rng.random() < 0.9 else rng.choice(PLACES)


def _some(rng: random.Random, options: dict[str, Any], most: int = 3) -> list[str]:
    chosen = rng.sample(sorted(options), rng.randint(0, most))
    return [word for name in chosen for word in (name, options[name]())]


def _flags(rng: random.Random, flags: list[str]) -> list[str]:
    return [flag for flag in flags if rng.random() < 0.25]
