"""README shows what the scripts print and code that runs."""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_table_is_the_one_that_the_script_prints():
    command = [sys.executable, "-m", "benchmarks.summary"]
    out = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT).stdout
    assert out.strip() in (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_examples_run(tmp_path):
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.S)
    assert len(blocks) >= 3
    subprocess.run(
        [sys.executable, "-c", "\n".join(blocks)], cwd=tmp_path, check=True, capture_output=True, timeout=120
    )
    assert (tmp_path / "found.json").exists()


def test_the_opening_picture_exists():
    for path in re.findall(r"!\[[^\]]*\]\(([^)]+)\)", (ROOT / "README.md").read_text(encoding="utf-8")):
        assert (ROOT / path).exists(), path
