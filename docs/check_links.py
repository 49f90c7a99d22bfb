"""Follow every link between the built pages, without a network: ``python docs/check_links.py docs/_build/html``."""

from __future__ import annotations

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag, urlparse


class _Page(HTMLParser):
    """The links of a page, and the places one can link to."""

    def __init__(self) -> None:
        super().__init__()
        self.links: list[str] = []
        self.anchors: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name in ("id", "name") and value:
                self.anchors.add(value)
            if name in ("href", "src") and value and tag != "base":
                self.links.append(value)


def broken(root: Path) -> list[str]:
    """Return "page: link" for every link inside `root` whose file or anchor is missing."""
    pages = {}
    for path in (p for p in root.rglob("*.html") if "_static" not in p.parts):  # the theme keeps templates there
        pages[path] = _Page()
        pages[path].feed(path.read_text(encoding="utf-8"))
    found = []
    for path, page in pages.items():
        for link in page.links:
            address, anchor = urldefrag(link)
            if urlparse(address).scheme or address.startswith("//"):
                continue
            target = (path.parent / unquote(urlparse(address).path)).resolve() if address else path
            target = target / "index.html" if target.is_dir() else target
            missing_anchor = anchor and target in pages and unquote(anchor) not in pages[target].anchors
            if not target.exists() or (missing_anchor and target.name != "genindex.html"):
                found.append(f"{path.relative_to(root)}: {link}")
    return found


if __name__ == "__main__":
    problems = broken(Path(sys.argv[1]).resolve())
    print("\n".join(problems) or "every link between the pages holds")
    sys.exit(bool(problems))
