"""Signatures: parsing the source text gives the same as inspecting the imported class."""

import subprocess
import sys
from pathlib import Path

import keras
import pytest

from tfattn import catalog, registry
from tfattn.config.constructors import constructor, inspect_constructor, parse_constructor
from tfattn.errors import ConfigError
from tfattn.source_text import UnresolvedError

PROJECT = Path(__file__).resolve().parent.parent.parent
# Catalogs of classes that sections are built from.
KINDS = [
    kind for kind in (*catalog.CATALOGS, "targets", "examples", "sections") if kind not in ("pretrained", "samples")
]
ENTRIES = [
    (kind, name)
    for kind in KINDS
    for name in registry.names(kind)
    if (kind, name) not in (("sections", "peft_adapter"), ("sections", "pretrained"))
]

OWN = """\
import contextlib
import dataclasses
import functools
from dataclasses import KW_ONLY, dataclass, field
from typing import Annotated, ClassVar, Literal

import keras
from pydantic import PositiveInt as Positive

LATE = 3

from own_parts.base import MOST, Base, Chosen
from own_parts.base import Base as Same
from tfattn.config.types import Given, Part, Size
from tfattn.models.contracts.encoder import Encoder

with contextlib.suppress(ImportError):
    from os import sep as Sometimes


class Plain(Base):
    '''One line.

    Args:
        width: how wide
            it is.
        model, other: given.
    '''

    def __init__(self, *, width: Positive = MOST * 2, kind: Chosen = "a", part: Part("models") | None = None,
                 model: "Given[Encoder]", other: Given[keras.KerasTensor] | None = None, size: Size[int], free=3):
        pass


class Inherits(Base):
    pass


class Both(Plain, keras.layers.Layer):
    pass


class Tensor(keras.layers.Layer):
    def __init__(self, *, start: keras.Initializer | None = None, width: int):
        pass


class Inner(keras.layers.Layer):
    pass


class Positional(Base):
    def __init__(self, first, *rest, width: int = 1, **others):
        pass


@dataclass(order=True, kw_only=True)
class Fields(Base):
    '''Has fields.'''
    count: ClassVar[int] = 3
    width: int
    names: list[str] = field(default_factory=lambda: ["a"])
    kind: Literal["a", "b"] = dataclasses.field(default="b")

    def area(self):
        return self.width


@dataclass(kw_only=True)
class MoreFields(Fields):
    '''Has more.'''
    depth: int = 2
    width: int = 5


@dataclass
class Mixed:
    '''Has both.'''
    first: int
    _: KW_ONLY
    second: int = 2


@functools.total_ordering
class Decorated(Plain):
    '''Is decorated.'''
    def __lt__(self, other):
        return True


class Conditional:
    '''Depends.'''
    def __init__(self, *, path: str = Sometimes):
        pass


class Same(Same):
    pass


class Twice(Base):
    pass


class Twice(Plain):
    pass


class Late:
    def __init__(self, *, width: int = LATE):
        pass


LATE = 4


def function(*, width: int = 3, given: Given[Encoder]):
    '''Does.'''


again = Plain
"""
BASE = """\
from typing import Literal

MOST = 4
Chosen = Literal["a", "b"]

class Base:
    '''The base.

    Args:
        depth: how deep.
    '''
    def __init__(self, *, depth: int = MOST):
        pass
"""


@pytest.fixture(scope="module")
def own(tmp_path_factory):
    """A package of a user's own."""
    folder = tmp_path_factory.mktemp("own")
    (folder / "own_parts").mkdir()
    (folder / "own_parts/__init__.py").write_text("from .parts import Plain as Renamed\n")
    (folder / "own_parts/parts.py").write_text(OWN)
    (folder / "own_parts/base.py").write_text(BASE)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(folder)
        yield "own_parts.parts"
    for name in [name for name in sys.modules if name.partition(".")[0] == "own_parts"]:
        del sys.modules[name]


def same(text, found):
    """Return whether two signatures are equal; metadata of pydantic are compared by representation and schema."""
    schemas = [
        [argument.schema for argument in signature.arguments.values() if argument.in_file]
        for signature in (text, found)
    ]
    return repr(text) == repr(found) and schemas[0] == schemas[1]


@pytest.mark.parametrize(("kind", "name"), ENTRIES)
def test_parsing_equals_inspection_for_every_catalog_entry(kind, name):
    text = parse_constructor(registry.target(kind, name), contract=catalog.CONTRACTS.get(kind, ""))
    assert same(text, inspect_constructor(registry.find(kind, name)))
    text.check()


@pytest.mark.parametrize("name", ["Plain", "Inherits", "Positional", "Fields", "MoreFields", "Mixed", "function"])
def test_parsing_equals_inspection_for_user_classes(own, name):
    text = parse_constructor(f"{own}:{name}")
    assert own not in sys.modules or name != "Plain"  # the first class: parsing has imported nothing
    assert same(text, inspect_constructor(registry.load(f"{own}:{name}")))


def test_imported_names_are_followed_to_their_definition(own):
    assert parse_constructor("own_parts:Renamed") == parse_constructor(f"{own}:Plain")
    assert parse_constructor(f"{own}:Inherits").arguments["depth"].help == "how deep."
    assert parse_constructor(f"{own}:Plain").arguments["width"].help == "how wide it is."


def test_an_inherited_argument_has_the_help_of_its_class():
    arguments = constructor("sections", "generation").arguments
    assert all(argument.help for argument in arguments.values()), arguments


@pytest.mark.parametrize(
    "target",
    [
        "Both",
        "Tensor",
        "Inner",
        "Decorated",
        "Conditional",
        "Same",
        "Twice",
        "Late",
        "again",
        "Nowhere",
        "MOST",
        "keras",
        "Plain.area",
    ],
)
def test_ambiguous_text_is_unresolved(own, target):
    with pytest.raises(UnresolvedError):
        parse_constructor(f"{own}:{target}")


@pytest.mark.parametrize("module", ["nowhere", "own_parts.nowhere", "own_parts.parts.nowhere", "sys", "math"])
def test_a_module_without_source_text_is_unresolved(own, module):
    with pytest.raises(UnresolvedError):
        parse_constructor(f"{module}:Plain")


def test_a_class_outside_the_contract_is_imported_and_refused(own, monkeypatch):
    monkeypatch.setitem(catalog.CATALOGS, "models", {"mine": f"{own}:Plain", "none": f"{own}:again"})
    for name in ("mine", "none"):
        with pytest.raises(ConfigError, match="does not implement the contract of models"):
            constructor("models", name)


def test_unresolved_classes_are_imported_and_inspected(own, monkeypatch):
    monkeypatch.setitem(catalog.CATALOGS, "motors", {"tensor": f"{own}:Tensor", "both": f"{own}:Both"})
    found = constructor("motors", "tensor")
    assert [name for name, argument in found.arguments.items() if argument.in_file] == ["width"]
    assert "size" in constructor("motors", "both").arguments


class Positional:
    def __init__(self, watts: float, *, colour: str = "red"):
        pass


class Object:
    def __init__(self, *, start: keras.initializers.Initializer):
        pass


class Unknown:
    def __init__(self, *, start: "Nowhere"):  # noqa: F821 (what a user may forget to import)
        pass


@pytest.mark.parametrize(
    ("found", "message"),
    [
        (Positional, r"Positional: expected keyword arguments, after a `\*`, received watts"),
        (Object, "Object: expected types that YAML has, or defaults, received start"),
        (Unknown, r"the types of the arguments of .*Unknown cannot be read \(name 'Nowhere' is not defined\)"),
    ],
)
def test_a_class_with_arguments_that_no_key_can_set_is_refused(found, message):
    with pytest.raises(ConfigError, match=message):
        inspect_constructor(found).check()


def test_a_class_without_arguments_passes():
    class Bare:
        pass

    inspect_constructor(Bare).check()
    assert inspect_constructor(Bare).arguments == {}


def test_checking_and_listing_import_no_heavy_module(published_hub):
    code = f"""
import contextlib, io, pathlib, sys
from tfattn import catalog, cli, registry
from tfattn.cli.configuration import LISTS

heavy = ("tensorflow", "keras", "sklearn", "scipy", "jax", "torch", "matplotlib", "tfattn.stages")
commands = [["schema"], ["--help"], *(["list", kind] for kind in LISTS)]
for kind in {KINDS}:
    commands += [["list", kind, name] for name in registry.names(kind)]
for path in pathlib.Path("pipelines").glob("*.yaml"):
    commands += [["check", str(path)], ["show", str(path)]]
for command in commands:
    sys.argv = ["tfattn", *command]
    with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
        cli.main()
    imported = [name for name in heavy if name in sys.modules]
    assert not imported, (command, imported)
print(len(commands))
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=PROJECT, capture_output=True, text=True)
    assert done.returncode == 0 and int(done.stdout) > 30, done.stdout + done.stderr
    assert all(line.startswith("downloading hf://") for line in done.stderr.splitlines()), done.stderr
