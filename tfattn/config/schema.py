"""A tree of plain values held against the constructors it names: every error at once, every default filled in."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from pydantic import Field

from tfattn import registry
from tfattn.config.arguments import REQUIRED, Argument
from tfattn.config.constructors import constructor
from tfattn.config.read import KeyPath, Tree
from tfattn.config.relations import broken
from tfattn.config.types import Mark, OfTaskMark, PartMark, PartsMark, SectionMark
from tfattn.config.wording import quotes_hint, shown
from tfattn.errors import ConfigError, ConfigProblems, nearest

EMBEDDINGS = "embeddings"
# A mapping of one key, which no constructor could have as an argument.
Beginning = Annotated[dict[Literal["from"], Annotated[str, Field(min_length=1)]], Field(min_length=1)]

PRETRAINED = Argument(
    name="pretrained",
    annotation=Annotated[str | None, Field(min_length=1)],
    default=None,
    help="published weights to start from: `minilm`, `smollm2`, or a folder; sizes come from there too.",
    nested=None,
    given=None,
)
# Keys that every entry of a catalog takes beside its constructor's arguments, or one alone, which is then named: the
# program acts on them.
SHARED_KEYS: dict[str, dict[str, Argument]] = {
    "models": {
        "pretrained": PRETRAINED,
        EMBEDDINGS: Argument(
            name=EMBEDDINGS,
            annotation=Beginning | None,
            default=None,
            help="`{from: FILE}`, or an export: vectors of words with which tokens that are words begin.",
            nested=None,
            given=None,
        ),
    },
    "sections.elmo": {"pretrained": PRETRAINED},
}

# Keys of older pipeline files, and where they stand now.
MOVED_KEYS = {
    "training.seeds": "ensemble.seeds",
    "training.folds": "ensemble.folds",
    "data.labels": "data.targets.labels",
}

# Former names of keys, by the entry of the catalog whose keys they were; they are read as the present ones.
RENAMED_KEYS = {"models.gpt": {"normalizes_queries": "qk_norm"}}


@dataclass
class Config:
    """A checked configuration, whole.

    Attributes:
        values: nested plain values, defaults included.
        origins: for each key path, where its value came from: a place in a file, `--set`, `default`.
        section: which section the whole is, by its name in the catalog.
    """

    values: dict[str, Any]
    origins: dict[KeyPath, str] = field(default_factory=dict)
    section: str = "pipeline"

    def at(self, *path: str) -> Any:
        """Return the value at a key path."""
        value = self.values
        for key in path:
            value = value[key]
        return value

    @property
    def published(self) -> dict[KeyPath, str]:
        """The published weights that the model starts from, and those of models that are parts of it, by key path."""
        model = self.values["model"]
        inner = {("model", key): part["pretrained"] for key, part in model.items() if _is_published(part)}
        return ({("model",): model["pretrained"]} if _is_published(model) else {}) | inner


def _is_published(part: Any) -> bool:
    return isinstance(part, dict) and part.get("pretrained") is not None


def check(tree: Tree, section: str, problems: Sequence[ConfigError] = (), unread: Collection[KeyPath] = ()) -> Config:
    """Hold a tree against the constructor of a section.

    Args:
        tree: the values.
        section: its name in the catalog's SECTIONS.
        problems: what was found to be wrong as the tree was put together.
        unread: the sections that are not as they should be for that reason; nothing more is said about them.

    Raises:
        ConfigProblems: all that is wrong, each with place, key, what was expected and received, and the nearest key.
    """
    checker = _Checker(tree, problems, unread)
    values = checker.section(("sections", section), tree.values, ())
    if checker.problems:
        raise ConfigProblems(checker.problems)
    return Config(values, checker.origins, section)


def keys_of(kind: str, name: str) -> dict[str, Argument]:
    """List every key that the section of an entry of a catalog may hold, its own name aside."""
    shared = SHARED_KEYS.get(kind, {}) | SHARED_KEYS.get(f"{kind}.{name}", {})
    found = {**constructor(kind, name).arguments, **shared}
    return {key: argument for key, argument in found.items() if argument.in_file}


class _Checker:
    def __init__(self, tree: Tree, problems: Sequence[ConfigError], unread: Collection[KeyPath]):
        self.tree = tree
        self.problems = list(problems)
        self.unread = unread
        self.origins: dict[KeyPath, str] = {}

    def section(self, entry: tuple[str, str], values: Any, path: KeyPath, *, named: bool = False) -> dict[str, Any]:
        """Check the section of an entry of a catalog; `named` where it holds the entry's name too."""
        if not isinstance(values, dict):
            self._problem(path, "not a section", expected="a mapping", received=shown(values))
            return {}
        keys = keys_of(*entry)
        renamed = RENAMED_KEYS.get(".".join(entry), {})
        values = {renamed.get(key, key): value for key, value in values.items()}
        for unknown in [key for key in values if key not in keys and not (named and key == "name")]:
            moved = MOVED_KEYS.get(".".join(map(str, (*path, unknown))))
            what = f"the key is now `{moved}`" if moved else "unknown key"
            remedy = "" if moved else nearest(unknown, keys) or _offered(keys)
            self._problem((*path, unknown), what, remedy=remedy)
        resolved = {"name": values["name"]} if named else {}
        if named:
            self.origins[(*path, "name")] = self.tree.place((*path, "name"))
        for argument in keys.values():
            self._argument(argument, values, path, resolved)
        for wrong in broken(constructor(*entry).relations, resolved):
            details = {"expected": wrong.expected, "received": wrong.received, "remedy": wrong.remedy}
            self._problem((*path, *wrong.key.split(".")), wrong.what, **details)
        return resolved

    def _argument(self, argument: Argument, values: dict[str, Any], path: KeyPath, resolved: dict[str, Any]) -> None:
        inner = (*path, argument.name)
        if inner in self.unread:
            return
        if argument.name in values:
            value = values[argument.name]
            self.origins[inner] = self.tree.place(inner)
            if argument.nested and not (value is None and argument.default is None):
                resolved[argument.name] = self._nested(argument.nested, value, inner)
            else:
                if self._fits(argument, value, inner):
                    resolved[argument.name] = value
        elif argument.given:
            return  # the program fills it in
        elif argument.default is not REQUIRED:
            # As YAML would give it: a list where Python's default is a tuple.
            resolved[argument.name] = (
                list(argument.default) if isinstance(argument.default, tuple) else argument.default
            )
            self.origins[inner] = "default"
        elif isinstance(argument.nested, SectionMark | OfTaskMark):  # of defaults, as far as it has them
            self.origins[inner] = "default"
            resolved[argument.name] = self._nested(argument.nested, {}, inner)
        else:
            expected = "a section" if argument.nested else argument.expected()
            self._problem(inner, "missing key", expected=f"{expected} ({argument.help.rstrip('.')})")

    def _nested(self, mark: Mark, value: Any, path: KeyPath) -> Any:
        if isinstance(mark, PartsMark):
            return self._parts(mark, value, path)
        named = isinstance(mark, PartMark)
        if named and (not isinstance(value, dict) or "name" not in value):
            options = ", ".join(registry.names(mark.catalog))
            self._problem(
                path,
                "a part needs its name",
                expected=f"a mapping with `name:` one of {options}",
                received=shown(value),
            )
            return {}
        if isinstance(mark, OfTaskMark) and not self._has_task():
            return {}  # which is said where the task stands
        try:
            entry = mark.entry(value, self.tree.values)
            constructor(*entry).check()
        except ConfigError as error:
            self._problem(
                (*path, "name"), error.what, expected=error.expected, received=error.received, remedy=error.remedy
            )
            return {}
        return self.section(entry, value, path, named=named)

    def _parts(self, mark: PartsMark, value: Any, path: KeyPath) -> dict[str, Any]:
        if not isinstance(value, dict) or not value:
            self._problem(path, "not parts", expected="a mapping of a name to each part", received=shown(value))
            return {}
        self.origins |= {(*path, name): self.tree.place((*path, name)) for name in value}
        return {name: self._nested(mark.each, part, (*path, name)) for name, part in value.items()}

    def _has_task(self) -> bool:
        task = self.tree.values.get("task")
        return isinstance(task, dict) and task.get("name") in registry.names("tasks")

    def _fits(self, argument: Argument, value: Any, path: KeyPath) -> bool:
        wrong = argument.check(value)
        for inner, received in wrong:
            expected, remedy = argument.expected(), quotes_hint(received, argument.expected())
            self._problem((*path, *inner), "wrong value", expected=expected, received=shown(received), remedy=remedy)
        return not wrong

    def _problem(self, path: KeyPath, what: str, **details: str) -> None:
        key = ".".join(str(step) for step in path)
        place = self.tree.place(path)
        self.problems.append(ConfigError(what, key=key, where=f"{place}: {key}" if key else place, **details))


def _offered(keys: dict[str, Argument]) -> str:
    offered = [key for key, argument in keys.items() if not argument.given]
    return f"It takes: {', '.join(offered)}." if offered else "It takes no keys."
