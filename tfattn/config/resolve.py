"""From a pipeline file and `--set` overrides to one checked configuration.

Values come, the later over the earlier, from: the constructors' defaults; the sizes of a pretrained folder; the part
that a section starts `from:`; the pipeline file; `--set`.
"""

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tfattn import registry
from tfattn.config.moved import move
from tfattn.config.read import KeyPath, Tree, parse_yaml, read_yaml
from tfattn.config.schema import EMBEDDINGS, Config, check, keys_of
from tfattn.config.wording import shown
from tfattn.console import note
from tfattn.errors import ConfigError

HEADS = "num_heads"  # the one size of attention that the shapes of its weights do not tell


def resolve(path: str | Path, overrides: list[str] | None = None) -> Config:
    """Read, join and check a pipeline file.

    Args:
        path: the pipeline file.
        overrides: each `key.path=value`, the value in YAML.

    Raises:
        ConfigError: a file cannot be read, or (as ConfigProblems) all that is wrong in it.
    """
    tree = _read_mapping(path, expected="a mapping with name, data, model, task")
    problems: list[ConfigError] = []
    unread: set[KeyPath] = set()
    for section, values in _started(tree.values):
        with _collecting(problems, unread, section):
            _join_part(tree, section, values, Path(path))
    for override in overrides or ():
        with _collecting(problems, unread, ()):
            _override(tree, override)
    with _collecting(problems, unread, ()):
        for moved in move(tree):
            note(moved)
    with _collecting(problems, unread, ("model",)):
        _fill_from_pretrained(tree)
    return check(tree, "pipeline", problems, unread)


def resolve_section(section: str, path: str | Path | None, overrides: list[str] | None = None) -> Config:
    """Read and check the keys of one section, from a file where one is given, and `--set`.

    Args:
        section: its name in the catalog's SECTIONS.
        path: a YAML file with its keys.
        overrides: each `key=value`, the value in YAML.

    Raises:
        ConfigError: the file cannot be read, or (as ConfigProblems) all that is wrong in it.
    """
    tree = _read_mapping(path, expected=f"a mapping with keys of `{section}`") if path else Tree({})
    for override in overrides or ():
        _override(tree, override)
    return check(tree, section)


@contextlib.contextmanager
def _collecting(problems: list[ConfigError], unread: set[KeyPath], section: KeyPath) -> Iterator[None]:
    """Count an error in the block as one problem among others; what else is wrong with its section follows from it."""
    try:
        yield
    except ConfigError as error:
        problems.append(error)
        unread.add(section)


def _read_mapping(path: str | Path, expected: str) -> Tree:
    tree = read_yaml(path)
    if tree.values is None:
        raise ConfigError("the file is empty", where=str(path), expected=expected)
    if not isinstance(tree.values, dict):
        raise ConfigError("not keys and values", where=str(path), expected=expected, received=shown(tree.values))
    return tree


def _join_part(tree: Tree, path: KeyPath, values: dict[str, Any], file: Path) -> None:
    place = tree.place((*path, "from"))
    name = values.pop("from")
    if not path or not isinstance(name, str):
        raise ConfigError("`from:` names the file that a section starts from", where=place, received=repr(name))
    part = _read_mapping(_find_part(name, file, place), expected="the keys of one section")
    if _started(part.values):
        raise ConfigError("a part cannot start from another part", where=name, remedy="Write its keys out.")
    _merge(part.values, values, part.places, (), tree.places, path)
    values.clear()
    values.update(part.values)
    tree.places.update({(*path, *inner): where for inner, where in part.places.items()})


def _find_part(name: str, file: Path, place: str) -> Path:
    """Find a part: it is named from the folder of the pipeline, or one above it."""
    for folder in (Path(), *file.resolve().parents):
        if (folder / name).is_file():
            return folder / name
    raise ConfigError(
        "no such part", where=place, received=name, remedy=f"Looked in . and in the folders above {file}."
    )


def _merge(low: dict, high: dict, low_places: dict, low_path: KeyPath, high_places: dict, high_path: KeyPath) -> None:
    """Lay `high` over `low`; a nested section that names another class replaces what stood there."""
    for key, value in high.items():
        below = low.get(key)
        renamed = (
            isinstance(value, dict)
            and isinstance(below, dict)
            and value.get("name", below.get("name")) != below.get("name")
        )
        if isinstance(value, dict) and isinstance(below, dict) and not renamed:
            _merge(below, value, low_places, (*low_path, key), high_places, (*high_path, key))
            continue
        low[key] = value
        for inner in [inner for inner in low_places if inner[: len(low_path) + 1] == (*low_path, key)]:
            del low_places[inner]
        for inner, where in high_places.items():
            if inner[: len(high_path) + 1] == (*high_path, key):
                low_places[(*low_path, *inner[len(high_path) :])] = where


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
            raise ConfigError(f"`{'.'.join(path[: depth + 1])}` is no section", where=where, received=repr(section))
    section[path[-1]] = value.values
    for inner in [inner for inner in tree.places if inner[: len(path)] == path]:
        del tree.places[inner]
    for depth in range(1, len(path)):
        tree.places.setdefault(path[:depth], where)
    tree.places.update({(*path, *inner): where for inner in [(), *value.places]})


def _fill_from_pretrained(tree: Tree) -> None:
    """Fill in the sizes of the model, and of models that are parts of it, where they start from published weights."""
    model = tree.values.get("model")
    if not isinstance(model, dict):
        return
    inner = [(("model", key), value) for key, value in model.items() if isinstance(value, dict)]
    for path, section in [(("model",), model), *inner]:
        if isinstance(section.get("pretrained"), str):
            _fill(tree, path, section)


def _fill(tree: Tree, path: KeyPath, model: dict[str, Any]) -> None:
    source, key_of_model = model["pretrained"], ".".join(path)
    place = tree.place((*path, "pretrained"))
    try:
        weights = registry.find("sections", "pretrained")(source)
        sizes = {"name": weights.model, **weights.sizes()}
    except ConfigError as error:
        error.where = error.where or place
        raise
    is_part = path != ("model",)  # of the class that its key names
    name = path[-1] if is_part else model.get("name", weights.model)
    sizes = weights.sizes() if is_part else sizes
    if name in registry.names("models") and not {"name", *keys_of("models", name)}.issuperset(sizes):
        raise ConfigError(
            "these are weights of another model",
            key=f"{key_of_model}.pretrained",
            where=f"{place}: {key_of_model}.pretrained",
            expected=f"those of a `{name}`",
            received=f"{source}, which is a `{weights.model}`",
            remedy="Take other weights." if is_part else f"Take other weights, or set `name: {weights.model}`.",
        )
    if HEADS in sizes and model.get(HEADS, sizes[HEADS]) != sizes[HEADS]:
        raise ConfigError(
            "the weights are those of another number of heads, although their shapes are the same",
            key=f"{key_of_model}.{HEADS}",
            where=f"{tree.place((*path, HEADS))}: {key_of_model}.{HEADS}",
            expected=f"{sizes[HEADS]}, as {source} has them",
            received=repr(model[HEADS]),
            remedy="Remove it: sizes that are not given are those of the weights.",
        )
    for key, value in sizes.items():
        if key not in model:
            model[key] = value
            tree.places[(*path, key)] = f"pretrained {source}"


def _started(values: dict[str, Any]) -> list[tuple[KeyPath, dict[str, Any]]]:
    """List the sections that start from a part; the embeddings of a model start from vectors."""
    return [(path, inner) for path, inner in _mappings(values, ()) if "from" in inner and path[-1:] != (EMBEDDINGS,)]


def _mappings(value: Any, path: KeyPath) -> Any:
    if isinstance(value, dict):
        yield path, value
        for key, inner in list(value.items()):
            yield from _mappings(inner, (*path, key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _mappings(inner, (*path, index))
