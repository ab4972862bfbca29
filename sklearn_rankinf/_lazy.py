"""Lazy imports: public names are imported on first use, so that importing the package is fast."""

from __future__ import annotations

import ast
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any


def attach(package: str, file: str) -> tuple[Callable[[str], Any], Callable[[], list[str]], Any]:
    """Make the functions that import the names of a package, as listed in its stub file.

    Parameters
    ----------
    package : str
        Name of the package.
    file : str
        Path of its ``__init__.py``, with a stub ``__init__.pyi`` of ``from ... import ...``.

    Returns
    -------
    getattr, dir : callable
        ``__getattr__`` and ``__dir__`` of the package.
    names : list of str
        ``__all__`` of the package.
    """
    tree = ast.parse(Path(file).with_suffix(".pyi").read_text(encoding="utf-8"))
    module_of = {
        alias.name: node.module
        for node in tree.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }

    def get(name: str) -> Any:
        module = module_of.get(name)
        if module is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(module), name)
        vars(import_module(package))[name] = value
        return value

    def names() -> list[str]:
        return sorted({*vars(import_module(package)), *module_of})

    return get, names, sorted(module_of)
