"""Resolves a pipeline file and `--set` overrides into a checked configuration.

Sources of values, from lowest to highest priority: defaults of constructors, sizes of pretrained weights and the
recommended training of the model, the file after `from:` in a section, the pipeline file, `--set`.
"""

import contextlib
import copy
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tfattn import registry
from tfattn.config.moved import move
from tfattn.config.read import KeyPath, Tree, convert_python, parse_yaml, read_yaml
from tfattn.config.recommended_training import recommended_training
from tfattn.config.schema import ADAPTER, EMBEDDINGS, Config, check, keys_of
from tfattn.config.wording import describe_value
from tfattn.console import note
from tfattn.errors import ConfigError, TfattnError
from tfattn.files import SCHEME, find_shipped, similar_path, similar_shipped

DECODING = "decoding"  # the section of a task that searches for texts
NUM_HEADS = "num_heads"  # the shapes of attention weights do not depend on it


# `key.path=value` with the value in YAML, or the values of keys and sections.
Overrides = Sequence[str] | Mapping[str, Any]


def resolve(pipeline: str | Path | Mapping[str, Any], overrides: Overrides | None = None) -> Config:
    """Read, merge and check a pipeline.

    Args:
        pipeline: the pipeline file, the package:// address of a shipped pipeline, or the content of a pipeline.
        overrides: strings `key.path=value`; or a mapping from keys or key paths to values, in which a section is merged
            into the section of the pipeline.

    Raises:
        ConfigError: a file cannot be read, or (as ConfigProblems) the configuration has errors.
    """
    if isinstance(pipeline, Mapping):
        tree, file = convert_python(pipeline, "pipeline"), Path("pipeline")
    else:
        tree, file = _read_mapping(pipeline, expected="a mapping with name, data, model, task"), find_shipped(pipeline)
    problems: list[ConfigError] = []
    skipped: set[KeyPath] = set()
    _merge_parts(tree, file, problems, skipped)
    if isinstance(overrides, Mapping):
        with _collect_error(problems, skipped, ()):
            given = Tree({})
            for key, value in overrides.items():
                _set(given, tuple(key.split(".")), convert_python(value, f"override {key}"), f"override {key}")
            _merge_parts(given, file, problems, skipped)
            _merge(tree.values, given.values, tree.locations, (), given.locations, ())
    for override in () if isinstance(overrides, Mapping) else overrides or ():
        with _collect_error(problems, skipped, ()):
            _override(tree, override, file)
    with _collect_error(problems, skipped, ()):
        for moved in move(tree):
            note(moved)
    with _collect_error(problems, skipped, ("model",)):
        _fill_from_pretrained(tree)
    with _collect_error(problems, skipped, ("teacher",)):
        _fill_teacher(tree)
    if ("training",) not in skipped:
        _fill_training(tree)
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
    for moved in move(tree):
        note(moved)
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


def _merge_parts(tree: Tree, file: Path, problems: list[ConfigError], skipped: set[KeyPath]) -> None:
    for section, values in _sections_with_from(tree.values):
        with _collect_error(problems, skipped, section):
            _merge_part(tree, section, values, file)


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
    """Find the file of a part: shipped, or relative to the current folder or the pipeline's folder or one above it."""
    if name.startswith(SCHEME):
        try:
            return find_shipped(name)
        except ConfigError as error:
            error.where = location
            raise
    for folder in (Path(), *file.resolve().parents):
        if (folder / name).is_file():
            return folder / name
    suggestions = (similar_path(folder / name) for folder in (Path(), *file.resolve().parents[:3]))
    raise ConfigError(
        "no such part",
        where=location,
        received=name,
        remedy=next(filter(None, suggestions), "")
        or similar_shipped(Path(name))
        or f"Looked in . and in the folders above {file}.",
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


def _override(tree: Tree, override: str, file: Path | None = None) -> None:
    """Apply an override; a section in its value may start from a part, which is looked for as those of the file."""
    keys, equals, text = override.partition("=")
    path = tuple(keys.split("."))
    where = f"--set {keys}"
    if not equals or not all(path):
        raise ConfigError(
            "not an override", where=f"--set {override}", expected="key.path=value, such as training.epochs=3"
        )
    value = parse_yaml(text, where)
    _set(tree, path, value, where)
    if file is not None and path[-1] not in (EMBEDDINGS, ADAPTER):
        for inner, values in _sections_with_from(value.values):
            _merge_part(tree, (*path, *inner), values, file)


def _set(tree: Tree, path: KeyPath, value: Tree, where: str) -> None:
    """Set the value of a key path, and create the sections around it."""
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
    """Fill in the sizes of a pretrained model, and of pretrained models inside it, and how it searches for texts."""
    model = tree.values.get("model")
    if not isinstance(model, dict):
        return
    inner = [(("model", key), value) for key, value in model.items() if isinstance(value, dict)]
    for path, section in [(("model",), model), *inner]:
        if isinstance(section.get("pretrained"), str):
            weights = _fill_sizes(tree, path, section)
            if section is model and isinstance(model.get(ADAPTER), dict):
                _fill_adapter(tree, model, model[ADAPTER])
            if section is model:
                _fill_decoding(tree, weights.decoding(), f"pretrained {section['pretrained']}")


def _fill_teacher(tree: Tree) -> None:
    """Fill in the revision of a teacher on a hub."""
    teacher = tree.values.get("teacher")
    if isinstance(teacher, dict) and "://" in str(source := teacher.get("pretrained")):
        teacher["pretrained"] = registry.find("sections", "pretrained")(source).address


def _fill_adapter(tree: Tree, model: dict[str, Any], adapter: dict[str, Any]) -> None:
    """Fill in the settings of a trained adapter, and its revision on a hub."""
    if not isinstance(source := adapter.get("from"), str):
        return
    location = tree.location(("model", ADAPTER, "from"))
    try:
        published = registry.find("sections", "peft_adapter")(source)
        settings = {"name": "lora", **published.arguments(model)}
        adapter["from"] = published.address
    except TfattnError as error:
        error.where = f"{location}: {error.where or f'model.{ADAPTER}.from'}"
        raise
    _fill(tree, ("model", ADAPTER), adapter, settings, f"adapter {source}")
    for key, value in settings.items():
        if key != "dropout" and adapter[key] != value:
            raise ConfigError(
                "the trained adapter has another value",
                key=f"model.{ADAPTER}.{key}",
                where=f"{tree.location(('model', ADAPTER, key))}: model.{ADAPTER}.{key}",
                expected=f"{value}, the value of {source}",
                received=repr(adapter[key]),
                remedy="Remove the key: values that are not given are taken from the adapter.",
            )


def _fill_decoding(tree: Tree, decoding: Mapping[str, Any], origin: str) -> None:
    """Fill in the search for texts, if the task has one."""
    task = tree.values.get("task")
    name = task.get("name") if isinstance(task, dict) else None
    if not decoding or name not in registry.names("tasks") or DECODING not in keys_of("tasks", name):
        return
    if task.get(DECODING) is None:
        task[DECODING] = {}
        tree.locations[("task", DECODING)] = origin
    if isinstance(task[DECODING], dict):
        _fill(tree, ("task", DECODING), task[DECODING], decoding, origin)


def _fill(tree: Tree, path: KeyPath, section: dict[str, Any], values: Mapping[str, Any], origin: str) -> None:
    """Fill in the keys that a section lacks; their location is the origin of the values."""
    for key, value in values.items():
        if key not in section:
            section[key] = value
            tree.locations[(*path, key)] = origin


def _fill_sizes(tree: Tree, path: KeyPath, model: dict[str, Any]) -> Any:
    """Fill in the sizes of a model from its pretrained weights, and return the weights."""
    source, key_of_model = model["pretrained"], ".".join(path)
    location = tree.location((*path, "pretrained"))
    try:
        weights = registry.find("sections", "pretrained")(source)
        sizes = {"name": weights.model, **weights.sizes()}
        model["pretrained"] = weights.address or source  # with the revision, so that later stages read the same
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
    _fill(tree, path, model, sizes, f"pretrained {source}")
    return weights


def _fill_training(tree: Tree) -> None:
    """Fill in the recommended training of the model; a part whose `name` is given has its own defaults."""
    training = tree.values.get("training", {})
    recommended, origin = recommended_training(tree.values)
    if not recommended or not isinstance(training, dict):
        return
    for key, value in recommended.items():
        given = training.get(key, {})
        if key not in training:
            training[key] = copy.deepcopy(value)
            tree.locations[("training", key)] = origin
        elif isinstance(value, dict) and isinstance(given, dict) and given and "name" not in given:
            for inner in value.keys() - given.keys():
                tree.locations[("training", key, inner)] = origin
            training[key] = {**value, **given}
    tree.values["training"] = training


def _sections_with_from(values: Any) -> list[tuple[KeyPath, dict[str, Any]]]:
    """List the sections with `from:`, except the embeddings and the adapter of a model, where it names weights."""
    return [
        (path, inner)
        for path, inner in _mappings(values, ())
        if "from" in inner and path[-1:] not in ((EMBEDDINGS,), (ADAPTER,))
    ]


def _mappings(value: Any, path: KeyPath) -> Any:
    if isinstance(value, dict):
        yield path, value
        for key, inner in list(value.items()):
            yield from _mappings(inner, (*path, key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _mappings(inner, (*path, index))
