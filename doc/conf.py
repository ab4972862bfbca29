"""Sphinx configuration: everything is built from local files, without the network."""

import sklearn_rankinf

project = "sklearn-rankinf"
author = "the sklearn-rankinf developers"
copyright = f"2026, {author}"
version = release = sklearn_rankinf.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "numpydoc",
    "sphinx_gallery.gen_gallery",
]
templates_path = ["_templates"]
# Tables are included by their pages.
exclude_patterns = ["_build", "benchmarks_table.rst", "exact_law_table.rst"]

autosummary_generate = True
# Types are in the docstrings, in words; the annotations in signatures would say them twice.
autodoc_typehints = "none"
# Every public name is imported from the package itself; the private modules are not shown.
add_module_names = False
# The class template lists the members; numpydoc would list them a second time.
numpydoc_show_class_members = False

# There is no inventory of other projects without the network: their names stay plain text.
nitpick_ignore_regex = [(r"py:.*", r"(sklearn|scipy|numpy|joblib|matplotlib|pandas)\..*")]

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "auto_examples",
    "doc_module": ("sklearn_rankinf",),
    "reference_url": {"sklearn_rankinf": None},
    "download_all_examples": False,
    "within_subsection_order": "FileNameSortKey",
    "abort_on_example_error": True,
}

html_theme = "pydata_sphinx_theme"
html_title = f"{project} {version}"
html_theme_options = {
    "show_prev_next": False,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
}
html_sidebars = {"**": ["sidebar-nav-bs"]}
html_show_sourcelink = False
