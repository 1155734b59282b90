"""Look-up of catalog entries, including plugins; classes are imported on demand."""

import contextlib
import functools
import importlib
import importlib.metadata
import re
import sys
import traceback
from typing import Any

from tfattn import source_text
from tfattn.catalog import CATALOGS, CONTRACTS, PARTS, SECTIONS, Kind
from tfattn.errors import ConfigError, nearest

# Plugins that were registered, to register them in worker processes too.
PLUGINS: list[str] = []


def names(catalog: str) -> list[str]:
    """List the names of a catalog, including installed plugins; "sections" is a catalog too."""
    if catalog in PARTS:
        return [name for name in names("tasks") if getattr(kind(name), catalog) is not None]
    return sorted(_entries(catalog))


def kind(task: str) -> Kind:
    """Return the Kind of a task: all its parts.

    A plugin may be a class, whose Kind has only the task; the plugin is imported only if its text is not sufficient.

    Raises:
        ConfigError: there is no such task (suggests a similar name), or a plugin cannot be imported.
    """
    entry = _entry("tasks", task)
    if isinstance(entry, Kind):
        return entry
    module, _, attribute = entry.partition(":")
    with contextlib.suppress(source_text.UnresolvedError):
        source_text.module(module).definition(attribute)
        return Kind(task=entry)
    found = load(entry, _listed_by("tasks", task))
    return found if isinstance(found, Kind) else Kind(task=entry)


def target(catalog: str, name: str) -> str:
    """Return a catalog entry as `module:Class`.

    Args:
        catalog: a key of CATALOGS, "sections", or a part of tasks.
        name: the entry; for a part, the name of a task.

    Raises:
        ConfigError: the catalog has no such entry; suggests a similar name.
    """
    if catalog == "tasks":
        return kind(name).task
    if catalog not in PARTS:
        return _entry(catalog, name)
    part = getattr(kind(name), catalog)
    if part is None:
        raise ConfigError(
            f"the task {name} can only be trained: it has no `{catalog}`",
            key="name",
            expected=f"one of {', '.join(names(catalog))}",
            received=repr(name),
        )
    return part


def _entry(catalog: str, name: str) -> str | Kind:
    entries = _entries(catalog)
    if not isinstance(name, str) or name not in entries:
        raise ConfigError(
            f"unknown name in {catalog}",
            key="name",
            expected=f"one of {', '.join(sorted(entries))}",
            received=repr(name),
            remedy=nearest(name, entries),
        )
    return entries[name]


def find(catalog: str, name: str) -> Any:
    """Import a catalog entry.

    Raises:
        ConfigError: the catalog has no such entry (suggests a similar name), or the class cannot be imported or does
            not inherit from the contract of the catalog.
    """
    found = load(target(catalog, name), _listed_by(catalog, name))
    if catalog in CONTRACTS and not (isinstance(found, type) and issubclass(found, load(CONTRACTS[catalog]))):
        raise ConfigError(
            f"{_listed_by(catalog, name)} does not implement the contract of {catalog}",
            expected=f"a class that inherits from {CONTRACTS[catalog].replace(':', '.')}",
            received=getattr(found, "__qualname__", type(found).__name__),
        )
    return found


def origin(catalog: str, name: str) -> tuple[str, str]:
    """Return the module of a catalog entry, and the installed package of the plugin, such as `mine 1.2`.

    The package of built-in entries and of registered plugins is "".

    Raises:
        ConfigError: the catalog has no such entry; suggests a similar name.
    """
    module, listing = target(catalog, name).partition(":")[0], _listing(catalog)
    installed = {} if name in CATALOGS[listing] else {entry.name: entry.dist for entry in _installed(listing)}
    return module, f"{installed[name].name} {installed[name].version}" if installed else ""


def register(plugin: str) -> tuple[str, str]:
    """Register a plugin in this process, without importing it.

    Args:
        plugin: CATALOG.NAME=MODULE:CLASS, such as models.mine=my_package.my_model:MyModel.

    Returns:
        the catalog and the name.

    Raises:
        ConfigError: the format is wrong, or there is no such catalog.
    """
    entry, _, target = plugin.partition("=")
    catalog, _, name = entry.partition(".")
    if catalog not in CATALOGS or not name or not re.fullmatch(r"\w+(\.\w+)*:\w+(\.\w+)*", target):
        raise ConfigError(
            "not a plugin",
            where="--plugin",
            expected="CATALOG.NAME=MODULE:CLASS, such as models.mine=my_package.my_model:MyModel",
            received=plugin,
            remedy=nearest(catalog, CATALOGS) if catalog not in CATALOGS else "",
        )
    CATALOGS[catalog][name] = target
    PLUGINS.append(plugin)
    return catalog, name


def load(target: str, listed_by: str = "") -> Any:
    """Import `module:Class` and return the class.

    Args:
        target: the class, as `module:Class`.
        listed_by: the origin of the entry, for messages.

    Raises:
        ConfigError: the module cannot be imported, or has no such class.
    """
    module, _, attribute = target.partition(":")
    listed_by = listed_by or target
    try:
        found = importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module}.".startswith(f"{error.name}."):
            raise _not_imported(listed_by, module, error) from error
        raise ConfigError(
            f"{listed_by}: there is no module `{error.name}`",
            remedy="Modules are searched in the current folder and in installed packages.",
        ) from error
    except (Exception, SystemExit) as error:
        raise _not_imported(listed_by, module, error) from error
    try:
        return functools.reduce(getattr, attribute.split("."), found)
    except AttributeError:
        raise ConfigError(
            f"{listed_by}: the module `{module}` ({getattr(found, '__file__', 'built in')}) has no `{attribute}`",
            remedy=nearest(attribute, vars(found)),
        ) from None


def _not_imported(listed_by: str, module: str, error: BaseException) -> ConfigError:
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if not frame.filename.startswith("<")]
    # The message of a syntax error has its location; its last frame is the import.
    location = "" if isinstance(error, SyntaxError) else f" ({frames[-1].filename}:{frames[-1].lineno})"
    return ConfigError(
        f"{listed_by}: the module `{module}` cannot be imported", received=f"{type(error).__name__}: {error}{location}"
    )


def _listed_by(catalog: str, name: str) -> str:
    """Describe the origin of an entry: a plugin or the catalog."""
    catalog = _listing(catalog)
    plugin = next((plugin for plugin in PLUGINS if plugin.startswith(f"{catalog}.{name}=")), None)
    if plugin:
        return f"--plugin {plugin}"
    installed = [entry for entry in _installed(catalog) if entry.name == name]
    if not installed or name in CATALOGS[catalog]:
        return f"{catalog}.{name}"
    *_, entry = installed  # if two packages have the same name, `_entries` uses the last
    return f"the plugin {catalog}.{name}={entry.value} of the package {entry.dist.name}"


def _listing(catalog: str) -> str:
    """Return the catalog of an entry: parts belong to the entry of their task."""
    return "tasks" if catalog in PARTS else catalog


def _entries(catalog: str) -> dict[str, str | Kind]:
    if catalog == "sections":
        return SECTIONS
    return {**{entry.name: entry.value for entry in _installed(catalog)}, **CATALOGS[catalog]}


def _installed(catalog: str) -> importlib.metadata.EntryPoints:
    return _entry_points(tuple(sys.path)).select(group=f"tfattn.{catalog}")


@functools.cache
def _entry_points(path: tuple[str, ...]) -> importlib.metadata.EntryPoints:
    """Read the entry points of all packages; cached by search path, because reading is slow."""
    return importlib.metadata.entry_points()
