"""Builds objects from a checked configuration."""

import contextlib
import types
import typing
from collections.abc import Iterator
from typing import Any

from tfattn import registry
from tfattn.config.arguments import REQUIRED
from tfattn.config.constructors import constructor, contract_of
from tfattn.config.read import KeyPath
from tfattn.config.relations import violations
from tfattn.config.schema import Config, keys_of
from tfattn.config.types import Mark, PartsMark, SectionMark
from tfattn.errors import ConfigError


def build(config: Config, *path: str, **given: Any) -> Any:
    """Build the object of the section at a key path, its nested sections first.

    Args:
        config: a checked configuration.
        path: the keys of the section, such as "data", "source"; empty for the whole configuration.
        given: values that only the program knows (arguments marked Given). A value in the file must agree.

    Raises:
        ConfigError: values violate a relation, or a constructor refuses them; with the location of the key.
    """
    mark: Any = SectionMark(config.section)
    for depth, key in enumerate(path):
        mark = keys_of(*mark.entry(config.at(*path[:depth]), config.values))[key].nested
    return _build(config, mark, path, given)


@contextlib.contextmanager
def locate_errors(config: Config, *path: str) -> Iterator[None]:
    """Add the location of the key to a ConfigError of the block; its key is relative to the section at `path`."""
    try:
        yield
    except ConfigError as error:
        if error.key and not error.where:
            error.where = config.where(*path, *error.key.split("."))
        raise


def _build(config: Config, mark: Mark, path: KeyPath, given: dict[str, Any]) -> Any:
    values = config.at(*path)
    if isinstance(mark, PartsMark):
        return {name: _build(config, mark.item, (*path, name), {}) for name in values}
    entry = mark.entry(values, config.values)
    found, signature = registry.find(*entry), constructor(*entry)
    keywords: dict[str, Any] = {}
    for name, argument in signature.arguments.items():
        if name in values:
            nested = argument.nested is not None and values[name] is not None
            keywords[name] = _build(config, argument.nested, (*path, name), {}) if nested else values[name]
        if argument.given and name not in given and name not in values and argument.default is REQUIRED:
            raise ConfigError(
                f"the data do not define its `{name}`",
                where=config.where(*path),
                expected=f"another part than {entry[1]}, or other data",
                remedy="Texts and tables are for different models: see `data.preprocessing`.",
            )
        if argument.given and name in given:
            if not argument.given.may_be_stated:
                _check_contract(config, (*path, name), contract_of(found, name), given[name])
            _check_agreement(config, (*path, name), keywords.get(name, given[name]), given[name])
            keywords[name] = given[name]
    with locate_errors(config, *path):
        for problem in violations(signature.relations, values | given):
            raise problem
        return found(**keywords)


def _check_contract(config: Config, path: KeyPath, contract: Any, given: Any) -> None:
    """Raise ConfigError if an object from another section is not of the expected class, or is incomplete."""
    where = config.where(*path)
    contracts = typing.get_args(contract) if isinstance(contract, types.UnionType) else (contract,)
    if not all(isinstance(option, type) for option in contracts):
        return
    contract = next((option for option in contracts if isinstance(given, option)), None)
    if contract is None:
        raise ConfigError(
            f"the {path[-1]} does not fit",
            where=where,
            expected=" or ".join(option.__name__ for option in contracts),
            received=type(given).__name__,
            remedy="Texts and tables are for different models and tasks: see `data.preprocessing`.",
        )
    missing = _missing_members(given, contract)
    if missing:
        raise ConfigError(
            f"the {path[-1]} does not implement its contract",
            where=where,
            expected=f"all members of {contract.__module__}.{contract.__name__}",
            received=f"{type(given).__name__} without {', '.join(missing)}",
        )


def _missing_members(given: Any, contract: type) -> list[str]:
    """List the declared attributes and abstract methods of a contract that an object does not have."""
    # A contract may extend another contract of the same module.
    contracts = [base for base in contract.__mro__ if base.__module__ == contract.__module__]
    declared = [name for base in contracts for name in vars(base).get("__annotations__", ())]
    attributes = [f"`{name}`" for name in declared if not hasattr(given, name)]
    methods = [
        name for name in vars(contract) if getattr(getattr(type(given), name, None), "__isabstractmethod__", False)
    ]
    return [*attributes, *(f"`{name}()`" for name in methods)]


def _check_agreement(config: Config, path: KeyPath, stated: Any, known: Any) -> None:
    if stated != known:
        raise ConfigError(
            "does not match the data",
            where=config.where(*path),
            expected=repr(known),
            received=repr(stated),
            remedy="Remove the key, or use other data.",
        )
