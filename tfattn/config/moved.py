"""Renamed keys and names: pipeline files of older versions keep working, with a note."""

from typing import Any

from tfattn.config.read import KeyPath, Tree
from tfattn.errors import ConfigError

MOVED_KEYS: dict[str, str] = {
    "training.seeds": "ensemble.seeds",
    "training.folds": "ensemble.folds",
    "data.labels": "data.targets.labels",
    "model.normalizes_queries": "model.qk_norm",
    "task.generation.max_new_tokens": "task.generation.max_tokens",
    "max_new_tokens": "max_tokens",  # of a recipe of prompts
}
# Keys that are no longer needed, and why.
REMOVED_KEYS: dict[str, str] = {
    "data.examples.messages": "the roles of the source are the format of the chats",
}
# Old and new values of `name`, by section.
MOVED_NAMES: dict[str, dict[str, str]] = {
    "task": {
        "image_classification": "classification",
        "tabular_classification": "classification",
        "text_classification": "classification",
        "tabular_multi_label_classification": "multi_label_classification",
        "text_multi_label_classification": "multi_label_classification",
        "tabular_regression": "regression",
        "text_regression": "regression",
    },
}


def move(tree: Tree) -> list[str]:
    """Replace old keys and names by the current ones.

    Returns:
        a note about each.

    Raises:
        ConfigError: a key is given under both its old and its new name.
    """
    notes = [note for old, new in MOVED_KEYS.items() for note in _move_key(tree, *map(_path, (old, new)))]
    for path, reason in ((_path(key), reason) for key, reason in REMOVED_KEYS.items()):
        if _section(tree, path[:-1]).pop(path[-1], None) is not None:
            notes.append(f"{tree.location(path)}: {'.'.join(path)}: the key is no longer needed: {reason}")
    for section, names in MOVED_NAMES.items():
        values = _section(tree, (section,))
        if isinstance(name := values.get("name"), str) and name in names:
            values["name"] = names[name]
            notes.append(f"{tree.location((section, 'name'))}: {section}.name: `{name}` is now `{names[name]}`")
    return notes


def _path(key: str) -> KeyPath:
    return tuple(key.split("."))


def _move_key(tree: Tree, old: KeyPath, new: KeyPath) -> list[str]:
    source = _section(tree, old[:-1])
    if old[-1] not in source:
        return []
    where = f"{tree.location(old)}: {'.'.join(old)}"
    target = tree.values
    for key in new[:-1]:
        target = target.setdefault(key, {})
        if not isinstance(target, dict):
            return []  # the check of the section reports this error
    if new[-1] in target:
        raise ConfigError("the key is given twice", where=where, remedy=f"Keep `{'.'.join(new)}`, the current name.")
    target[new[-1]] = source.pop(old[-1])
    for inner in [inner for inner in tree.locations if inner[: len(old)] == old]:
        tree.locations[(*new, *inner[len(old) :])] = tree.locations.pop(inner)
    return [f"{where}: the key is now `{'.'.join(new)}`"]


def _section(tree: Tree, path: KeyPath) -> dict[str, Any]:
    values = tree.values
    for key in path:
        values = values.get(key) if isinstance(values, dict) else None
    return values if isinstance(values, dict) else {}
