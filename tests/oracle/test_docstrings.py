"""The examples in the docstrings do what they show."""

import doctest
import importlib

import pytest


@pytest.mark.parametrize("name", ["oracle", "retry", "adapters.scikit", "adapters.pytorch", "adapters.recorded"])
def test_examples_hold(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    module = importlib.import_module(f"gradsift.oracle.{name}")
    result = doctest.testmod(module, optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    assert result.attempted > 0
    assert result.failed == 0
