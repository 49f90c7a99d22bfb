"""What may be shown of an address: the one place that keeps passwords, tokens and keys out of every text.

An address names a server, and often carries what opens it: ``https://user:password@host/path?token=...``. Anything that
is printed, logged, raised or stored passes through here first.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping
from urllib.parse import quote, quote_plus, unquote, unquote_plus, urlsplit

__all__ = ["Secrets", "place", "shown"]

_HIDDEN = "***"
# A path library may have eaten one of the two slashes, and a word without a scheme may still be user:password@host.
_ADDRESS = re.compile(r"""[a-z][a-z0-9+.-]*:/{1,3}[^\s'"<>]+""", re.IGNORECASE)
_LOGIN = re.compile(r"""[^\s'"<>/@:]+:[^\s'"<>/@]*@(?=[^\s'"<>])""")
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
    return _LOGIN.sub("", _ADDRESS.sub(lambda found: _bare(found[0]), text))


def _bare(address: str) -> str:
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
        found |= {change(text) for text in found.copy() for change in (unquote, unquote_plus, quote, quote_plus)}
        found |= {base64.b64encode(unquote(login).encode()).decode() if login else ""}
        found |= {repr(text)[1:-1] for text in found.copy()}
        texts = sorted((text for text in found if len(text) >= _SHORTEST), key=len, reverse=True)
        self._pattern = re.compile("|".join(map(re.escape, texts))) if texts else None

    def hide(self, text: str) -> str:
        """Return `text` without the secrets and with addresses reduced to their place."""
        return shown(text if self._pattern is None else self._pattern.sub(_HIDDEN, text))


def place(url: str) -> str:
    """Return scheme, host, port and path: the name of a server, for messages and journals."""
    parts = urlsplit(url)
    host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
    return f"{parts.scheme}://{host}{f':{parts.port}' if parts.port else ''}{parts.path}"
