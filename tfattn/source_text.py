"""Static analysis of modules: reads names and signatures from source text, without importing the module.

Importing a module that uses TensorFlow or Keras takes seconds. Names whose value the text alone does not determine
raise UnresolvedError; then the module has to be imported.
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

# Modules that are used in annotations and fast to import.
CHEAP_IMPORTS = {*sys.stdlib_module_names, "annotated_types", "pydantic", "typing_extensions"}
CHEAP_IMPORTS |= {"tfattn.catalog", "tfattn.config.relations", "tfattn.config.types", "tfattn.ops.rotary_rates"}


class UnresolvedError(Exception):
    """The text of a module does not determine a value."""


@dataclass(frozen=True)
class Imported:
    """A name that is bound by an import statement.

    Attributes:
        module: the module of the import.
        name: the name in that module; "" for the module itself.
    """

    module: str
    name: str

    @property
    def is_cheap(self) -> bool:
        """Whether the module is fast to import."""
        return self.module in CHEAP_IMPORTS or self.module.partition(".")[0] in CHEAP_IMPORTS

    def value(self) -> Any:
        """Import the module, and return the module or its attribute."""
        found = importlib.import_module(self.module)
        return getattr(found, self.name) if self.name else found


@dataclass(frozen=True)
class Definition:
    """The definition of a class or function in the text of a module."""

    module: "Module"
    node: ast.ClassDef | ast.FunctionDef

    @property
    def path(self) -> str:
        """The target `module:Name`, as in the catalog."""
        return f"{self.module.name}:{self.node.name}"


class Module:
    """The top-level names of a module.

    Args:
        spec: the module's spec.

    Raises:
        UnresolvedError: the module has no source text, or the text is not valid Python.
    """

    def __init__(self, spec: ModuleSpec):
        self.name = spec.name
        self._package = spec.name if spec.submodule_search_locations is not None else spec.name.rpartition(".")[0]
        with unresolved_on_error(spec.name):
            self._bound = self.bindings(ast.parse(spec.loader.get_source(spec.name)).body)

    def bindings(self, statements: list[ast.stmt]) -> dict[str, Any]:
        """Collect the names that statements bind, at the top level or in the body of a class.

        Returns:
            the binding of each name: Imported, a definition or an expression; None if it is not determined, such as for
            a name that is bound twice.
        """
        found: dict[str, Any] = {}
        for name, bound in (pair for statement in statements for pair in _names(statement, self._package)):
            found[name] = bound if found.get(name, bound) == bound else None
        return found

    def binding(self, name: str) -> Imported | Definition | ast.expr:
        """Return the binding of a name: an import, a definition, or the assigned expression.

        Raises:
            KeyError: the module does not bind the name.
            UnresolvedError: the binding is not determined, such as under a condition.
        """
        bound = self._bound[name]
        if bound is None:
            raise UnresolvedError(f"{self.name}.{name}")
        return Definition(self, bound) if isinstance(bound, (ast.ClassDef, ast.FunctionDef)) else bound

    def definition(self, name: str) -> Definition:
        """Return the class or function of a name, following imports.

        Raises:
            UnresolvedError: the name is not a class or function, or is not found.
        """
        bound = self.binding(name) if name in self._bound else None
        if isinstance(bound, Imported) and bound.name:
            return module(bound.module).definition(bound.name)
        if not isinstance(bound, Definition):
            raise UnresolvedError(f"{self.name}.{name}")
        return bound

    def value(self, expression: ast.expr) -> Any:
        """Evaluate an expression.

        Raises:
            UnresolvedError: the expression depends on names that are not determined.
        """
        code = compile(ast.Expression(expression), self.name, "eval")
        with unresolved_on_error(self.name):
            return eval(code, {}, _Scope(self, lenient=False))

    def hint(self, annotation: ast.expr) -> Any:
        """Evaluate an annotation, with `UnresolvedType` for all names that are not determined.

        Raises:
            UnresolvedError: the annotation cannot be evaluated.
        """
        annotated = type("Annotated", (), {"__annotations__": {"it": ast.unparse(annotation)}})  # may be a ClassVar
        with unresolved_on_error(self.name):
            return typing.get_type_hints(annotated, {}, _Scope(self, lenient=True), include_extras=True)["it"]

    def lookup(self, name: str) -> Any:
        """Return the value of a name.

        Raises:
            KeyError: the module does not bind the name.
            UnresolvedError: the value is not determined without an import.
        """
        bound = self.binding(name)
        if isinstance(bound, ast.expr):
            return self.value(bound)
        if isinstance(bound, Imported) and bound.is_cheap:
            with unresolved_on_error(self.name):
                return bound.value()
        if isinstance(bound, Imported) and bound.name:
            with contextlib.suppress(KeyError):
                return module(bound.module).lookup(bound.name)
        raise UnresolvedError(f"{self.name}.{name}")


def module(name: str) -> Module:
    """Find and read a module.

    Raises:
        UnresolvedError: the module is not found, has no source text, or the text is not valid Python.
    """
    return _module(name, tuple(sys.path))


@functools.cache
def _module(name: str, path: tuple[str, ...]) -> Module:
    """Return the same, cached by the module search path."""
    package, *parts = name.split(".")
    with unresolved_on_error(name):
        spec = importlib.util.find_spec(package)  # does not run a top-level module
        for part in parts:
            spec = PathFinder.find_spec(f"{spec.name}.{part}", spec.submodule_search_locations)
        return Module(spec)


def parse_argument_docs(doc: str) -> dict[str, str]:
    """Return the explanations under `Args:` of a docstring by argument, each as a single line."""
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
def unresolved_on_error(what: str) -> Iterator[None]:
    """Convert any exception in the block into UnresolvedError; the import that follows reports the actual error.

    Raises:
        UnresolvedError: about `what`.
    """
    try:
        yield
    except Exception as error:
        raise UnresolvedError(what) from error


class _AnyName(type):
    def __getattr__(cls, name: str) -> type:
        if name.startswith("__"):  # special attributes, which Python and pydantic look up in every class
            raise AttributeError(name)
        return cls

    def __getitem__(cls, item: Any) -> type:
        return cls


class UnresolvedType(metaclass=_AnyName):
    """A placeholder in annotations for names that are not determined, such as classes."""


class _Scope(dict):
    """The scope of `eval`: the names of a module; after a KeyError, `eval` looks up builtins."""

    def __init__(self, names: Module, *, lenient: bool):
        super().__init__()
        self._names, self._lenient = names, lenient

    def __missing__(self, name: str) -> Any:
        try:
            return self._names.lookup(name)
        except UnresolvedError:
            if not self._lenient:
                raise
            return UnresolvedType


def _names(statement: ast.stmt, package: str) -> Iterator[tuple[str, Any]]:
    """List the names that a statement binds with their bindings; None for bindings that are not determined."""
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
