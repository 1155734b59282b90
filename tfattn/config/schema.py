"""Checks plain values against the signatures of constructors: collects all errors and fills in defaults."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from pydantic import Field

from tfattn import registry
from tfattn.config.arguments import REQUIRED, Argument
from tfattn.config.constructors import constructor
from tfattn.config.read import KeyPath, Tree, nearest_location
from tfattn.config.relations import violations
from tfattn.config.types import Mark, OfTaskMark, PartMark, PartsMark, SectionMark
from tfattn.config.wording import choices, describe_value, quotes_hint
from tfattn.errors import ConfigError, ConfigProblems, nearest
from tfattn.similar_names import is_sure, similar_names

EMBEDDINGS = "embeddings"
ADAPTER = "adapter"
# Not an argument of a constructor, because `from` is a keyword of Python.
InitFrom = Annotated[dict[Literal["from"], Annotated[str, Field(min_length=1)]], Field(min_length=1)]

PRETRAINED = Argument(
    name="pretrained",
    annotation=Annotated[str | None, Field(min_length=1)],
    default=None,
    help="pretrained weights to start from: `minilm`, `smollm2`, a folder, hf://OWNER/NAME or keras://PRESET; they "
    "also define the sizes.",
    nested=None,
    given=None,
)
# Keys in addition to the arguments of the constructor, of all entries of a catalog (`catalog`), or of a single entry
# (`catalog.name`). The program handles them.
SHARED_KEYS: dict[str, dict[str, Argument]] = {
    "models": {
        "pretrained": PRETRAINED,
        EMBEDDINGS: Argument(
            name=EMBEDDINGS,
            annotation=InitFrom | None,
            default=None,
            help="`{from: FILE}`, hf://OWNER/NAME/FILE, or an export: word vectors that initialize the embeddings of "
            "tokens that are words.",
            nested=None,
            given=None,
        ),
        ADAPTER: Argument(
            name=ADAPTER,
            annotation=Any,
            default=None,
            help="trains small changes of the pretrained weights, which stay as they are; null trains all weights.",
            nested=PartMark("adapters"),
            given=None,
        ),
    },
    "adapters": {
        "from": Argument(
            name="from",
            annotation=Annotated[str | None, Field(min_length=1)],
            default=None,
            help="the trained adapter to start from: a folder of the package `peft`, or hf://OWNER/NAME; it also "
            "defines rank, alpha and targets.",
            nested=None,
            given=None,
        ),
    },
    "sections.elmo": {"pretrained": PRETRAINED},
}


@dataclass
class Config:
    """A complete, checked configuration.

    Attributes:
        values: nested plain values, defaults included.
        origins: the origin of each value by key path: a location in a file, `--set key`, or `default`.
        section: the name of the top-level section in the catalog.
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

    def where(self, *path: str) -> str:
        """Return the origin of a key, or of the nearest section around it, and the key path, for messages."""
        return f"{nearest_location(self.origins, path)}: {'.'.join(path)}"

    @property
    def published(self) -> dict[KeyPath, str]:
        """The pretrained weights of the model, and of models inside it, by key path."""
        model = self.values["model"]
        inner = {("model", key): part["pretrained"] for key, part in model.items() if _is_published(part)}
        return ({("model",): model["pretrained"]} if _is_published(model) else {}) | inner


def _is_published(part: Any) -> bool:
    return isinstance(part, dict) and part.get("pretrained") is not None


def check(tree: Tree, section: str, problems: Sequence[ConfigError] = (), skipped: Collection[KeyPath] = ()) -> Config:
    """Check a tree against the constructor of a section.

    Args:
        tree: the values.
        section: the section's name in the catalog's SECTIONS.
        problems: errors from merging the tree, which are reported too.
        skipped: the sections of these errors; they are not checked.

    Raises:
        ConfigProblems: all errors, each with location, key, expected and received value, and the most similar key.
    """
    checker = _Checker(tree, section, problems, skipped)
    values = checker.section(("sections", section), tree.values, ())
    if checker.problems:
        raise ConfigProblems(checker.problems)
    return Config(values, checker.origins, section)


def keys_of(kind: str, name: str) -> dict[str, Argument]:
    """Return the keys of the section of a catalog entry, without `name`."""
    shared = SHARED_KEYS.get(kind, {}) | SHARED_KEYS.get(f"{kind}.{name}", {})
    found = {**constructor(kind, name).arguments, **shared}
    return {key: argument for key, argument in found.items() if argument.in_file}


def key_paths(entry: tuple[str, str], values: Any, whole: dict[str, Any], path: KeyPath = ()) -> Iterator[KeyPath]:
    """Yield the paths of all keys of a section and of the sections in it, in the order of the constructors.

    Args:
        entry: the catalog and the name of the section.
        values: the given values of the section. A part without a name has the keys of all parts of its catalog, unless
            it is in a part of the same catalog.
        whole: the pipeline that contains it.
        path: the path of the section.
    """
    for key, argument in keys_of(*entry).items():
        yield (*path, key)
        given = values.get(key) if isinstance(values, dict) else None
        for inner in _possible_entries(argument.nested, given, whole, outer=entry[0]):
            yield from key_paths(inner, given, whole, (*path, key))


def _possible_entries(mark: Mark | None, given: Any, whole: dict[str, Any], *, outer: str) -> list[tuple[str, str]]:
    if isinstance(mark, PartMark):
        names = registry.names(mark.catalog)
        name = given.get("name") if isinstance(given, dict) else None
        unnamed = [] if mark.catalog == outer else names
        return [(mark.catalog, known) for known in ([name] if name in names else unnamed)]
    task = whole.get("task")
    name = task.get("name") if isinstance(task, dict) else None
    if isinstance(mark, SectionMark) or isinstance(mark, OfTaskMark) and name in registry.names(mark.part):
        return [mark.entry({}, whole)]
    return []


class _Checker:
    def __init__(self, tree: Tree, section_name: str, problems: Sequence[ConfigError], skipped: Collection[KeyPath]):
        self.tree = tree
        self.section_name = section_name
        self.problems = list(problems)
        self.skipped = skipped
        self.origins: dict[KeyPath, str] = {}

    def section(self, entry: tuple[str, str], values: Any, path: KeyPath, *, named: bool = False) -> dict[str, Any]:
        """Check the section of a catalog entry and return its values; `named` if the section has the key `name`."""
        if not isinstance(values, dict):
            self._problem(path, "not a section", expected="a mapping", received=describe_value(values))
            return {}
        keys = keys_of(*entry)
        for unknown in [key for key in values if key not in keys and not (named and key == "name")]:
            self._problem((*path, unknown), "unknown key", remedy=self._suggestion(unknown, keys))
        resolved = {"name": values["name"]} if named else {}
        if named:
            self.origins[(*path, "name")] = self.tree.location((*path, "name"))
        for argument in keys.values():
            self._argument(argument, values, path, resolved)
        for error in violations(constructor(*entry).relations, resolved):
            details = {"expected": error.expected, "received": error.received, "remedy": error.remedy}
            self._problem((*path, *error.key.split(".")), error.what, **details)
        return resolved

    def _argument(self, argument: Argument, values: dict[str, Any], path: KeyPath, resolved: dict[str, Any]) -> None:
        inner = (*path, argument.name)
        if inner in self.skipped:
            return
        if argument.name in values:
            value = values[argument.name]
            self.origins[inner] = self.tree.location(inner)
            if argument.nested and not (value is None and argument.default is None):
                resolved[argument.name] = self._nested(argument.nested, value, inner)
            elif self._is_valid(argument, value, inner):
                resolved[argument.name] = value
        elif argument.given:
            return  # the program fills it in
        elif argument.default is not REQUIRED:
            # As in YAML: a list, also if the default in Python is a tuple.
            resolved[argument.name] = (
                list(argument.default) if isinstance(argument.default, tuple) else argument.default
            )
            self.origins[inner] = "default"
        elif isinstance(argument.nested, SectionMark | OfTaskMark):  # a section of defaults
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
            options = registry.names(mark.catalog)
            self._problem(
                path,
                "a part needs its name",
                expected=f"a mapping with `name:` one of {', '.join(options)}",
                received=describe_value(value),
                remedy=f"Write {{name: {value}}}." if value in options else "",
            )
            return {}
        if isinstance(mark, OfTaskMark) and not self._has_task():
            return {}  # the check of `task` reports this error
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
            self._problem(path, "not parts", expected="a mapping of names to parts", received=describe_value(value))
            return {}
        self.origins |= {(*path, name): self.tree.location((*path, name)) for name in value}
        return {name: self._nested(mark.item, part, (*path, name)) for name, part in value.items()}

    def _has_task(self) -> bool:
        task = self.tree.values.get("task")
        return isinstance(task, dict) and task.get("name") in registry.names("tasks")

    def _is_valid(self, argument: Argument, value: Any, path: KeyPath) -> bool:
        mismatches = argument.check(value)
        in_list: dict[KeyPath, list[tuple[KeyPath, Any]]] = {}
        for inner, found in mismatches:
            in_list.setdefault(inner[:-1] if inner and isinstance(inner[-1], int) else inner, []).append((inner, found))
        for (inner, found), *others in in_list.values():
            expected, received = argument.expected(), describe_value(found)
            if others:
                received += f", and {len(others)} more wrong values"
            remedy = quotes_hint(found, expected) or nearest(found, choices(argument.schema))
            self._problem((*path, *inner), "wrong value", expected=expected, received=received, remedy=remedy)
        return not mismatches

    def _suggestion(self, unknown: Any, keys: Mapping[str, Argument]) -> str:
        """Suggest a key for an unknown key: a key of its section, or a key of another section."""
        unknown, similar = str(unknown), similar_names(str(unknown), keys)
        if not (similar and is_sure(unknown, similar[0])):
            others: dict[str, str] = {}
            for path in sorted(key_paths(("sections", self.section_name), self.tree.values, self.tree.values), key=len):
                others.setdefault(path[-1], ".".join(path))
            elsewhere = similar_names(unknown, others)
            if elsewhere and (not similar or is_sure(unknown, elsewhere[0])):
                return f"Did you mean `{others[elsewhere[0]]}`?"
        return nearest(unknown, keys) or _available_keys(keys)

    def _problem(self, path: KeyPath, what: str, **details: str) -> None:
        key = ".".join(str(step) for step in path)
        location = self.tree.location(path)
        self.problems.append(ConfigError(what, key=key, where=f"{location}: {key}" if key else location, **details))


def _available_keys(keys: Mapping[str, Argument]) -> str:
    available = [key for key, argument in keys.items() if not argument.given]
    return f"The keys are: {', '.join(available)}." if available else "The section has no keys."
