"""Writing files so that a reader never meets half of one."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

__all__ = ["atomic_writer"]

_UMASK = os.umask(0)  # can only be read by setting it, which is safe before there are threads
os.umask(_UMASK)


@contextlib.contextmanager
def atomic_writer(path: str | os.PathLike[str], mode: str = "w") -> Iterator[IO[Any]]:
    """Open a temporary file beside `path` and move it there only if the block succeeds.

    The directory must exist: a typing error in a path should not create folders.
    """
    target = Path(path).resolve()  # a link keeps pointing at what it pointed at
    if not target.parent.is_dir():
        raise FileNotFoundError(f"The folder {target.parent} does not exist.")
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(handle, mode, encoding=None if "b" in mode else "utf-8") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        os.chmod(name, target.stat().st_mode if target.exists() else 0o666 & ~_UMASK)  # mkstemp makes private files
        os.replace(name, target)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name)
        raise
