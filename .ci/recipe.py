"""Write the version and the hash of a source distribution into the recipe for conda.

The requirements of the recipe are compared with those of pyproject.toml.

Usage: python .ci/recipe.py dist/sklearn_rankinf-VERSION.tar.gz
"""

from __future__ import annotations

import hashlib
import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
RECIPE = ROOT / ".conda" / "recipe.yaml"


def check_requirements(recipe: str) -> None:
    """Exit if a requirement of the package or of its build is not one of the recipe."""
    metadata = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    needed = [*metadata["project"]["dependencies"], *metadata["build-system"]["requires"]]
    for requirement in needed:
        name, floor = requirement.split(">=")
        if f"    - {name} >={floor}\n" not in recipe:
            sys.exit(f"{RECIPE} lacks the requirement {name} >={floor}.")
    least = metadata["project"]["requires-python"].removeprefix(">=")
    if f'python_min: "{least}"' not in recipe:
        sys.exit(f"{RECIPE} has another python_min than {least}.")


def main(distribution: str) -> None:
    """Update the recipe for a source distribution."""
    path = Path(distribution)
    name = re.fullmatch(r"sklearn_rankinf-(.+)\.tar\.gz", path.name)
    if name is None:
        sys.exit(f"{path.name} is not a source distribution of the package.")
    recipe = RECIPE.read_text(encoding="utf-8")
    check_requirements(recipe)
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    values = {r'(?<=  version: ")[^"]+': name[1], "(?<=sha256: )[0-9a-f]+": digest}
    for pattern, value in values.items():
        recipe, n = re.subn(pattern, value, recipe)
        if n != 1:
            sys.exit(f"{RECIPE} has {n} places for {value}, not 1.")
    RECIPE.write_text(recipe, encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
