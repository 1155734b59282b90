"""Signatures of the classes and functions that sections are built from: keyword arguments are the keys.

The signature is the schema. It is parsed from the source text of the module, which takes milliseconds. Only if the text
is not sufficient, such as for a class that a function returns, the module is imported and the class is inspected.
"""

import ast
import dataclasses
import functools
import inspect
import sys
import typing
from collections import ChainMap
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from inspect import Parameter
from typing import Annotated, Any

from tfattn import catalog, registry
from tfattn.config.arguments import REQUIRED, Argument, parse_argument
from tfattn.config.definitions import ancestry, parse_parameters
from tfattn.config.relations import Relation
from tfattn.errors import ConfigError
from tfattn.source_text import Definition, UnresolvedError, module, parse_argument_docs, unresolved_on_error


@dataclass(frozen=True)
class Constructor:
    """The signature of a class or function.

    Attributes:
        path: module and name, for messages.
        arguments: the keyword-only arguments by name, in order.
        positional: the names of all other arguments, which no key can set.
    """

    path: str
    arguments: dict[str, Argument]
    positional: tuple[str, ...] = ()

    @property
    def relations(self) -> dict[str, tuple[Relation, ...]]:
        """The relations between arguments, by the argument that declares them."""
        return {name: argument.relations for name, argument in self.arguments.items()}

    def check(self) -> None:
        """Check that a section can set all required arguments; a user's own class may have others.

        Raises:
            ConfigError: some required arguments cannot be set by keys.
        """
        unwritable = [
            argument.name
            for argument in self.arguments.values()
            if not (argument.given or argument.in_file) and argument.default is REQUIRED
        ]
        if self.positional or unwritable:
            raise ConfigError(
                f"no key can set some arguments of {self.path}",
                expected="keyword arguments, after a `*`" if self.positional else "types that YAML has, or defaults",
                received=", ".join(self.positional or unwritable),
            )


def constructor(kind: str, name: str) -> Constructor:
    """Return the signature of a catalog entry; the class is imported only if its source text is not sufficient.

    Args:
        kind: the catalog; "sections" for parts that are always of the same class.
        name: the entry.

    Raises:
        ConfigError: the catalog has no such name; or the class cannot be imported, does not inherit from the contract
            of the catalog, or names types that do not exist.
    """
    return _constructor(kind, name, registry.target(kind, name), tuple(sys.path))


@functools.cache
def _constructor(kind: str, name: str, target: str, path: tuple[str, ...]) -> Constructor:
    """Return the same, cached by the module search path."""
    try:
        return parse_constructor(target, contract=catalog.CONTRACTS.get(kind, ""))
    except UnresolvedError:
        return inspect_constructor(registry.find(kind, name))


def summary(kind: str, name: str) -> str:
    """Return the first line of the docstring of a catalog entry.

    Raises:
        ConfigError: as `constructor`.
    """
    where, _, attribute = registry.target(kind, name).partition(":")
    try:
        with unresolved_on_error(attribute):
            doc = ast.get_docstring(module(where).definition(attribute).node)
    except UnresolvedError:
        doc = inspect.getdoc(registry.find(kind, name))
    return (doc or "").partition("\n")[0]


def inspect_constructor(found: Callable) -> Constructor:
    """Return the signature of an imported class or function.

    Raises:
        ConfigError: an annotation names a type that does not exist.
    """
    called, hints = _called(found), _hints(found)
    fields = dataclasses.fields(found) if dataclasses.is_dataclass(found) else ()
    defaults = {field.name: field.default_factory() for field in fields if callable(field.default_factory)}
    parameters = [
        parameter.replace(
            annotation=hints.get(parameter.name, Any), default=defaults.get(parameter.name, parameter.default)
        )
        for parameter in list(inspect.signature(called).parameters.values())[inspect.isclass(found) :]
    ]
    docs = [base.__doc__ for base in inspect.getmro(found)] if inspect.isclass(found) else [found.__doc__]
    return _make_constructor(_path(found), docs, parameters)


def parse_constructor(target: str, contract: str = "") -> Constructor:
    """Parse the signature of a class or function from the source text of its module.

    Args:
        target: `module:Class`.
        contract: the required base class as `module:Class`; "" for none.

    Raises:
        UnresolvedError: the text alone does not determine the signature and the base classes.
    """
    name, _, attribute = target.partition(":")
    with unresolved_on_error(target):
        definition = module(name).definition(attribute)
        ancestors = list(ancestry(definition)) if isinstance(definition.node, ast.ClassDef) else [definition]
        docs = [ast.get_docstring(ancestor.node) for ancestor in ancestors if isinstance(ancestor, Definition)]
        found = _make_constructor(definition.path.replace(":", "."), docs, parse_parameters(ancestors))
    if contract and contract not in (getattr(ancestor, "path", ancestor) for ancestor in ancestors):
        raise UnresolvedError(target)
    for argument in found.arguments.values():
        if not argument.in_file and (argument.given is None or argument.given.may_be_stated):
            raise UnresolvedError(target)  # the type is not a plain value, or is defined in another module
    return found


def _make_constructor(path: str, docs: Sequence[str | None], parameters: list[Parameter]) -> Constructor:
    """Make a Constructor; the first docstring that explains an argument counts, from class to base."""
    helps = dict(ChainMap(*(parse_argument_docs(inspect.cleandoc(doc)) for doc in docs if doc)))
    return Constructor(
        path,
        {
            parameter.name: parse_argument(
                parameter.name, parameter.annotation, parameter.default, helps.get(parameter.name, "")
            )
            for parameter in parameters
            if parameter.kind is Parameter.KEYWORD_ONLY
        },
        tuple(
            parameter.name
            for parameter in parameters
            if parameter.kind in (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
        ),
    )


def contract_of(found: Callable, name: str) -> Any:
    """Return the type of an argument of an imported class or function, without marks.

    Raises:
        ConfigError: an annotation names a type that does not exist.
    """
    marked = _hints(found).get(name)
    return typing.get_args(marked)[0] if typing.get_origin(marked) is Annotated else marked


def _hints(found: Callable) -> dict[str, Any]:
    try:
        return typing.get_type_hints(_called(found), include_extras=True)
    except (NameError, AttributeError, TypeError, SyntaxError) as error:
        raise ConfigError(f"the types of the arguments of {_path(found)} cannot be read ({error})") from error


def _called(found: Callable) -> Callable:
    return found.__init__ if inspect.isclass(found) else found


def _path(found: Callable) -> str:
    return f"{found.__module__}.{found.__qualname__}"
