"""Running a command line in a process of its own, forked to start in milliseconds, and looking at what it left."""

from __future__ import annotations

import contextlib
import functools
import json
import os
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

SECRETS = ("hunter2-pw", "s3cr3t-token", "b34r3r-key", "someone-user")  # planted in addresses and headers
CODES = (0, 2, 3, 130)
MOST_MEGABYTES = 500.0


@dataclass
class Findings:
    """What a campaign saw: how often what happened, and every defect with what led to it."""

    name: str
    n: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    defects: list[dict[str, Any]] = field(default_factory=list)
    most_megabytes: float = 0.0
    most_seconds: float = 0.0

    def defect(self, kind: str, what: Any, text: str = "") -> None:
        self.defects.append({"kind": kind, "what": what, "text": text[-600:]})

    def record(self) -> dict[str, Any]:
        kinds = Counter(defect["kind"] for defect in self.defects)
        row: dict[str, Any] = {"campaign": self.name, "runs": self.n, "defects": len(self.defects)}
        row |= {
            "most_megabytes_above_start": round(self.most_megabytes, 1),
            "most_seconds": round(self.most_seconds, 2),
        }
        row["outcomes"] = dict(sorted(self.outcomes.items()))
        return row | ({"kinds": dict(kinds), "examples": self.defects[:20]} if self.defects else {})


class Run(NamedTuple):
    """How a process ended: exit code (negative: signal), what it printed, seconds, MB above an idle one."""

    code: int
    text: str
    seconds: float
    megabytes: float
    late: bool


def preload() -> None:
    """Import what commands need, once: forks then start at once."""
    import httpx
    import jinja2
    import matplotlib.pyplot
    import pyarrow.parquet
    import rich.progress
    import rich.table

    import gradsift.cli.app
    import gradsift.cli.tables
    import gradsift.oracle.spec
    import gradsift.recovery
    import gradsift.show.plots
    import gradsift.show.report
    import gradsift.sources

    _ = httpx, jinja2, matplotlib.pyplot, pyarrow.parquet, rich.progress, rich.table
    given = sys.argv
    with folder_of() as folder, contextlib.chdir(folder), open(os.devnull, "w") as nowhere:
        Path("warm.py").write_text("import numpy as np\ndef f(X): return np.tanh(X @ [1.0, 2.0])\n")
        recover = ["recover", "--oracle", "warm:f", "--features", "2", "--out", "m.json", "--report", "m.html"]
        for words in (["version"], ["plan"], ["plan", "--k", "1.5"], ["--help"], [*recover, "--journal", "m.db"]):
            sys.argv = ["gradsift", *words]
            quiet = contextlib.redirect_stdout(nowhere), contextlib.redirect_stderr(nowhere)
            with quiet[0], quiet[1], contextlib.suppress(SystemExit):
                gradsift.cli.app.main()
    sys.argv = given


def forked(
    work: Callable[[], Any], folder: Path, limit: float, stdout: str = "file", kill_at: float | None = None
) -> Run:
    """Run `work` in a fork with its output caught; kill it at `kill_at` or after `limit` seconds."""
    handle, name = tempfile.mkstemp(prefix="fuzz-log-")
    os.close(handle)
    log = Path(name)
    start = time.monotonic()
    pid = os.fork()
    if pid == 0:
        _child(work, folder, log, stdout)
    late, killed = False, False
    while True:
        done, status, usage = os.wait4(pid, os.WNOHANG)
        if done:
            break
        elapsed = time.monotonic() - start
        if kill_at is not None and elapsed > kill_at and not killed:
            os.kill(pid, signal.SIGKILL)
            killed = True
        if elapsed > limit and not late:
            late = True
            os.kill(pid, signal.SIGKILL)
        time.sleep(0.002)
    seconds = time.monotonic() - start
    text = log.read_text(errors="replace")
    log.unlink()
    return Run(os.waitstatus_to_exitcode(status), text, seconds, usage.ru_maxrss / 1024 - _idle(), late)


@functools.cache
def _idle() -> float:
    """Return the MB of a fork that does nothing."""
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    return os.wait4(pid, 0)[2].ru_maxrss / 1024


def _child(work: Callable[[], Any], folder: Path, log: Path, stdout: str) -> None:
    code = 1
    try:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        os.chdir(folder)
        target = os.open(log, os.O_WRONLY | os.O_APPEND)
        os.dup2(target, 2)
        _aim(stdout, target)
        sys.stderr = sys.__stderr__ = open(2, "w", buffering=1, closefd=False)  # noqa: SIM115
        sys.stdout = sys.__stdout__ = None if stdout == "closed" else open(1, "w", closefd=False)  # noqa: SIM115
        try:
            work()
            code = 0
        except SystemExit as left:
            code = left.code if isinstance(left.code, int) else 0 if left.code is None else 1
        except BaseException:
            traceback.print_exc()
            code = 1
        try:
            if sys.stdout is not None:
                sys.stdout.flush()
        except (OSError, ValueError):
            code = 120  # as the interpreter would
        sys.stderr.flush()
    except BaseException as problem:  # of this file
        os.write(2, repr(problem).encode())
    finally:
        os._exit(code if isinstance(code, int) else 1)


def _aim(stdout: str, log: int) -> None:
    if stdout == "file":
        os.dup2(log, 1)
    elif stdout == "closed":
        os.close(1)
    elif stdout == "full":
        os.dup2(os.open("/dev/full", os.O_WRONLY), 1)
    else:
        reader, writer = os.pipe()
        os.dup2(writer, 1)
        os.close(reader)


def command(arguments: list[str], folder: Path, limit: float = 60.0, **how: Any) -> Run:
    """Run ``gradsift ARGUMENTS`` in a folder."""

    def work() -> None:
        from gradsift.cli.app import main

        sys.argv = ["gradsift", *arguments]
        main()

    return forked(work, folder, limit, **how)


@contextlib.contextmanager
def folder_of(fixtures: Path | None = None) -> Iterator[Path]:
    """Make a folder to work in, with copies of the fixtures, and take it away again."""
    folder = Path(tempfile.mkdtemp(prefix="fuzz-"))
    try:
        if fixtures is not None:
            for file in fixtures.iterdir():
                shutil.copyfile(file, folder / file.name)
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def judge(found: Findings, run: Run, what: Any, folder: Path, inputs: dict[Path, bytes] | None = None) -> None:
    """Hold a run to what is promised for every run."""
    found.n += 1
    found.outcomes[f"exit {run.code}"] += 1
    found.most_megabytes = max(found.most_megabytes, run.megabytes)
    found.most_seconds = max(found.most_seconds, run.seconds)
    if run.late:
        found.defect("silent too long" if not run.text else "too long", what, run.text)
    elif run.code not in CODES:
        found.defect(f"exit {run.code}", what, run.text)
    if "Traceback" in run.text:
        found.defect("traceback", what, run.text)
    if run.megabytes > MOST_MEGABYTES:
        found.defect("memory", [what, run.megabytes])
    if any(secret in run.text for secret in SECRETS):
        found.defect("secret printed", what, run.text)
    _look_at_files(found, what, folder, inputs or {})


def _look_at_files(found: Findings, what: Any, folder: Path, inputs: dict[Path, bytes]) -> None:
    for path, content in inputs.items():
        if not path.is_file() or path.read_bytes() != content:
            found.defect("input overwritten", [what, path.name])
    for path in folder.iterdir():
        if not path.is_file() or path in inputs:
            continue
        if path.name.startswith("."):
            found.defect("temporary file left", [what, path.name])
            continue
        content = path.read_bytes()
        if any(secret.encode() in content for secret in SECRETS) and not path.name.startswith("given"):
            found.defect("secret stored", [what, path.name])
        if path.name.startswith("out"):
            _look_at_output(found, what, path, content)


def _look_at_output(found: Findings, what: Any, path: Path, content: bytes) -> None:
    """A file that was written is complete."""
    whole = True
    if path.suffix == ".json":
        try:
            json.loads(content)
        except ValueError:
            whole = False
    elif path.suffix == ".html":
        whole = content.rstrip().endswith(b"</html>")
    elif path.suffix == ".csv":
        whole = content.endswith(b"\n")
    if not whole:
        found.defect("half-written file", [what, path.name])
