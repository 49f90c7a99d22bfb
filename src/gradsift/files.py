"""Writing files so that a reader never meets half of one, and reading those that may be damaged or made to harm."""

from __future__ import annotations

import contextlib
import json
import math
import os
import tempfile
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Any

__all__ = ["atomic_writer", "read_json", "read_npz", "same_file"]

_MOST_PACKED = 200  # numbers of a model pack to a tenth at best, directions with many zeros to a hundredth

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


def read_json(path: Path) -> dict[str, Any]:
    """Return the object in a JSON file, or raise ``ValueError`` saying what is wrong with it."""
    try:
        held = json.loads(path.read_text(encoding="utf-8"))
    except RecursionError:
        raise ValueError("it is nested in too many levels") from None
    if not isinstance(held, dict):
        raise ValueError(f"it holds a {type(held).__name__}, not an object")
    return held


def read_npz(path: Path, names: Iterable[str]) -> dict[str, Any]:
    """Return the named arrays of an .npz file, or raise ``ValueError`` saying what is wrong with it.

    Every array's declared size is compared with what the file can hold before anything is unpacked or allocated.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            held = {info.filename.removesuffix(".npy"): info for info in archive.infolist()}
            wanted = [name for name in names if name in held]
            size = sum(held[name].file_size for name in wanted)
            if size > _MOST_PACKED * path.stat().st_size:
                raise ValueError(f"it would unpack to {size:,} bytes, {_MOST_PACKED} times its own size")
            return {name: _array(archive, held[name]) for name in wanted}
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, OverflowError) as problem:
        # Damaged, or packed or locked in a way that numpy never writes.
        raise ValueError(f"it is damaged: {problem}") from None


def _array(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> Any:
    import numpy as np
    from numpy.lib import format as npy

    with archive.open(info) as stream:
        version = npy.read_magic(stream)
        read_header = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}.get(version)
        if read_header is None:
            raise ValueError(f"{info.filename} has an unknown version {version}")
        shape, _, dtype = read_header(stream)
        if dtype.hasobject or dtype.kind not in "biufU":
            raise ValueError(f"{info.filename} holds {dtype}, not numbers or text")
        left = info.file_size - stream.tell()
        if math.prod(shape) * dtype.itemsize != left:
            raise ValueError(f"{info.filename} declares shape {shape} and holds {left:,} bytes")
    with archive.open(info) as stream:
        return np.lib.format.read_array(stream, allow_pickle=False)


def same_file(one: Path, other: Path) -> bool:
    """Return whether two paths lead to one file, be it there already or not."""
    try:
        return one.samefile(other)
    except OSError:  # one of them is not there yet
        return os.path.realpath(one) == os.path.realpath(other)
