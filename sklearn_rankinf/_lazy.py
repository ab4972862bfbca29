"""Lazy imports: public names are imported on first use, so that importing the package is fast."""

from __future__ import annotations

import ast
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any


def attach(package: str, file: str) -> tuple[Callable[[str], Any], Callable[[], list[str]], Any]:
    """Make ``__getattr__``, ``__dir__`` and ``__all__`` of a package from its stub file.

    The stub, beside the ``__init__.py`` at `file`, consists of ``from ... import``.
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
