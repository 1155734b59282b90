"""A checked configuration to objects: name and keyword arguments in, what they name out."""

import contextlib
import types
import typing
from collections.abc import Iterator
from typing import Any

from tfattn import registry
from tfattn.config.arguments import REQUIRED
from tfattn.config.constructors import constructor, contract_of
from tfattn.config.read import KeyPath
from tfattn.config.relations import broken
from tfattn.config.schema import Config
from tfattn.config.types import Mark, PartsMark, SectionMark
from tfattn.errors import ConfigError


def build(config: Config, *path: str, **given: Any) -> Any:
    """Build the section at a key path, the sections inside it first.

    Args:
        config: a checked configuration.
        path: the keys that lead to the section, such as "data", "source"; none for the whole.
        given: what only the program knows (arguments marked Given). A value in the file must agree with it.

    Raises:
        ConfigError: values do not go together, or a constructor refuses them; says where the one that is named stands.
    """
    mark: Any = SectionMark(config.section)
    for depth, key in enumerate(path):
        mark = constructor(*mark.entry(config.at(*path[:depth]), config.values)).arguments[key].nested
    return _build(config, mark, path, given)


@contextlib.contextmanager
def located(config: Config, *path: str) -> Iterator[None]:
    """Say where the key stands that a ConfigError names, as seen from the section at a key path."""
    try:
        yield
    except ConfigError as error:
        if error.key and not error.where:
            inner = (*path, *error.key.split("."))
            error.where = f"{_origin(config, inner)}: {'.'.join(inner)}"
        raise


def _build(config: Config, mark: Mark, path: KeyPath, given: dict[str, Any]) -> Any:
    values = config.at(*path)
    if isinstance(mark, PartsMark):
        return {name: _build(config, mark.each, (*path, name), {}) for name in values}
    entry = mark.entry(values, config.values)
    found, signature = registry.find(*entry), constructor(*entry)
    keywords: dict[str, Any] = {}
    for name, argument in signature.arguments.items():
        if name in values:
            nested = argument.nested is not None and values[name] is not None
            keywords[name] = _build(config, argument.nested, (*path, name), {}) if nested else values[name]
        if argument.given and name not in given and name not in values and argument.default is REQUIRED:
            raise ConfigError(
                f"nothing tells its `{name}`",
                where=f"{_origin(config, path)}: {'.'.join(path)}",
                expected=f"something else than {entry[1]}, or other data",
                remedy="Texts and tables are for different models: see `data.preprocessing`.",
            )
        if argument.given and name in given:
            if not argument.given.may_be_stated:
                _fits(config, (*path, name), contract_of(found, name), given[name])
            _agree(config, (*path, name), keywords.get(name, given[name]), given[name])
            keywords[name] = given[name]
    with located(config, *path):
        for problem in broken(signature.relations, values | given):
            raise problem
        return found(**keywords)


def _fits(config: Config, path: KeyPath, contract: Any, given: Any) -> None:
    """Refuse what another section makes where it is of the wrong kind, or lacks what is asked of that kind."""
    where = f"{_origin(config, path)}: {'.'.join(path)}"
    contracts = typing.get_args(contract) if isinstance(contract, types.UnionType) else (contract,)
    if not all(isinstance(one, type) for one in contracts):
        return
    contract = next((one for one in contracts if isinstance(given, one)), None)
    if contract is None:
        raise ConfigError(
            f"the {path[-1]} does not fit",
            where=where,
            expected=" or ".join(one.__name__ for one in contracts),
            received=type(given).__name__,
            remedy="Texts and tables are for different models and tasks: see `data.preprocessing`.",
        )
    lacking = _lacking(given, contract)
    if lacking:
        raise ConfigError(
            f"the {path[-1]} does not keep its contract",
            where=where,
            expected=f"all that {contract.__module__}.{contract.__name__} asks for",
            received=f"{type(given).__name__} without {', '.join(lacking)}",
        )


def _lacking(given: Any, contract: type) -> list[str]:
    """List the attributes that a contract declares, and the methods it leaves abstract, that an object lacks."""
    # A contract may widen another one, which stands beside it.
    contracts = [base for base in contract.__mro__ if base.__module__ == contract.__module__]
    declared = [name for base in contracts for name in vars(base).get("__annotations__", ())]
    attributes = [f"`{name}`" for name in declared if not hasattr(given, name)]
    methods = [
        name for name in vars(contract) if getattr(getattr(type(given), name, None), "__isabstractmethod__", False)
    ]
    return [*attributes, *(f"`{name}()`" for name in methods)]


def _agree(config: Config, path: KeyPath, stated: Any, known: Any) -> None:
    if stated != known:
        raise ConfigError(
            "does not match the data",
            where=f"{_origin(config, path)}: {'.'.join(path)}",
            expected=repr(known),
            received=repr(stated),
            remedy="Leave the key out, or change what it has to match.",
        )


def _origin(config: Config, path: KeyPath) -> str:
    while path and path not in config.origins:
        path = path[:-1]
    return config.origins.get(path, "")
