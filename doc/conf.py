"""Sphinx configuration: the pages are built and read without the network."""

import re

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
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    # MathJax and its fonts come from a package; otherwise the reader's browser would fetch them.
    "sphinx-mathjax-offline",
]
templates_path = ["_templates"]
exclude_patterns = ["_build"]

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
# Pages without a section of their own have no sidebar; an empty one would take up space.
html_sidebars = {
    "**": ["sidebar-nav-bs"],
    **{page: [] for page in ("index", "install", "search", "genindex")},
}
html_show_sourcelink = False
html_static_path = ["_static"]
html_css_files = ["rankinf.css"]

# The copy button leaves out prompts and output.
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True


def changelog_as_rst(app, path, parent_docname, content):
    """Turn the Markdown of the changelog into reStructuredText."""
    if path.name != "CHANGELOG.md":
        return
    _, text = content[0].split("\n", 1)  # the page has a title

    def heading(match):
        marks, title = match.groups()
        return f"{title}\n{'-~^'[len(marks) - 2] * len(title)}"

    text = re.sub(r"^(#{2,4}) (.*)$", heading, text, flags=re.MULTILINE)
    text = re.sub(r"`([^`]+)`", r"``\1``", text)
    content[0] = re.sub(r"\[([^\]]*)\]\((.*?)\)", r"`\1 <\2>`__", text, flags=re.DOTALL)


def resolve_short_name(app, env, node, contnode):
    """Find classes of results, which are not imported from the package, and what they refer to."""
    objects, name = (
        env.domains["py"].objects,
        node.get("reftarget", "").split("sklearn_rankinf.")[-1],
    )
    public = f"sklearn_rankinf.{name}"
    found = [public] if public in objects else []
    if not found and name[:1].isupper():
        found = [full for full in objects if full.endswith(f".{name}")]
    if len(found) != 1:
        return None
    where = env, node["refdoc"], app.builder, node["reftype"]
    return env.domains["py"].resolve_xref(*where, found[0], node, contnode)


def setup(app):
    """Read the changelog, and resolve short names."""
    app.connect("missing-reference", resolve_short_name)
    app.connect("include-read", changelog_as_rst)
