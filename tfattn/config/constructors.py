"""What a section is built from: a class or function, whose keyword arguments are the keys.

The signature is the schema. It is read from the text of the module, which takes milliseconds, and only where the text
does not say it for certain, such as for a class that a function makes, from the class itself, which is imported.
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
from tfattn.config.arguments import REQUIRED, Argument, argument
from tfattn.config.definitions import ancestry, parameters
from tfattn.config.relations import Relation
from tfattn.errors import ConfigError
from tfattn.source_text import Definition, Unread, argument_helps, module, readable


@dataclass(frozen=True)
class Constructor:
    """A class or function by its signature.

    Attributes:
        path: module and name, for messages.
        arguments: its keyword-only arguments by their names, in order.
        positional: the names of its other arguments, which no key can give.
    """

    path: str
    arguments: dict[str, Argument]
    positional: tuple[str, ...] = ()

    @property
    def relations(self) -> dict[str, tuple[Relation, ...]]:
        """How its arguments go together, by the one that says so."""
        return {name: argument.relations for name, argument in self.arguments.items()}

    def check(self) -> None:
        """Refuse what no section can be built from, such as a class of a user's own.

        Raises:
            ConfigError: it has arguments that no key can give.
        """
        unwritable = [
            argument.name
            for argument in self.arguments.values()
            if not (argument.given or argument.in_file) and argument.default is REQUIRED
        ]
        if self.positional or unwritable:
            raise ConfigError(
                f"no key can give some arguments of {self.path}",
                expected="keyword arguments, after a `*`" if self.positional else "types that YAML has, or defaults",
                received=", ".join(self.positional or unwritable),
            )


def constructor(kind: str, name: str) -> Constructor:
    """Read what a name of a catalog stands for; it is imported only where its text does not say enough.

    Args:
        kind: the catalog; "sections" for the parts that are always of the same class.
        name: the entry.

    Raises:
        ConfigError: the catalog holds no such name; or it has to be imported and cannot be, or is not what the catalog
            is of, or names types that do not exist.
    """
    return _constructor(kind, name, registry.target(kind, name), tuple(sys.path))


@functools.cache
def _constructor(kind: str, name: str, target: str, path: tuple[str, ...]) -> Constructor:
    """Do the same, kept for the folders in which modules were looked for."""
    try:
        return read(target, contract=catalog.CONTRACTS.get(kind, ""))
    except Unread:
        return inspected(registry.find(kind, name))


def summary(kind: str, name: str) -> str:
    """Return the first line of the docstring of what a name of a catalog stands for.

    Raises:
        ConfigError: as `constructor`.
    """
    where, _, attribute = registry.target(kind, name).partition(":")
    try:
        with readable(attribute):
            doc = ast.get_docstring(module(where).definition(attribute).node)
    except Unread:
        doc = inspect.getdoc(registry.find(kind, name))
    return (doc or "").partition("\n")[0]


def inspected(found: Callable) -> Constructor:
    """Read the signature of a class or function that has been imported.

    Raises:
        ConfigError: a type is named that does not exist.
    """
    called, hints = _called(found), _hints(found)
    fields = dataclasses.fields(found) if dataclasses.is_dataclass(found) else ()
    made = {field.name: field.default_factory() for field in fields if callable(field.default_factory)}
    taken = list(inspect.signature(called).parameters.values())[inspect.isclass(found) :]
    known = [one.replace(annotation=hints.get(one.name, Any), default=made.get(one.name, one.default)) for one in taken]
    docs = [one.__doc__ for one in inspect.getmro(found)] if inspect.isclass(found) else [found.__doc__]
    return _assembled(_path(found), docs, known)


def read(target: str, contract: str = "") -> Constructor:
    """Read the signature of a class or function from the text of its module.

    Args:
        target: `module:Class`.
        contract: what the class has to inherit from, likewise; "" for anything.

    Raises:
        Unread: the text alone does not say it for certain, nor that it inherits from that.
    """
    name, _, attribute = target.partition(":")
    with readable(target):
        definition = module(name).definition(attribute)
        line = list(ancestry(definition)) if isinstance(definition.node, ast.ClassDef) else [definition]
        docs = [ast.get_docstring(ancestor.node) for ancestor in line if isinstance(ancestor, Definition)]
        found = _assembled(definition.path.replace(":", "."), docs, parameters(line))
    if contract and contract not in (getattr(ancestor, "path", ancestor) for ancestor in line):
        raise Unread(target)
    for stated in found.arguments.values():
        if not stated.in_file and (stated.given is None or stated.given.may_be_stated):
            raise Unread(target)  # of a type that is no plain value, or is made elsewhere
    return found


def _assembled(path: str, docs: Sequence[str | None], taken: list[Parameter]) -> Constructor:
    """Put a constructor together; an argument is explained by the first of the docstrings, from class to base."""
    helps = dict(ChainMap(*(argument_helps(inspect.cleandoc(doc)) for doc in docs if doc)))
    return Constructor(
        path,
        {
            one.name: argument(one.name, one.annotation, one.default, helps.get(one.name, ""))
            for one in taken
            if one.kind is one.KEYWORD_ONLY
        },
        tuple(one.name for one in taken if one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD)),
    )


def contract_of(found: Callable, name: str) -> Any:
    """Return the type of an argument of a class or function that has been imported, without marks.

    Raises:
        ConfigError: a type is named that does not exist.
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
