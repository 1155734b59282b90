"""Resolves a pipeline file and `--set` overrides into a checked configuration.

Sources of values, from lowest to highest priority: defaults of constructors, sizes of pretrained weights, the file
after `from:` in a section, the pipeline file, `--set`.
"""

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tfattn import registry
from tfattn.config.moved import move
from tfattn.config.read import KeyPath, Tree, parse_yaml, read_yaml
from tfattn.config.schema import EMBEDDINGS, Config, check, keys_of
from tfattn.config.wording import describe_value
from tfattn.console import note
from tfattn.errors import ConfigError

NUM_HEADS = "num_heads"  # the shapes of attention weights do not depend on it


def resolve(path: str | Path, overrides: list[str] | None = None) -> Config:
    """Read, merge and check a pipeline file.

    Args:
        path: the pipeline file.
        overrides: strings `key.path=value`, the value in YAML.

    Raises:
        ConfigError: a file cannot be read, or (as ConfigProblems) the configuration has errors.
    """
    tree = _read_mapping(path, expected="a mapping with name, data, model, task")
    problems: list[ConfigError] = []
    skipped: set[KeyPath] = set()
    for section, values in _sections_with_from(tree.values):
        with _collect_error(problems, skipped, section):
            _merge_part(tree, section, values, Path(path))
    for override in overrides or ():
        with _collect_error(problems, skipped, ()):
            _override(tree, override)
    with _collect_error(problems, skipped, ()):
        for moved in move(tree):
            note(moved)
    with _collect_error(problems, skipped, ("model",)):
        _fill_from_pretrained(tree)
    return check(tree, "pipeline", problems, skipped)


def resolve_section(section: str, path: str | Path | None, overrides: list[str] | None = None) -> Config:
    """Read and check a single section from a file and `--set`.

    Args:
        section: the section's name in the catalog's SECTIONS.
        path: a YAML file with the keys of the section; None for defaults and overrides only.
        overrides: strings `key=value`, the value in YAML.

    Raises:
        ConfigError: the file cannot be read, or (as ConfigProblems) the section has errors.
    """
    tree = _read_mapping(path, expected=f"a mapping with keys of `{section}`") if path else Tree({})
    for override in overrides or ():
        _override(tree, override)
    return check(tree, section)


@contextlib.contextmanager
def _collect_error(problems: list[ConfigError], skipped: set[KeyPath], section: KeyPath) -> Iterator[None]:
    """Add an error in the block to the problems, and skip the check of its section, which would only repeat it."""
    try:
        yield
    except ConfigError as error:
        problems.append(error)
        skipped.add(section)


def _read_mapping(path: str | Path, expected: str) -> Tree:
    tree = read_yaml(path)
    if tree.values is None:
        raise ConfigError("the file is empty", where=str(path), expected=expected)
    if not isinstance(tree.values, dict):
        raise ConfigError(
            "not keys and values", where=str(path), expected=expected, received=describe_value(tree.values)
        )
    return tree


def _merge_part(tree: Tree, path: KeyPath, values: dict[str, Any], file: Path) -> None:
    location = tree.location((*path, "from"))
    name = values.pop("from")
    if not path or not isinstance(name, str):
        raise ConfigError("`from:` names the file that a section starts from", where=location, received=repr(name))
    part = _read_mapping(_find_part(name, file, location), expected="the keys of one section")
    if _sections_with_from(part.values):
        raise ConfigError("a part cannot start from another part", where=name, remedy="Write its keys out.")
    _merge(part.values, values, part.locations, (), tree.locations, path)
    values.clear()
    values.update(part.values)
    tree.locations.update({(*path, *inner): where for inner, where in part.locations.items()})


def _find_part(name: str, file: Path, location: str) -> Path:
    """Find the file of a part, relative to the current folder, the pipeline's folder, or a folder above it."""
    for folder in (Path(), *file.resolve().parents):
        if (folder / name).is_file():
            return folder / name
    raise ConfigError(
        "no such part", where=location, received=name, remedy=f"Looked in . and in the folders above {file}."
    )


def _merge(
    low: dict, high: dict, low_locations: dict, low_path: KeyPath, high_locations: dict, high_path: KeyPath
) -> None:
    """Merge `high` into `low`; a nested section with another `name` replaces the section in `low`."""
    for key, value in high.items():
        current = low.get(key)
        renamed = (
            isinstance(value, dict)
            and isinstance(current, dict)
            and value.get("name", current.get("name")) != current.get("name")
        )
        if isinstance(value, dict) and isinstance(current, dict) and not renamed:
            _merge(current, value, low_locations, (*low_path, key), high_locations, (*high_path, key))
            continue
        low[key] = value
        for inner in [inner for inner in low_locations if inner[: len(low_path) + 1] == (*low_path, key)]:
            del low_locations[inner]
        for inner, where in high_locations.items():
            if inner[: len(high_path) + 1] == (*high_path, key):
                low_locations[(*low_path, *inner[len(high_path) :])] = where


def _override(tree: Tree, override: str) -> None:
    keys, equals, text = override.partition("=")
    path = tuple(keys.split("."))
    where = f"--set {keys}"
    if not equals or not all(path):
        raise ConfigError(
            "not an override", where=f"--set {override}", expected="key.path=value, such as training.epochs=3"
        )
    value = parse_yaml(text, where)
    section = tree.values
    for depth, key in enumerate(path[:-1]):
        section = section.setdefault(key, {})
        if not isinstance(section, dict):
            raise ConfigError(f"`{'.'.join(path[: depth + 1])}` is not a section", where=where, received=repr(section))
    section[path[-1]] = value.values
    for inner in [inner for inner in tree.locations if inner[: len(path)] == path]:
        del tree.locations[inner]
    for depth in range(1, len(path)):
        tree.locations.setdefault(path[:depth], where)
    tree.locations.update({(*path, *inner): where for inner in [(), *value.locations]})


def _fill_from_pretrained(tree: Tree) -> None:
    """Fill in the sizes of a pretrained model, and of pretrained models inside it, from their weights."""
    model = tree.values.get("model")
    if not isinstance(model, dict):
        return
    inner = [(("model", key), value) for key, value in model.items() if isinstance(value, dict)]
    for path, section in [(("model",), model), *inner]:
        if isinstance(section.get("pretrained"), str):
            _fill_sizes(tree, path, section)


def _fill_sizes(tree: Tree, path: KeyPath, model: dict[str, Any]) -> None:
    source, key_of_model = model["pretrained"], ".".join(path)
    location = tree.location((*path, "pretrained"))
    try:
        weights = registry.find("sections", "pretrained")(source)
        sizes = {"name": weights.model, **weights.sizes()}
    except ConfigError as error:
        error.where = error.where or location
        raise
    is_part = path != ("model",)  # then the key is the name of its class
    name = path[-1] if is_part else model.get("name", weights.model)
    sizes = weights.sizes() if is_part else sizes
    if name in registry.names("models") and not {"name", *keys_of("models", name)}.issuperset(sizes):
        raise ConfigError(
            "the pretrained weights are of another model",
            key=f"{key_of_model}.pretrained",
            where=f"{location}: {key_of_model}.pretrained",
            expected=f"weights of a `{name}`",
            received=f"{source}, which is a `{weights.model}`",
            remedy="Use other weights." if is_part else f"Use other weights, or set `name: {weights.model}`.",
        )
    if NUM_HEADS in sizes and model.get(NUM_HEADS, sizes[NUM_HEADS]) != sizes[NUM_HEADS]:
        raise ConfigError(
            "the pretrained weights have another number of heads, although their shapes are the same",
            key=f"{key_of_model}.{NUM_HEADS}",
            where=f"{tree.location((*path, NUM_HEADS))}: {key_of_model}.{NUM_HEADS}",
            expected=f"{sizes[NUM_HEADS]}, the number of {source}",
            received=repr(model[NUM_HEADS]),
            remedy="Remove the key: sizes that are not given are taken from the weights.",
        )
    for key, value in sizes.items():
        if key not in model:
            model[key] = value
            tree.locations[(*path, key)] = f"pretrained {source}"


def _sections_with_from(values: dict[str, Any]) -> list[tuple[KeyPath, dict[str, Any]]]:
    """List the sections with `from:`, except the embeddings of a model, where it names word vectors."""
    return [(path, inner) for path, inner in _mappings(values, ()) if "from" in inner and path[-1:] != (EMBEDDINGS,)]


def _mappings(value: Any, path: KeyPath) -> Any:
    if isinstance(value, dict):
        yield path, value
        for key, inner in list(value.items()):
            yield from _mappings(inner, (*path, key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _mappings(inner, (*path, index))
