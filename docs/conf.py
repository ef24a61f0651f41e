"""How `make docs` builds the site. It reads nothing from the network."""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.metadata import version as installed_version
from pathlib import Path

import minimaxrisk

DOCS = Path(__file__).parent
sys.path.insert(0, str(DOCS / "_ext"))

project = "minimaxrisk"
author = copyright = "The minimaxrisk developers"  # noqa: A001
release = version = installed_version("minimaxrisk")

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.viewcode",
    "numpydoc",
    "myst_parser",
    "sphinx_gallery.gen_gallery",
    "layers",
    "mathml",
    "command_reference",
    "own_members",
]
templates_path = ["_templates"]
exclude_patterns = ["_build", "_ext", "examples", "**/GALLERY_HEADER.rst", "sg_execution_times.rst"]
html_math_renderer = "mathml"

# Every link inside the site leads somewhere; names of other packages stay words.
nitpicky = True
nitpick_ignore_regex = [(r"py:.*", r"(?!minimaxrisk\.).*")]
myst_enable_extensions = ["attrs_inline", "dollarmath"]
myst_heading_anchors = 4

autosummary_generate = True
smartquotes = False  # types hold quotes, and people copy them
toc_object_entries_show_parents = "hide"
autodoc_typehints = "none"  # numpydoc's sections tell the types
numpydoc_show_class_members = False  # the reference lists them by autosummary
numpydoc_class_members_toctree = False

# The gallery finds the public name of an object by going up its packages; all on the way must have it.
for _name in minimaxrisk.__all__:
    _object = getattr(minimaxrisk, _name)
    _package = getattr(_object, "__module__", "minimaxrisk").rpartition(".")[0]
    if _package:
        setattr(import_module(_package), _name, _object)

sphinx_gallery_conf = {
    "examples_dirs": "examples",
    "gallery_dirs": "auto_examples",
    "filename_pattern": r"/plot_",
    "abort_on_example_error": True,
    "download_all_examples": False,
    "remove_config_comments": True,
    "show_memory": False,
    "doc_module": ("minimaxrisk",),
    "backreferences_dir": "auto_examples/backreferences",
}

html_theme = "pydata_sphinx_theme"
html_title = "minimaxrisk"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_theme_options = {
    "navbar_align": "left",
    "header_links_before_dropdown": 7,
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": ["sphinx-version"],
}
