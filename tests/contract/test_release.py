"""A release says the same thing everywhere."""

import os
import re
from pathlib import Path

import gradsift

ROOT = Path(__file__).parents[2]


def test_the_changelog_begins_with_this_version():
    headings = re.findall(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.M)
    assert headings[0] in (gradsift.__version__, "Unreleased")
    assert gradsift.__version__ in headings


def test_the_version_is_written_in_one_place():
    for name in ("pyproject.toml", "CITATION.cff"):
        assert not re.search(r"^version\s*[:=]", (ROOT / name).read_text(encoding="utf-8"), re.M), name


def test_the_release_check_can_be_run():
    assert os.access(ROOT / ".ci" / "release", os.X_OK)
    assert ".ci/release" in (ROOT / ".ci" / "run").read_text(encoding="utf-8")
