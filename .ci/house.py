"""Print the measures of the package's structure: size, names, floors, circles and imports.

The exit status is 1 if there are circles, imports past a door, or more than a limit.

Usage: python .ci/house.py [directory of the package]
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

ENGINE = ("_engine",)
LIMITS = {
    "lines outside of the engine": 39_200,
    "public names": 72,
    "parameters": 14,
    "floors": 9,
    "files in a chain of imports": 12,
}


def modules_of(package: Path) -> dict[str, Path]:
    """Names of all modules of a package, with their files."""
    names = {}
    for path in sorted(package.rglob("*.py")):
        parts = (package.name, *path.relative_to(package).with_suffix("").parts)
        names[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return names


def imports_of(path: Path, modules: dict[str, Path], package: str) -> set[str]:
    """Modules of the package that a file imports, in functions and for types as well."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names if alias.name in modules}
        elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == package:
            for alias in node.names:
                module, below = str(node.module), f"{node.module}.{alias.name}"
                is_own = modules.get(module) == path.parent / "__init__.py"
                is_file = below in modules and (
                    is_own or alias.name not in names_of_door(module, modules)
                )
                found.add(below if is_file else module)
    return found & modules.keys()


def names_of_door(module: str, modules: dict[str, Path]) -> dict[str, str]:
    """The names that a door gives, with the files that they come from."""
    path = modules.get(module)
    if path is None or path.name != "__init__.py" or "." not in module:
        return {}
    tree = ast.parse(path.read_text(encoding="utf-8"))
    found = [node for node in tree.body if isinstance(node, ast.ImportFrom)]
    return {alias.name: str(node.module) for node in found for alias in node.names}


def through_doors(path: Path, modules: dict[str, Path], package: str) -> set[str]:
    """Files that a file imports from, where a name from a door is one from the file behind it."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == package:
            for alias in node.names:
                module, below = str(node.module), f"{node.module}.{alias.name}"
                behind = names_of_door(module, modules).get(alias.name, module)
                found.add(below if below in modules and behind == module else behind)
    return found & modules.keys()


def past_doors(graph: dict[str, set[str]], modules: dict[str, Path]) -> list[str]:
    """Imports of a file of another room that has a door."""
    return [
        f"{name} imports {other}"
        for name, imported in graph.items()
        for other in sorted(imported)
        if room_of(other) not in (room_of(name), other) and names_of_door(room_of(other), modules)
    ]


def circles_of(graph: dict[str, set[str]]) -> list[list[str]]:
    """Sets of nodes that reach each other (strongly connected components, Tarjan 1972)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    circles = []

    def visit(node: str) -> None:
        index[node] = low[node] = len(index)
        stack.append(node)
        for other in sorted(graph[node]):
            if other not in index:
                visit(other)
            if other in stack:
                low[node] = min(low[node], low[other])
        if low[node] == index[node]:
            members = stack[stack.index(node) :]
            del stack[stack.index(node) :]
            circles.append(members)

    for node in sorted(graph):
        if node not in index:
            visit(node)
    return circles


def longest_chain(graph: dict[str, set[str]]) -> list[str]:
    """The longest chain of imports, circles counted as one."""
    circles = circles_of(graph)
    circle_of = {node: number for number, members in enumerate(circles) for node in members}
    chains: list[list[str]] = []
    # The components come in reverse topological order: what is imported first.
    for number, members in enumerate(circles):
        below = {circle_of[other] for node in members for other in graph[node]} - {number}
        longest = max((chains[each] for each in below), key=len, default=[])
        chains.append([members[0], *longest])
    return max(chains, key=len, default=[])


def room_of(module: str) -> str:
    """The folder or file at the top of the package that a module belongs to."""
    return ".".join(module.split(".")[:2])


def functions_of(path: Path, names: set[str]) -> Iterator[ast.FunctionDef]:
    """Public functions, and constructors of public classes, of a file."""
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef) and node.name in names:
            yield node
        elif isinstance(node, ast.ClassDef) and node.name in names:
            yield from (
                each
                for each in node.body
                if isinstance(each, ast.FunctionDef)
                and (each.name == "__init__" or not each.name.startswith("_"))
            )


def n_parameters(function: ast.FunctionDef) -> int:
    """Number of parameters without ``self`` and ``cls``."""
    arguments = function.args
    named = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    return len([each for each in named if each.arg not in ("self", "cls")])


def main(directory: str = "sklearn_rankinf") -> None:
    """Print the measures of the package in a directory."""
    package = Path(directory).resolve()
    modules = modules_of(package)
    graph = {
        name: imports_of(path, modules, package.name) - {name} for name, path in modules.items()
    }
    rooms: dict[str, set[str]] = {room_of(name): set() for name in modules}
    for name, imported in graph.items():
        rooms[room_of(name)] |= {room_of(each) for each in imported} - {room_of(name)}
    rooms.pop(package.name, None)
    rooms = {room: imported & rooms.keys() for room, imported in rooms.items()}

    lines = {name: len(path.read_text().splitlines()) for name, path in modules.items()}
    engine = sum(n for name, n in lines.items() if room_of(name).split(".")[-1] in ENGINE)
    stub = ast.parse((package / "__init__.pyi").read_text(encoding="utf-8"))
    names = {a.name for node in stub.body if isinstance(node, ast.ImportFrom) for a in node.names}
    functions = [each for path in modules.values() for each in functions_of(path, names)]
    widest = max(functions, key=n_parameters)
    files = {
        name: through_doors(path, modules, package.name) - {name}
        for name, path in modules.items()
        if path.name != "__init__.py" or name.count(".") > 1
    }
    files = {name: imported & files.keys() for name, imported in files.items()}
    chain, floors = longest_chain(files), longest_chain(rooms)
    circles = [each for each in circles_of(rooms) + circles_of(graph) if len(each) > 1]

    print(f"lines: {sum(lines.values()) - engine} outside of the engine, {engine} in it")
    print(f"public names: {len(names)}; most parameters: {n_parameters(widest)} ({widest.name})")
    print(f"rooms: {len(rooms)} on {len(floors)} floors: {' > '.join(floors)}")
    print(f"longest chain of imports of files: {len(chain)}: {' > '.join(chain)}")
    print(f"own imports a file: {sum(map(len, graph.values())) / len(graph):.1f}")
    print(f"circles: {len(circles)}")
    for circle in circles:
        print("   ", ", ".join(sorted(circle)))
    reached = past_doors(graph, modules)
    print(f"imports past a door: {len(reached)}")
    for line in reached:
        print("   ", line)
    found = (
        sum(lines.values()) - engine,
        len(names),
        n_parameters(widest),
        len(floors),
        len(chain),
    )
    measures = dict(zip(LIMITS, found, strict=True))
    broken = [name for name, limit in LIMITS.items() if measures[name] > limit]
    for name in broken:
        print(f"too many {name}: {measures[name]}, at most {LIMITS[name]}")
    if reached or circles or broken:
        sys.exit(1)


if __name__ == "__main__":
    main(*sys.argv[1:])
