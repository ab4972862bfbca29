"""Check that each thing has one name, in pages, docstrings, messages, reports and the command line.

Code is not looked at: parameters such as `n_samples` have the names of scikit-learn.

Usage: python .ci/terms.py [files]
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

# What is not said, and what is said in its place.
TERMS = {
    # A sample is a list of items as a whole: "two independent samples", "a bootstrap sample".
    r"(?<!two )(?<!independent )(?<!bootstrap )(?<!training )(?<!random )(?<!control )"
    r"(?<!downsampled )(?<!large )samples(?! of)|"
    r"(each|every|one|per|single|same|positive|negative) sample": "item",
    r"(?<!the )targets?(?! power| of the interval)|the targets": "positive",
    # What is drawn has this name, in the plural or counted; so has the title of a paper.
    r"(?<!each )(?<!every )(?<!per )(?<!no )(?<!one )(?<!a )random labelling|random ranking|"
    r"(?<!precision under )random selection|(than|by|of) a random order": "chance",
    r"candidates?": "ranker, or parameter setting",
}
# Chance is defined there.
DEFINITIONS = {"glossary.rst": "chance", "theory.rst": "chance"}
FORBIDDEN = [(re.compile(rf"\b({found})\b", re.IGNORECASE), said) for found, said in TERMS.items()]
# Code, names, roles, addresses, and what a directive is given.
CODE = re.compile(
    r"``.*?``|`[^`]*`|https?://\S+|\w+='[^']*'|\{[^{}]*\}|"
    r"^\s*(\.\. |:\w+:(?!`)|>>>|\.\.\. ).*$|^\s*[\w*, ]+ : [^A-Z].*$"
)
# What a literal block, or a directive with code, follows.
BLOCK = re.compile(r"\s*\.\. (code-block|math|raw)::|.*::\s*$")


def prose_of(lines: list[str]) -> Iterator[tuple[int, str]]:
    """Lines of reStructuredText or Markdown, without code."""
    indent, fenced, output = None, False, False
    for number, line in enumerate(lines, 1):
        if line.lstrip().startswith("```"):
            fenced = not fenced
        depth = len(line) - len(line.lstrip())
        if indent is not None and line.strip() and depth <= indent:
            indent = None
        output = line.lstrip().startswith(">>>") or (output and bool(line.strip()))
        if fenced or indent is not None or output:
            continue
        if BLOCK.match(line):
            indent = depth
        yield number, CODE.sub(" ", line)


def prose_of_code(text: str) -> Iterator[tuple[int, str]]:
    """Docstrings and messages of a module, and the text between the cells of an example."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value:
            for number, line in prose_of(node.value.splitlines()):
                yield node.lineno + number - 1, line
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("# "):
            yield number, CODE.sub(" ", line)


def wrong_terms(path: Path) -> Iterator[str]:
    """Lines that give a thing another name."""
    text = path.read_text(encoding="utf-8")
    found = prose_of_code(text) if path.suffix == ".py" else prose_of(text.splitlines())
    for number, line in found:
        for pattern, said in FORBIDDEN:
            match = pattern.search(line)
            if match and DEFINITIONS.get(path.name) != said:
                yield f"{path}:{number}: {match.group()!r}, say {said!r}: {line.strip()}"


def main(*files: str) -> None:
    """Print the lines, and exit with 1 if there are any."""
    modules = sorted(Path("sklearn_rankinf").rglob("*.py"))
    paths = [Path(each) for each in files] or [
        *sorted(Path("doc").glob("*.rst")),
        *sorted(Path("examples").glob("*.py")),
        # The engine has no messages, and its samples are those of a transform.
        *(path for path in modules if "_engine" not in path.parts),
        Path("README.md"),
        Path("CHANGELOG.md"),
    ]
    found = [line for path in paths for line in wrong_terms(path)]
    print(*found, sep="\n")
    if found:
        sys.exit(1)


if __name__ == "__main__":
    main(*sys.argv[1:])
