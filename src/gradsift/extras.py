"""The one door to optional packages."""

from __future__ import annotations

import importlib
from typing import Any

from .errors import MissingExtra

__all__ = ["load_extra"]


def load_extra(package: str, extra: str) -> Any:
    """Import an optional package, or say which extra brings it."""
    try:
        return importlib.import_module(package)
    except ModuleNotFoundError as problem:
        if not f"{package}.".startswith(f"{problem.name}."):
            raise  # the package is there and broken: hiding that would help nobody
        raise MissingExtra(f"This needs the package {package}: pip install 'gradsift[{extra}]'.") from None
