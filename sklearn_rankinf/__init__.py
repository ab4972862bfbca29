"""Exact inference on rankings of rare positives, inside scikit-learn's tools.

The public names are those of the stub ``__init__.pyi``; each is imported when it is first used.
"""

from sklearn_rankinf import _lazy

__version__ = "0.1.0.dev0"

__getattr__, __dir__, __all__ = _lazy.attach(__name__, __file__)
