"""Files written whole, models as files, and addresses shown without their secrets."""

from __future__ import annotations

import base64
import contextlib
import json
import lzma
import math
import os
import re
import struct
import tempfile
import tokenize
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import IO, Any
from urllib.parse import quote, quote_plus, unquote, unquote_plus, urlsplit

from .errors import GradsiftError

# What a damaged archive makes zipfile, its unpackers and numpy's reader of headers raise beside ValueError and OSError.
_DAMAGE = (
    zipfile.BadZipFile, zlib.error, lzma.LZMAError, struct.error, tokenize.TokenError, SyntaxError,
    EOFError, NotImplementedError, RuntimeError, OverflowError,
)  # fmt: skip
_MOST_PACKED = 200  # numbers of a model pack to a tenth at best, directions with many zeros to a hundredth

_UMASK = os.umask(0)  # can only be read by setting it, which is safe before there are threads
os.umask(_UMASK)


@contextlib.contextmanager
def open_whole(path: str | os.PathLike[str], mode: str = "w") -> Iterator[IO[Any]]:
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


def read_arrays(path: Path, names: Iterable[str]) -> dict[str, Any]:
    """Return the named arrays of an .npz file, or raise ``ValueError`` saying what is wrong with it.

    Every array's declared size is compared with what the file can hold before anything is unpacked or allocated.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            held = {info.filename.removesuffix(".npy"): info for info in archive.infolist()}
            wanted = [name for name in names if name in held]
            size = sum(held[name].file_size for name in wanted)
            require_modest(path, size)
            return {name: _array(archive, held[name]) for name in wanted}
    except _DAMAGE as problem:
        raise ValueError(f"it is damaged: {type(problem).__name__} ({problem})") from None


def require_modest(path: Path, n_bytes: int, least: int = 0) -> None:
    """Refuse a file that would unpack to more than `least` bytes and to more than it can honestly hold."""
    if n_bytes > max(least, _MOST_PACKED * path.stat().st_size):
        raise ValueError(f"it would unpack to {n_bytes:,} bytes, {_MOST_PACKED} times its own size or more")


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
        # The header declares a shape; allocate nothing unless the bytes that follow are exactly as many.
        left = info.file_size - stream.tell()
        if math.prod(shape) * dtype.itemsize != left:
            raise ValueError(f"{info.filename} declares shape {shape} and holds {left:,} bytes")
    with archive.open(info) as stream:
        import numpy as np  # slow to import, and needed for .npz alone

        return np.lib.format.read_array(stream, allow_pickle=False)


def same_file(one: Path, other: Path) -> bool:
    """Return whether two paths lead to one file, be it there already or not."""
    try:
        return one.samefile(other)
    except OSError:  # one of them is not there yet
        return os.path.realpath(one) == os.path.realpath(other)


def write_model(
    path: str | os.PathLike[str], kind: str, version: int, header: Mapping[str, Any], arrays: Mapping[str, Any],
    notes: Mapping[str, Any] | None = None,
) -> None:  # fmt: skip
    """Write the fields of a model of this kind, by the suffix of the path; a ``.json`` file keeps notes beside them."""
    fields = {"format": f"gradsift.{kind}", "version": version, **header}
    if _kind_of_file(path) == ".npz":
        with open_whole(path, "wb") as stream:
            import numpy as np

            np.savez(stream, allow_pickle=False, **arrays, **{name: np.array(v) for name, v in fields.items()})
    else:
        with open_whole(path) as stream:
            lists = {name: values.tolist() for name, values in arrays.items()}
            json.dump({**fields, **lists, **(notes or {})}, stream, indent=1)


def kind_of_model(path: str | os.PathLike[str]) -> str:
    """Return which kind of model a file says it holds, or say in one sentence that it holds none."""
    try:
        kind = str(_fields(path, ["format"])["format"])
    except (KeyError, TypeError, ValueError, OverflowError) as problem:
        raise ValueError(f"{path} does not hold a model ({type(problem).__name__}: {problem}).") from None
    return kind.removeprefix("gradsift.")[:40]


def read_model(path: str | os.PathLike[str], kind: str, newest: int, names: Iterable[str]) -> dict[str, Any]:
    """Read the fields of a model of this kind up to this version, or say in one sentence that the file holds none."""
    try:
        fields = _fields(path, names)
        if str(fields["format"]) != f"gradsift.{kind}":
            raise ValueError(f"its format is {str(fields['format'])[:40]!r}")
        version = int(fields["version"])
    except (KeyError, TypeError, ValueError, OverflowError) as problem:
        raise ValueError(f"{path} does not hold a {kind} ({type(problem).__name__}: {problem}).") from None
    if version > newest:
        raise GradsiftError(f"{path} has format version {version}; this gradsift reads up to {newest}: upgrade it.")
    return {**fields, "version": version}


def _fields(path: str | os.PathLike[str], names: Iterable[str]) -> dict[str, Any]:
    return read_arrays(Path(path), names) if _kind_of_file(path) == ".npz" else read_json(Path(path))


def _kind_of_file(path: str | os.PathLike[str]) -> str:
    suffix = Path(path).suffix
    if suffix not in (".json", ".npz"):
        raise ValueError(f"A model file must end in .json or .npz, got {os.fspath(path)!r}.")
    return suffix


_HIDDEN = "***"
# A path library may have eaten one of the two slashes, and a word without a scheme may still be user:password@host.
_ADDRESS = re.compile(r"""[a-z][a-z0-9+.-]*:/{1,3}[^\s'"<>]+""", re.IGNORECASE)
_LOGIN = re.compile(r"""[^\s'"<>/@:]+:[^\s'"<>/@]*@([^\s'"<>?#]+)([?#][^\s'"<>]*)?""")
_QUERY = re.compile(r"""\?[\w.%~-]+=[^\s'"<>]*""")  # of an address that somebody cut into a path and a name
_HOST = re.compile(r"(\[[^\]]*\]|[^:]*)(:\d*)?")
_SHORTEST = 4  # a shorter text is no secret worth the words that would be blackened with it


def shown(text: str) -> str:
    """Return `text` with every address in it reduced to scheme, host, port and path.

    Examples
    --------
    >>> shown("http://someone:pass-word@host:80/predict?token=abcdef")
    'http://host:80/predict?***'
    >>> shown("box:f")
    'box:f'
    """
    text = _LOGIN.sub(r"\1", _ADDRESS.sub(lambda found: _without_login(found[0]), text))
    return _QUERY.sub(f"?{_HIDDEN}", text)


def _without_login(address: str) -> str:
    scheme, slashes, rest = re.split(r"(:/{1,3})", address, maxsplit=1)
    host = re.split(r"[/?#;]", rest, maxsplit=1)[0]
    if "@" not in host and not _HOST.fullmatch(host):  # a password with a slash or a question mark, as people type them
        host = rest = rest if "@" in rest else _HIDDEN
    rest = host.rpartition("@")[2] + rest[len(host) :]
    place = re.split(r"[?#;]", rest, maxsplit=1)[0]
    return f"{scheme}{slashes}{place}{'?' + _HIDDEN if len(place) < len(rest) else ''}"


class Secrets:
    """The secrets of one address and its headers, to be taken out of texts that others wrote: servers, libraries.

    Parameters
    ----------
    url : str
    headers : mapping of str, optional
        Their values are secrets, and so is each word of them ("Bearer ...").
    """

    def __init__(self, url: str, headers: Mapping[str, str] | None = None) -> None:
        found: set[str] = set()
        address, _, fragment = url.partition("#")
        address, _, query = address.partition("?")
        login = address.partition("://")[2].rpartition("@")[0]
        found |= {login, *login.split(":", 1), query, fragment}
        found |= {part.partition("=")[2] or part for part in re.split("[&;]", query)}
        for value in (headers or {}).values():
            found |= {value, *value.split()}
        # Servers and libraries quote a secret as it was sent, decoded, encoded once more, or as Python prints it.
        found |= {change(text) for text in found.copy() for change in (unquote, unquote_plus, quote, quote_plus)}
        found |= {base64.b64encode(unquote(login).encode()).decode() if login else ""}
        found |= {repr(text)[1:-1] for text in found.copy()}
        texts = sorted((text for text in found if len(text) >= _SHORTEST), key=len, reverse=True)
        self._pattern = re.compile("|".join(map(re.escape, texts))) if texts else None

    def shown(self, text: str) -> str:
        """Return `text` without the secrets and with addresses reduced to their place."""
        return shown(text if self._pattern is None else self._pattern.sub(_HIDDEN, text))


def place(url: str) -> str:
    """Return scheme, host, port and path: the name of a server, for messages and journals."""
    parts = urlsplit(url)
    host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
    return f"{parts.scheme}://{host}{f':{parts.port}' if parts.port else ''}{parts.path}"
