"""Sections of a pipeline as function calls, with the keys of the section as arguments."""

import inspect
import keyword
from collections.abc import Callable
from typing import Any

from tfattn import catalog, registry
from tfattn.config.arguments import REQUIRED, Argument
from tfattn.config.constructors import summary
from tfattn.config.schema import keys_of
from tfattn.config.show import key_lines
from tfattn.config.types import OfTaskMark, SectionMark
from tfattn.errors import ConfigError, nearest

# The catalogs and sections that a pipeline contains.
CATALOGS = ("adapters", "averages", "engines", "models", "optimizers", "preprocessors", "schedules", "sources", "tasks")
SECTIONS = tuple(
    name
    for name in catalog.SECTIONS
    if name not in ("comparison", "pipeline", "peft_adapter", "pretrained", "prompt", "serving")
)


class Catalog:
    """The entries of a catalog, as functions that return a section.

    Example:
        >>> parts.optimizers.adamw(learning_rate=1e-3)
        {'name': 'adamw', 'learning_rate': 0.001}
    """

    def __init__(self, name: str):
        self._name = name

    def __dir__(self) -> list[str]:
        return registry.names(self._name)

    def __getattr__(self, name: str) -> Callable[..., dict[str, Any]]:
        if name.startswith("_"):
            raise AttributeError(name)
        try:
            return section_function(self._name, name)
        except ConfigError as error:
            raise AttributeError(str(error)) from None

    def __repr__(self) -> str:
        return f"<catalog {self._name}: {', '.join(dir(self))}>"


class Parts:
    """All catalogs, such as `models`, and all sections of a fixed class, such as `training`.

    Example:
        >>> parts.data(source=parts.sources.csv(path="reports.csv", fields={"text": "Report", "label": "Category"}))
        {'source': {'name': 'csv', 'path': 'reports.csv', 'fields': {'text': 'Report', 'label': 'Category'}}}
    """

    def __dir__(self) -> list[str]:
        return sorted({*CATALOGS, *SECTIONS})

    def __getattr__(self, name: str) -> Any:
        if name in CATALOGS:
            return Catalog(name)
        if name in SECTIONS:
            return section_function("sections", name)
        raise AttributeError(f"no such part: {name}. {nearest(name, dir(self))}")


parts = Parts()


def section_function(kind: str, name: str) -> Callable[..., dict[str, Any]]:
    """Return a function that makes the section of a catalog entry from its keys.

    The function does not check the keys: the pipeline that contains the section checks all of them together.

    Args:
        kind: the catalog; "sections" for sections of a fixed class.
        name: the entry.

    Raises:
        ConfigError: the catalog has no such entry.
    """

    def section(**keys: Any) -> dict[str, Any]:
        return keys if kind == "sections" else {"name": name, **keys}

    section.__name__ = section.__qualname__ = name
    section.__signature__ = signature(kind, name)
    section.__doc__ = "\n".join([summary(kind, name), "", "Args:", *(f"    {line}" for line in key_lines(kind, name))])
    return section


def is_required(argument: Argument) -> bool:
    """Return whether a section must have a key, unless a file or pretrained weights define it."""
    if argument.default is not REQUIRED or argument.given or isinstance(argument.nested, OfTaskMark):
        return False
    if isinstance(argument.nested, SectionMark):  # a section of defaults is not required
        return any(map(is_required, keys_of("sections", argument.nested.section).values()))
    return True


def _default(argument: Argument) -> Any:
    return {} if argument.default is REQUIRED else argument.default


def signature(kind: str, name: str) -> inspect.Signature:
    """Return the keys of a section as the signature of a function."""
    parameters = [
        inspect.Parameter(
            argument.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=inspect.Parameter.empty if is_required(argument) else _default(argument),
            annotation=argument.annotation,
        )
        for argument in keys_of(kind, name).values()
        if not keyword.iskeyword(argument.name)  # `from` is given as **{"from": ...}
    ]
    return inspect.Signature(parameters, return_annotation=dict)
