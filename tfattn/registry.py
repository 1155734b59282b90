"""What the names of the catalog stand for, plugins included; a class is imported when it is asked for."""

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

# What `register` was called with, for worker processes.
PLUGINS: list[str] = []


def names(catalog: str) -> list[str]:
    """List the names of a catalog, those of installed plugins included; "sections" counts as one."""
    if catalog in PARTS:
        return [name for name in names("tasks") if getattr(kind(name), catalog) is not None]
    return sorted(_entries(catalog))


def kind(task: str) -> Kind:
    """Return what belongs to a task.

    A plugin is imported only where its text does not say that it is a class: that of a task which is trained only.

    Raises:
        ConfigError: there is no such task; suggests the nearest. Or a plugin cannot be imported.
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
    """Return what a name of a catalog stands for, as `module:Class`.

    Args:
        catalog: one of CATALOGS, "sections", or a part of tasks.
        name: the entry; of a part, the name of a task.

    Raises:
        ConfigError: the catalog holds no such name; suggests the nearest.
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
    """Import what a name of a catalog stands for.

    Raises:
        ConfigError: the catalog holds no such name; suggests the nearest. Or what the name stands for cannot be
            imported, or does not inherit from what the parts of the catalog do.
    """
    found = load(target(catalog, name), _listed_by(catalog, name))
    if catalog in CONTRACTS and not (isinstance(found, type) and issubclass(found, load(CONTRACTS[catalog]))):
        raise ConfigError(
            f"{_listed_by(catalog, name)} is none of the {catalog}",
            expected=f"a class that inherits from {CONTRACTS[catalog].replace(':', '.')}",
            received=getattr(found, "__qualname__", type(found).__name__),
        )
    return found


def origin(catalog: str, name: str) -> tuple[str, str]:
    """Return the module of what a name of a catalog stands for, and the installed package that lists it, as `mine 1.2`.

    No package lists what stands here or was registered: then it is "".

    Raises:
        ConfigError: the catalog holds no such name; suggests the nearest.
    """
    module, listing = target(catalog, name).partition(":")[0], _listing(catalog)
    installed = {} if name in CATALOGS[listing] else {entry.name: entry.dist for entry in _installed(listing)}
    return module, f"{installed[name].name} {installed[name].version}" if installed else ""


def register(plugin: str) -> tuple[str, str]:
    """Add a class for this process; nothing is imported yet.

    Args:
        plugin: CATALOG.NAME=MODULE:CLASS, such as models.mine=my_package.my_model:MyModel.

    Returns:
        the catalog and the name in it.

    Raises:
        ConfigError: it is not of that form, or there is no such catalog.
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
        target: what to import.
        listed_by: what names it, for messages.

    Raises:
        ConfigError: the module cannot be imported, for whatever reason, or holds no such class.
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
            remedy="It is looked for in the current folder and among the installed packages.",
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
    # The place of a syntax error stands in its text; the last frame is then that of the import.
    place = "" if isinstance(error, SyntaxError) else f" ({frames[-1].filename}:{frames[-1].lineno})"
    return ConfigError(
        f"{listed_by}: the module `{module}` cannot be imported", received=f"{type(error).__name__}: {error}{place}"
    )


def _listed_by(catalog: str, name: str) -> str:
    """Say in words what lists a name."""
    catalog = _listing(catalog)
    plugin = next((plugin for plugin in PLUGINS if plugin.startswith(f"{catalog}.{name}=")), None)
    if plugin:
        return f"--plugin {plugin}"
    installed = [entry for entry in _installed(catalog) if entry.name == name]
    if not installed or name in CATALOGS[catalog]:
        return f"{catalog}.{name}"
    *_, entry = installed  # of two packages with one name, `_entries` takes the last
    return f"the plugin {catalog}.{name}={entry.value} of the package {entry.dist.name}"


def _listing(catalog: str) -> str:
    """Return the catalog in which an entry stands: parts stand with their task."""
    return "tasks" if catalog in PARTS else catalog


def _entries(catalog: str) -> dict[str, str | Kind]:
    if catalog == "sections":
        return SECTIONS
    return {**{entry.name: entry.value for entry in _installed(catalog)}, **CATALOGS[catalog]}


def _installed(catalog: str) -> importlib.metadata.EntryPoints:
    return _entry_points(tuple(sys.path)).select(group=f"tfattn.{catalog}")


@functools.cache
def _entry_points(path: tuple[str, ...]) -> importlib.metadata.EntryPoints:
    """Read those of all packages; kept for the folders in which they were looked for, because it takes a while."""
    return importlib.metadata.entry_points()
