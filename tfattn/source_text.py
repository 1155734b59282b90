"""A module read from its text, without running it: to import one that uses TensorFlow or Keras takes seconds.

Only what the text alone says for certain is answered. All else raises Unread: then the module has to be imported.
"""

import ast
import contextlib
import functools
import importlib
import importlib.util
import re
import sys
import textwrap
import typing
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.machinery import ModuleSpec, PathFinder
from typing import Any

# What annotations are made of, and is quick to import.
LIGHT = {*sys.stdlib_module_names, "annotated_types", "pydantic", "typing_extensions"}
LIGHT |= {"tfattn.catalog", "tfattn.config.relations", "tfattn.config.types"}


class Unread(Exception):
    """The text does not say what something is."""


@dataclass(frozen=True)
class Imported:
    """What an import statement binds a name to.

    Attributes:
        module: where it comes from.
        name: what it is called there; "" for the module itself.
    """

    module: str
    name: str

    @property
    def is_light(self) -> bool:
        """Whether it is quick to import."""
        return self.module in LIGHT or self.module.partition(".")[0] in LIGHT

    def value(self) -> Any:
        """Import it."""
        found = importlib.import_module(self.module)
        return getattr(found, self.name) if self.name else found


@dataclass(frozen=True)
class Definition:
    """A class or function as it stands in the text of a module."""

    module: "Module"
    node: ast.ClassDef | ast.FunctionDef

    @property
    def path(self) -> str:
        """`module:Name`, as the catalog has it."""
        return f"{self.module.name}:{self.node.name}"


class Module:
    """The names at the top of a module.

    Args:
        spec: where it is.

    Raises:
        Unread: it has no text, or its text is not Python.
    """

    def __init__(self, spec: ModuleSpec):
        self.name = spec.name
        self._package = spec.name if spec.submodule_search_locations is not None else spec.name.rpartition(".")[0]
        with readable(spec.name):
            self._bound = self.bound(ast.parse(spec.loader.get_source(spec.name)).body)

    def bound(self, statements: list[ast.stmt]) -> dict[str, Any]:
        """Collect the names that statements of the module bind: those at its top, or in the body of a class.

        Returns:
            of each name, what binds it: Imported, a definition or an expression; None where only running would tell,
            as where it is bound twice.
        """
        found: dict[str, Any] = {}
        for name, bound in (pair for statement in statements for pair in _names(statement, self._package)):
            found[name] = bound if found.get(name, bound) == bound else None
        return found

    def binding(self, name: str) -> Imported | Definition | ast.expr:
        """Say what a name is bound to: by an import, a definition, or the expression that is assigned.

        Raises:
            KeyError: the module does not bind it.
            Unread: only running the module would tell, such as where it is bound under a condition.
        """
        bound = self._bound[name]
        if bound is None:
            raise Unread(f"{self.name}.{name}")
        return Definition(self, bound) if isinstance(bound, (ast.ClassDef, ast.FunctionDef)) else bound

    def definition(self, name: str) -> Definition:
        """Find the class or function of a name, wherever it is imported from.

        Raises:
            Unread: it is none, or it is not found.
        """
        bound = self.binding(name) if name in self._bound else None
        if isinstance(bound, Imported) and bound.name:
            return module(bound.module).definition(bound.name)
        if not isinstance(bound, Definition):
            raise Unread(f"{self.name}.{name}")
        return bound

    def value(self, expression: ast.expr) -> Any:
        """Evaluate an expression.

        Raises:
            Unread: it uses what only an import would tell.
        """
        code = compile(ast.Expression(expression), self.name, "eval")
        with readable(self.name):
            return eval(code, {}, _Scope(self, lenient=False))

    def hint(self, annotation: ast.expr) -> Any:
        """Evaluate an annotation, with `Elsewhere` in place of all that only an import would tell.

        Raises:
            Unread: it cannot be evaluated.
        """
        annotated = type("Annotated", (), {"__annotations__": {"it": ast.unparse(annotation)}})  # may be a ClassVar
        with readable(self.name):
            return typing.get_type_hints(annotated, {}, _Scope(self, lenient=True), include_extras=True)["it"]

    def named(self, name: str) -> Any:
        """Say what a name stands for.

        Raises:
            KeyError: the module does not bind it.
            Unread: only an import would tell.
        """
        bound = self.binding(name)
        if isinstance(bound, ast.expr):
            return self.value(bound)
        if isinstance(bound, Imported) and bound.is_light:
            with readable(self.name):
                return bound.value()
        if isinstance(bound, Imported) and bound.name:
            with contextlib.suppress(KeyError):
                return module(bound.module).named(bound.name)
        raise Unread(f"{self.name}.{name}")


def module(name: str) -> Module:
    """Find and read a module.

    Raises:
        Unread: it is not found, has no text, or its text is not Python.
    """
    return _module(name, tuple(sys.path))


@functools.cache
def _module(name: str, path: tuple[str, ...]) -> Module:
    """Do the same, kept for the folders in which it was looked for."""
    package, *parts = name.split(".")
    with readable(name):
        spec = importlib.util.find_spec(package)  # finds what is in no package without running anything
        for part in parts:
            spec = PathFinder.find_spec(f"{spec.name}.{part}", spec.submodule_search_locations)
        return Module(spec)


def argument_helps(doc: str) -> dict[str, str]:
    """Collect the explanations under `Args:` of a docstring, each as one line."""
    section = re.search(r"^Args:\n((?:[ \t]+.*\n?|\n)+)", doc, flags=re.MULTILINE)
    if not section:
        return {}
    entries = re.split(r"^(?=\w[\w, ]*:)", textwrap.dedent(section.group(1)), flags=re.MULTILINE)
    helps = {}
    for names, colon, text in (entry.partition(":") for entry in entries):
        for name in names.split(",") if colon else ():
            helps[name.strip()] = " ".join(text.split())
    return helps


@contextlib.contextmanager
def readable(what: str) -> Iterator[None]:
    """Leave whatever goes wrong in the block to an import, which says what is wrong if that fails too.

    Raises:
        Unread: of `what`.
    """
    try:
        yield
    except Exception as error:
        raise Unread(what) from error


class _AnyName(type):
    def __getattr__(cls, name: str) -> type:
        if name.startswith("__"):  # what Python and pydantic ask of every class
            raise AttributeError(name)
        return cls

    def __getitem__(cls, item: Any) -> type:
        return cls


class Elsewhere(metaclass=_AnyName):
    """Stands in an annotation for what only an import would tell, such as a class."""


class _Scope(dict):
    """The names of a module as `eval` looks them up; a KeyError sends it on to Python's own."""

    def __init__(self, names: Module, *, lenient: bool):
        super().__init__()
        self._names, self._lenient = names, lenient

    def __missing__(self, name: str) -> Any:
        try:
            return self._names.named(name)
        except Unread:
            if not self._lenient:
                raise
            return Elsewhere


def _names(statement: ast.stmt, package: str) -> Iterator[tuple[str, Any]]:
    """List the names that a statement binds, with what it binds them to; None where only running it would tell."""
    match statement:
        case ast.Import(names=aliases):
            for alias in aliases:
                first = alias.name.partition(".")[0]
                yield alias.asname or first, Imported(alias.name if alias.asname else first, "")
        case ast.ImportFrom(module=source, names=aliases, level=level):
            origin = importlib.util.resolve_name("." * level + (source or ""), package)
            for alias in aliases:
                yield alias.asname or alias.name, Imported(origin, alias.name)
        case (
            ast.Assign(targets=[ast.Name(id=name)], value=value) | ast.AnnAssign(target=ast.Name(id=name), value=value)
        ):
            yield name, value
        case ast.ClassDef(name=name) | ast.FunctionDef(name=name):
            yield name, statement
        case _:
            for inner in ast.walk(statement):
                if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store):
                    yield inner.id, None
                elif isinstance(inner, ast.alias):
                    yield (inner.asname or inner.name).partition(".")[0], None
                elif isinstance(inner, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
                    yield inner.name, None
