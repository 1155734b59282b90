"""What the text of a module says of a constructor is what the class says that is imported."""

import subprocess
import sys
from pathlib import Path

import keras
import pytest

from tfattn import catalog, registry
from tfattn.config.constructors import constructor, inspected, read
from tfattn.errors import ConfigError
from tfattn.source_text import Unread

PROJECT = Path(__file__).resolve().parent.parent.parent
# What sections of a file are built from: all but what is found or called by name.
KINDS = [
    kind for kind in (*catalog.CATALOGS, "targets", "examples", "sections") if kind not in ("pretrained", "samples")
]
ENTRIES = [
    (kind, name) for kind in KINDS for name in registry.names(kind) if (kind, name) != ("sections", "pretrained")
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
    """All of it, but pydantic's marks, which are equal only as they are written."""
    return repr(text) == repr(found) and [one.schema for one in text.arguments.values() if one.in_file] == [
        one.schema for one in found.arguments.values() if one.in_file
    ]


@pytest.mark.parametrize(("kind", "name"), ENTRIES)
def test_an_entry_of_the_catalog_is_read_from_its_text_as_it_is(kind, name):
    text = read(registry.target(kind, name), contract=catalog.CONTRACTS.get(kind, ""))
    assert same(text, inspected(registry.find(kind, name)))
    text.check()


@pytest.mark.parametrize("name", ["Plain", "Inherits", "Positional", "Fields", "MoreFields", "Mixed", "function"])
def test_a_class_of_ones_own_is_read_from_its_text_as_it_is(own, name):
    text = read(f"{own}:{name}")
    assert own not in sys.modules or name != "Plain"  # the first of them: reading has imported nothing
    assert same(text, inspected(registry.load(f"{own}:{name}")))


def test_a_name_is_followed_to_where_it_is_defined(own):
    assert read("own_parts:Renamed") == read(f"{own}:Plain")
    assert read(f"{own}:Inherits").arguments["depth"].help == "how deep."
    assert read(f"{own}:Plain").arguments["width"].help == "how wide it is."


def test_an_inherited_argument_is_explained_by_the_class_that_has_it():
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
def test_what_the_text_does_not_say_for_certain_is_left_to_an_import(own, target):
    with pytest.raises(Unread):
        read(f"{own}:{target}")


@pytest.mark.parametrize("module", ["nowhere", "own_parts.nowhere", "own_parts.parts.nowhere", "sys", "math"])
def test_so_is_a_module_without_text(own, module):
    with pytest.raises(Unread):
        read(f"{module}:Plain")


def test_a_class_that_may_not_keep_the_contract_is_imported_and_refused(own, monkeypatch):
    monkeypatch.setitem(catalog.CATALOGS, "models", {"mine": f"{own}:Plain", "none": f"{own}:again"})
    for name in ("mine", "none"):
        with pytest.raises(ConfigError, match="is none of the models: expected a class that inherits from keras.Model"):
            constructor("models", name)


def test_what_has_to_be_imported_is_known_as_well(own, monkeypatch):
    monkeypatch.setitem(catalog.CATALOGS, "motors", {"tensor": f"{own}:Tensor", "both": f"{own}:Both"})
    found = constructor("motors", "tensor")
    assert [name for name, one in found.arguments.items() if one.in_file] == ["width"]
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
def test_a_class_that_no_section_can_be_built_from_is_refused(found, message):
    with pytest.raises(ConfigError, match=message):
        inspected(found).check()


def test_a_class_without_arguments_or_text_will_do():
    class Bare:
        pass

    inspected(Bare).check()
    assert inspected(Bare).arguments == {}


def test_no_pipeline_is_checked_shown_or_explained_by_importing_what_it_is_made_of():
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
    assert not done.stderr
