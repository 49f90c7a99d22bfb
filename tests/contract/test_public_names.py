"""The public surface: names, laziness, import cost."""

import subprocess
import sys

import pytest

import gradsift as gs

FIXED = """SigmoidCombination Network match_units match_networks simulate Oracle oracle recover
OracleGradients KernelGradients ProjectedGradients LocalLinearGradients generate_candidates DirectionalKMeans
SpectralMirror SigmoidCombinationRegressor SigmoidMixtureClassifier Problem plan theory plots sources errors""".split()  # noqa: SIM905


def test_the_promised_names_are_there():
    assert set(FIXED) <= set(gs.__all__)


@pytest.mark.parametrize("name", [n for n in gs.__all__ if n != "__version__"])
def test_every_public_name_loads_and_has_a_docstring(name):
    assert getattr(gs, name).__doc__


def test_unknown_names_are_attribute_errors():
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        gs.nonsense  # noqa: B018


def test_import_pulls_in_nothing_heavy():
    heavy = ["torch", "dask", "matplotlib", "plotly", "pyarrow", "onnxruntime", "httpx", "sklearn", "pandas", "scipy"]
    code = f"import sys, gradsift; print([m for m in {heavy} if m in sys.modules])"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out.strip() == "[]"


def test_help_pulls_in_nothing_heavy():
    code = (
        "import sys\nfrom gradsift.cli import main\nsys.argv = ['gradsift', '--help']\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        "print([m for m in ('numpy', 'scipy', 'sklearn', 'matplotlib', 'torch') if m in sys.modules])"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out.strip().endswith("[]")
