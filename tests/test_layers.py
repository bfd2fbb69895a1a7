"""Imports point at earlier layers only; the layers below the doors neither print, exit nor read the environment.

Layers: ``cli``, ``mcp``, ``bench`` -> ``operations`` -> ``auxiliary`` -> ``preservation`` -> ``errors``, ``model``.
Beside them stands ``local``, a program of its own around a model, which nothing else imports.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parent.parent / "ctxarc"
BELOW = {
    "cli": {"operations", "auxiliary", "preservation", "base"},
    "mcp": {"operations", "auxiliary", "preservation", "base"},
    "bench": {"operations", "auxiliary", "preservation", "base"},
    "operations": {"auxiliary", "preservation", "base"},
    "auxiliary": {"preservation", "base"},
    "preservation": {"base"},
    "base": set(),
    "local": {"base"},
    "door": {"operations"},
    "program": {"cli"},
}
"""What each layer may import beside itself; ``base`` is every module beside the layers' folders."""
FOREIGN = {
    "preservation": {"click", "rich", "numpy"},
    "auxiliary": {"click", "rich"},
    "operations": {"click", "rich"},
    "base": {"click", "rich", "numpy", "zstandard", "xxhash"},
}
"""Packages that a layer must do without."""
DOORS = {"cli", "mcp", "bench", "program"}
"""Layers that may print, end the process and read the environment."""
LAZY = {("ctxarc.cli.main", "get_command"), ("ctxarc", "__getattr__"), ("ctxarc.mcp.server", "_load")}
"""The functions that import when they are called: the table of commands, the package's door to the library, and the
server, which answers a client before it loads the operations."""
PROGRAMS = {"ctxarc.__main__", "ctxarc.mcp.__main__"}
"""Modules that ``python -m`` runs as a command of the command line."""
OPENS = {("ctxarc.cli.mcp", "mcp"), ("ctxarc.cli.bench", "bench")}
"""The commands that open another door, and the layer of that door."""

PROCESSES = {"ctxarc.operations.regex_worker", "ctxarc.operations.cut_worker", "ctxarc.local.__main__"}
"""Modules that are started as processes of their own, and so speak through their stdin and stdout."""
BY_NAME = {"__import__", "importlib.import_module", "import_module"}
"""Calls that import what no import statement shows."""


def layer_of(module: str) -> str:
    """The layer of a module of this package by its dotted name."""
    if module == "ctxarc":
        return "door"
    if module in PROGRAMS:
        return "program"
    part = module.split(".")[1]
    return part if part in BELOW else "base"


def faults(module: str, source: str) -> list[str]:
    """Every breach of the layers in the source text of ``module``."""
    tree = ast.parse(source)
    found = list(_imports(module, tree))
    if layer_of(module) not in DOORS and module not in PROCESSES:
        found += _deeds(tree)
    return found


def _imports(module: str, tree: ast.Module) -> Iterator[str]:
    for node, function in _with_function(tree, None):
        if isinstance(node, ast.ImportFrom) and node.level:
            yield f"line {node.lineno}: a relative import"
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            if function is not None and (module, function) not in LAZY:
                yield f"line {node.lineno}: an import inside {function}"
            for name in _imported(node):
                yield from (f"line {node.lineno}: {fault}" for fault in _arrow(module, name))
        elif _called(node) in BY_NAME and (module, function) not in LAZY:
            yield f"{ast.unparse(node)}: an import by name"


def _with_function(node: ast.AST, function: str | None) -> Iterator[tuple[ast.AST, str | None]]:
    """Every node below ``node`` with the name of the function, or class, around it."""
    for child in ast.iter_child_nodes(node):
        yield child, function
        if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            yield from _with_function(child, child.name)
        else:
            yield from _with_function(child, function)


def _imported(node: ast.Import | ast.ImportFrom) -> list[str]:
    """Full names of the modules that an import may load: ``from ctxarc import errors`` is ``ctxarc.errors``."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if node.module == "ctxarc":
        return [f"ctxarc.{alias.name}" for alias in node.names if alias.name != "__version__"]
    return [node.module or ""]


def _arrow(module: str, imported: str) -> Iterator[str]:
    layer, top = layer_of(module), imported.partition(".")[0]
    if top in FOREIGN.get(layer, ()):
        yield f"{layer} imports {top}"
    if top == "ctxarc":
        other = layer_of(imported)
        opens = (module, other) in OPENS
        if other not in BELOW[layer] and not opens and (other != layer or layer == "base"):
            yield f"{layer} imports {imported}, of {other}"


def _deeds(tree: ast.Module) -> Iterator[str]:
    forbidden = {"print", "input", "exit", "quit", "sys.exit", "os._exit", "os.getenv", "os.putenv"}
    for node in ast.walk(tree):
        if _called(node) in forbidden:
            yield f"line {getattr(node, 'lineno', 0)}: calls {_called(node)}"
        elif isinstance(node, ast.Attribute) and ast.unparse(node) in {
            "os.environ",
            "sys.stdout",
            "sys.stderr",
            "sys.stdin",
        }:
            yield f"line {node.lineno}: uses {ast.unparse(node)}"
        elif isinstance(node, ast.Name) and node.id == "SystemExit":
            yield f"line {node.lineno}: uses SystemExit"


def _called(node: ast.AST) -> str | None:
    return ast.unparse(node.func) if isinstance(node, ast.Call) else None


def modules() -> list[tuple[str, Path]]:
    """Every module of the package: its dotted name and its file."""
    found = []
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
        found.append((".".join(parts[:-1] if parts[-1] == "__init__" else parts), path))
    return found


@pytest.mark.parametrize(("module", "path"), modules(), ids=lambda value: value if isinstance(value, str) else "")
def test_a_module_keeps_to_its_layer(module: str, path: Path) -> None:
    assert faults(module, path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("ctxarc.preservation.turns", "from ctxarc.auxiliary import words"),
        ("ctxarc.preservation.turns", "import numpy"),
        ("ctxarc.preservation.turns", "from numpy import array"),
        ("ctxarc.preservation.turns", "import ctxarc.operations.cat"),
        ("ctxarc.preservation.turns", "from ctxarc import operations"),
        ("ctxarc.preservation.turns", "if TYPE_CHECKING:\n    from ctxarc.cli.output import Output"),
        ("ctxarc.auxiliary.words", "from ctxarc.operations.cat import cat"),
        ("ctxarc.operations.cat", "from ctxarc.cli.output import Output"),
        ("ctxarc.operations.cat", "import rich.console"),
        ("ctxarc.operations.cat", "print('done')"),
        ("ctxarc.operations.cat", "sys.exit(1)"),
        ("ctxarc.operations.cat", "raise SystemExit(1)"),
        ("ctxarc.operations.cat", "home = os.environ['HOME']"),
        ("ctxarc.operations.cat", "from .names import check_name"),
        ("ctxarc.operations.cat", "def cat():\n    from ctxarc.preservation import turns"),
        ("ctxarc.operations.cat", "def cat():\n    return importlib.import_module('click')"),
        ("ctxarc.mcp.server", "from ctxarc.cli.output import Output"),
        ("ctxarc.mcp.server", "def serve():\n    from ctxarc.operations.cat import cat"),
        ("ctxarc.cli.ls", "from ctxarc.mcp.server import serve"),
        ("ctxarc.cli.ls", "def command():\n    import rich"),
        ("ctxarc.model", "from ctxarc.errors import Refusal"),
        ("ctxarc.errors", "from ctxarc.preservation import turns"),
        ("ctxarc", "from ctxarc.cli import main"),
        ("ctxarc.operations.embed", "from ctxarc.local.models import load_model"),
        ("ctxarc.cli.embed", "from ctxarc import local"),
        ("ctxarc.local.__main__", "from ctxarc.operations.export import export"),
        ("ctxarc.local.models", "print(1)"),
    ],
)
def test_a_breach_is_found(module: str, source: str) -> None:
    assert len(faults(module, source)) == 1


@pytest.mark.parametrize(
    ("module", "source"),
    [
        (
            "ctxarc.cli.ls",
            "import click\nfrom ctxarc import __version__\nfrom ctxarc.operations.ls import ls\nprint(1)",
        ),
        ("ctxarc.cli.mcp", "from ctxarc.mcp.server import serve"),
        ("ctxarc.mcp.__main__", "from ctxarc.cli.main import main"),
        ("ctxarc.mcp.server", "def _load():\n    return importlib.import_module('ctxarc.mcp.session')"),
        ("ctxarc.cli.main", "class Group:\n    def get_command(self):\n        importlib.import_module('x')"),
        ("ctxarc.operations.cat", "from ctxarc.operations.names import check_name\nfrom ctxarc.errors import Refusal"),
        ("ctxarc.auxiliary.vectors", "try:\n    import numpy\nexcept ImportError:\n    numpy = None"),
        ("ctxarc", "def __getattr__(name):\n    from ctxarc.operations import library"),
    ],
)
def test_what_is_allowed_is_no_breach(module: str, source: str) -> None:
    assert faults(module, source) == []
