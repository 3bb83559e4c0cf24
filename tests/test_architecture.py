"""The house is itself a DAG: layers, doors and ceilings, proved on the source."""

import ast
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import networkx as nx
import pytest

ROOT = Path(__file__).parents[1]
LAYERS = ("registry", "planner", "orchestrator")
CEILINGS = tomllib.loads((ROOT / "tests" / "ceilings.toml").read_text())

DOORS = {
    "networkx": ("planner", "orchestrator.frontier"),
    "httpx": ("registry.http", "registry.transports"),
    "aiohttp": ("registry.transports",),
    "structlog": ("orchestrator.logs", "orchestrator.wiring"),
    "typer": ("orchestrator.cli",),
    "rich": ("orchestrator.cli",),
    "xllamacpp": ("registry.local",),
    "genai_prices": ("registry.models.prices",),
    "sqlite3": ("orchestrator.journal",),
    "fcntl": ("orchestrator.journal.holders",),
    "fastapi": ("orchestrator.server",),
    "starlette": ("orchestrator.server",),
    "uvicorn": ("orchestrator.server.deadlines", "orchestrator.server.serving"),
    "asyncio": ("orchestrator.server.deadlines",),
    "pickle": (),
    "random": ("orchestrator.ports",),
    "secrets": ("orchestrator.cli.hosting",),
    "time": ("orchestrator.ports",),
}
"""Outside packages that may come in only here."""

BANNED_CALLS = {
    "print": ("orchestrator.cli",),
    "eval": (),
    "exec": (),
    "datetime.now": ("orchestrator.ports",),
    "datetime.utcnow": (),
    "date.today": (),
    "os.environ": ("orchestrator.settings",),
    "os.getenv": ("orchestrator.settings",),
    "yaml.load": (),
    "uuid.uuid4": ("orchestrator.ports",),
    "uuid4": (),
}
"""What only these modules may name."""

BANNED_WORDS = {"manager", "helper", "helpers", "util", "utils", "common", "info", "process", "do"}

FOREIGN_CODE = {"registry.tools.calling", "registry.tools.rendering", "orchestrator.hooks", "orchestrator.server.underway"}
"""The doors that call code that is not ours: only they may catch everything without raising it again."""


TESTED_ELSEWHERE = {
    # Values and protocols: there is nothing to decide in them.
    "orchestrator.cli.options",
    "orchestrator.dialects.dialect",
    "orchestrator.events.facts",
    "orchestrator.events.glimpses",
    "orchestrator.journal.protocol",
    "orchestrator.limits",
    "orchestrator.server.guard.limits",
    "orchestrator.server.routes.asked",
    "orchestrator.server.shapes.coming",
    "orchestrator.server.shapes.examples",
    "orchestrator.server.shapes.going",
    "orchestrator.waiting",
    "orchestrator.walked",
    "planner.repair.entries",
    "planner.results",
    "planner.shapes",
    "registry.calls",
    "registry.messages",
    "registry.models.model",
    # Tables of the journal in SQLite: tests/contracts/journal.py asks for all that they hold.
    "orchestrator.journal.claims",
    "orchestrator.journal.tables",
    # Programs: their tests start them.
    "orchestrator.cli.app",  # tests/orchestrator/cli/test_program.py
    "registry.local.child",  # tests/registry/local/test_serve.py
}


@cache
def modules() -> dict[str, Path]:
    """Every module of the three packages by its dotted name; a package goes by its own name."""
    found = {}
    for layer in LAYERS:
        for path in sorted((ROOT / layer).rglob("*.py")):
            name = ".".join(path.relative_to(ROOT).with_suffix("").parts)
            found[name.removesuffix(".__init__")] = path
    return found


@cache
def tree(name: str) -> ast.Module:
    return ast.parse(modules()[name].read_text())


def inside(name: str, place: str) -> bool:
    return name == place or name.startswith(place + ".")


def named_imports(name: str) -> Iterator[tuple[str, str | None]]:
    """Each import anywhere in the module, lazy and type-checking ones too: what from, and which name of it."""
    for node in ast.walk(tree(name)):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name, None
        elif isinstance(node, ast.ImportFrom) and node.module:
            assert node.level == 0, f"{name} imports relatively"
            for alias in node.names:
                yield node.module, alias.name


def target(module: str, imported: str | None) -> str | None:
    """The module of ours that an import really reaches; re-exports of a package are followed."""
    if module not in modules():
        return None
    if imported and f"{module}.{imported}" in modules():
        return f"{module}.{imported}"
    if imported and modules()[module].name == "__init__.py":
        for source, exported in named_imports(module):
            if exported == imported:
                return target(source, exported)
    return module


def house() -> "nx.DiGraph[str]":
    graph: nx.DiGraph[str] = nx.DiGraph()
    for name, path in modules().items():
        if path.name == "__init__.py":
            continue
        graph.add_node(name)
        for module, imported in named_imports(name):
            reached = target(module, imported)
            if reached and modules()[reached].name != "__init__.py":
                graph.add_edge(name, reached)
    return graph


def functions(name: str) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    yield from (node for node in ast.walk(tree(name)) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


def dotted(node: ast.AST) -> str:
    match node:
        case ast.Attribute(value=value, attr=attr):
            return f"{dotted(value)}.{attr}"
        case ast.Name(id=name):
            return name
        case _:
            return ""


def test_imports_point_down_only() -> None:
    """orchestrator knows planner, planner knows registry, and nobody looks up."""
    wrong = [
        f"{above} -> {below}"
        for above, below in house().edges
        if LAYERS.index(above.split(".")[0]) < LAYERS.index(below.split(".")[0])
    ]
    assert [] == wrong


def test_no_import_cycle() -> None:
    """The graph of modules has no cycle, counting lazy and type-checking imports."""
    assert [] == list(nx.simple_cycles(house()))


def test_every_module_says_what_it_is() -> None:
    """Each module begins with a docstring."""
    assert [] == [name for name in modules() if modules()[name].read_text().strip() and not ast.get_docstring(tree(name))]


@pytest.mark.parametrize("package", sorted(DOORS))
def test_the_outside_comes_in_by_one_door(package: str) -> None:
    """An outside package is imported only where the house says."""
    wrong = [
        name
        for name in modules()
        if any(inside(module, package) for module, _ in named_imports(name))
        and not any(inside(name, door) for door in DOORS[package])
    ]
    assert [] == wrong


@pytest.mark.parametrize("banned", sorted(BANNED_CALLS))
def test_the_world_is_an_argument(banned: str) -> None:
    """Clocks, environment, output and evaluation are named only in the modules that own them."""
    wrong = {
        name
        for name in modules()
        for node in ast.walk(tree(name))
        if isinstance(node, ast.Attribute | ast.Name)
        and inside(dotted(node), banned)
        and not any(inside(name, place) for place in BANNED_CALLS[banned])
    }
    assert set() == wrong


def test_names_say_what_things_are() -> None:
    """No module or class is named after nothing in particular."""
    names = [(name, name.rsplit(".", 1)[-1]) for name in modules()]
    names += [(name, node.name) for name in modules() for node in ast.walk(tree(name)) if isinstance(node, ast.ClassDef)]
    wrong = [f"{name}: {word}" for name, word in names if word.lower().strip("_") in BANNED_WORDS]
    assert [] == wrong


def test_broad_handlers_raise_or_call_foreign_code() -> None:
    """`except Exception` re-raises, or stands at a door to code that is not ours."""
    wrong = [
        f"{name}:{node.lineno}"
        for name in modules()
        for node in ast.walk(tree(name))
        if isinstance(node, ast.ExceptHandler)
        and (node.type is None or dotted(node.type) in ("Exception", "BaseException"))
        and name not in FOREIGN_CODE
        and not any(isinstance(inner, ast.Raise) for inner in ast.walk(node))
    ]
    assert [] == wrong


def test_modules_stay_small() -> None:
    """A module has at most 300 lines, an exception at most 450."""
    allowed = CEILINGS["modules"]
    sizes = {name: len(path.read_text().splitlines()) for name, path in modules().items()}
    assert {} == {name: size for name, size in sizes.items() if size > (450 if name in allowed else 300)}
    assert len(allowed) + len(CEILINGS["functions"]) <= 5


def test_functions_stay_small() -> None:
    """A function has at most 40 lines without its docstring, an exception at most 60."""
    allowed = CEILINGS["functions"]
    wrong = {}
    for name in modules():
        for function in functions(name):
            first = function.body[0]
            documented = (
                isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str)
            )
            doc = (first.end_lineno or 0) - first.lineno + 1 if documented else 0
            size = (function.end_lineno or 0) - function.lineno + 1 - doc
            if size > (60 if f"{name}.{function.name}" in allowed else 40):
                wrong[f"{name}.{function.name}"] = size
    assert {} == wrong


def test_functions_take_few_positional_arguments() -> None:
    """At most five arguments can be given by position, `self` not counted."""
    wrong = {}
    for name in modules():
        for function in functions(name):
            given = [arg.arg for arg in function.args.posonlyargs + function.args.args if arg.arg not in ("self", "cls")]
            if len(given) > 5:
                wrong[f"{name}.{function.name}"] = given
    assert {} == wrong


def test_functions_stay_simple() -> None:
    """The cyclomatic complexity of a function is at most 8."""
    branches = (ast.If, ast.For, ast.AsyncFor, ast.While, ast.ExceptHandler, ast.match_case)
    wrong = {}
    for name in modules():
        for function in functions(name):
            nested = {
                inner for node in ast.walk(function) if node is not function and is_function(node) for inner in ast.walk(node)
            }
            complexity = 1 + sum(isinstance(node, branches) for node in ast.walk(function) if node not in nested)
            if complexity > 8:
                wrong[f"{name}.{function.name}"] = complexity
    assert {} == wrong


def is_function(node: ast.AST) -> bool:
    return isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)


def test_tests_mirror_the_house() -> None:
    """Each module that decides anything has a test module in the same place."""
    wrong = [
        name
        for name, path in modules().items()
        if path.name not in ("__init__.py", "__main__.py")
        and name not in TESTED_ELSEWHERE
        and not (ROOT / "tests" / path.relative_to(ROOT).with_name(f"test_{path.name}")).exists()
    ]
    assert [] == wrong


def test_every_test_states_a_behaviour() -> None:
    """Each test function has a docstring."""
    wrong = [
        f"{path.relative_to(ROOT)}:{node.lineno} {node.name}"
        for path in sorted((ROOT / "tests").rglob("test_*.py"))
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and node.name.startswith("test_")
        and not ast.get_docstring(node)
    ]
    assert [] == wrong
