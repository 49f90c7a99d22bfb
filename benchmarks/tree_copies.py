"""Changed sources tried out: copies of the tree, and forks of this process that load gradsift from a copy.

Heavy packages are loaded here once, so that a fork only has to load gradsift; this process never does.
"""

from __future__ import annotations

import compileall
import multiprocessing
import os
import pickle
import queue
import shutil
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from py_compile import PycInvalidationMode
from typing import Any, NamedTuple

import numpy  # noqa: F401
import sklearn.neural_network
import sklearn.utils.validation  # noqa: F401

ROOT = Path(__file__).parents[1]


class Replaced:
    """A source file of a copy with other text, for as long as a ``with`` block lasts."""

    def __init__(self, tree: Path, file: str, text: str) -> None:
        self.path, self.text = tree / "src" / "gradsift" / file, text

    def __enter__(self) -> None:
        self.original = self.path.read_text(encoding="utf-8")
        self.path.write_text(self.text, encoding="utf-8")

    def __exit__(self, *_: object) -> None:
        self.path.write_text(self.original, encoding="utf-8")


def source_of(file: str) -> str:
    """Return the text of a file inside src/gradsift."""
    return (ROOT / "src" / "gradsift" / file).read_text(encoding="utf-8")


def copy_tree(target: Path) -> Path:
    """Copy sources, tests and benchmarks into `target`, compiled, and return it."""
    for part in ("src", "tests", "benchmarks"):
        shutil.copytree(ROOT / part, target / part, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", target)
    # Compiled files name the digest of their source: two versions may be written within one tick of the clock.
    compileall.compile_dir(target / "src", quiet=1, invalidation_mode=PycInvalidationMode.CHECKED_HASH)
    return target


def inside(tree: Path) -> None:
    """Let this fork load gradsift from a copy."""
    os.chdir(tree)
    sys.dont_write_bytecode = True
    sys.path.insert(0, str(tree / "src"))
    os.environ["PYTHONPATH"] = str(tree / "src")


def is_loaded_from(tree: Path) -> bool:
    """Return whether gradsift comes from the copy."""
    import gradsift

    return Path(gradsift.__file__).is_relative_to(tree)


class Outcome(NamedTuple):
    """What a fork returned; `value` is None where it died, by the signal for too much processor time or otherwise."""

    value: Any
    exit_code: int

    @property
    def too_long(self) -> bool:
        """Whether it was ended because it took too long."""
        return self.exit_code == -signal.SIGPROF


def in_fork(function: Callable[..., Any], *arguments: Any, seconds: float = 0.0) -> Outcome:
    """Call a function in a fork of this process, with at most so many seconds of processor time (0: no end)."""
    read, write = os.pipe()
    child = os.fork()
    if not child:
        code = 1
        try:
            os.close(read)
            signal.setitimer(signal.ITIMER_PROF, seconds)
            with os.fdopen(write, "wb") as stream:
                stream.write(pickle.dumps(function(*arguments)))
            code = 0
        finally:
            os._exit(code)
    os.close(write)
    with os.fdopen(read, "rb") as stream:
        content = stream.read()
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return Outcome(pickle.loads(content) if code == 0 else None, code)


def spread(items: Sequence[Any], work: Callable[[Any, Path], Any], jobs: int) -> Iterator[tuple[Any, Any]]:
    """Yield each item with what `work(item, tree)` makes of it, from `jobs` processes with a copy of the tree each."""
    context = multiprocessing.get_context("fork")
    found: Any = context.Queue()

    def worker(mine: Sequence[Any], tree: Path) -> None:
        copy_tree(tree)
        for item in mine:
            found.put((item, work(item, tree)))

    with tempfile.TemporaryDirectory() as folder:
        workers = [
            context.Process(target=worker, args=(items[i::jobs], Path(folder) / str(i))) for i in range(jobs)
        ]  # fmt: skip
        for process in workers:
            process.start()
        for _ in items:
            yield _next(found, workers)
        for process in workers:
            process.join()


def _next(found: Any, workers: list[Any]) -> Any:
    """Return what the queue brings; a process that died brings nothing more."""
    while True:
        try:
            return found.get(timeout=5)
        except queue.Empty:
            if any(process.exitcode for process in workers):
                raise SystemExit("a process died before its last item") from None
