"""How the documentation is built: ``make docs``."""

from __future__ import annotations

import os
import sys
import warnings
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))
os.environ.setdefault("MPLBACKEND", "Agg")

import generate
import gradsift

generate.write_all(HERE / "_generated")
warnings.filterwarnings("ignore", category=UserWarning, message=".*non-interactive.*")  # plt.show() in the gallery

project = "gradsift"
author = "The gradsift developers"
copyright = "The gradsift developers"
version = release = gradsift.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "myst_parser",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "_generated/playground", "assets"]
templates_path = ["_templates"]
html_theme = "pydata_sphinx_theme"
html_static_path = ["_static"]
html_css_files = ["gradsift.css"]
html_extra_path = ["_generated/playground"]
html_show_sourcelink = False
html_title = "gradsift"
html_sidebars = {page: [] for page in ("index", "choose", "algorithm", "theorems", "limits", "large", "extend")}
html_sidebars |= {f"_generated/{page}": [] for page in ("commands", "paper_map", "benchmarks", "evidence")}
html_theme_options = {"show_prev_next": False, "secondary_sidebar_items": ["page-toc"], "show_toc_level": 1}

autosummary_generate = True
autodoc_typehints = "none"
numpydoc_show_class_members = False
numpydoc_xref_param_type = False
myst_heading_anchors = 3

sphinx_gallery_conf = {
    "examples_dirs": [str(HERE.parent / "examples")],
    "gallery_dirs": ["auto_examples"],
    "abort_on_example_error": True,
    "download_all_examples": False,
    "show_signature": False,
    "show_memory": False,
    "matplotlib_animations": False,
    "nested_sections": False,
    "within_subsection_order": "FileNameSortKey",
    "write_computation_times": False,
}
