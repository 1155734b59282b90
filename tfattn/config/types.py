"""Annotations with which a constructor says what its section of a pipeline file may hold.

A keyword argument of a model, task, source or section is a key of its YAML section: its annotation is the type, its
default the default, its line under `Args:` the explanation. Plain types and pydantic's (`PositiveInt`, `Literal`) mean
what they say. How keys go together is stated beside them (relations.py). Six more are needed:

    optimizer: Part("optimizers")       a nested section, whose `name` is looked up in that catalog
    sources: Parts("sources")           several of them, each under a name of the user's own
    split: Section("split")             a nested section of that fixed class
    targets: OfTask("targets")          a nested section of the class that the pipeline's task has for it
    model: Given[Encoder]               known only to the program, which fills it in; no key
    vocabulary_size: Size[int]          as Given, but a file may state it as well, and then it must agree with the data
"""

from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypeVar

from pydantic import Field

T = TypeVar("T")


@dataclass(frozen=True)
class GivenMark:
    """Marks an argument that the program fills in.

    Attributes:
        may_be_stated: whether a file may have it as a key beside.
    """

    may_be_stated: bool = False


@dataclass(frozen=True)
class PartMark:
    """Marks a nested section whose class a catalog gives by name."""

    catalog: str

    def entry(self, values: dict[str, Any], whole: dict[str, Any]) -> tuple[str, str]:
        """Return the catalog and the name of what the section is built from.

        Args:
            values: the section.
            whole: the pipeline that it is a part of.
        """
        return self.catalog, values["name"]


@dataclass(frozen=True)
class PartsMark:
    """Marks a mapping of names to nested sections, each of which is as a PartMark says."""

    catalog: str

    @property
    def each(self) -> PartMark:
        """The mark of each of them."""
        return PartMark(self.catalog)


@dataclass(frozen=True)
class SectionMark:
    """Marks a nested section of a fixed class."""

    section: str

    def entry(self, values: dict[str, Any], whole: dict[str, Any]) -> tuple[str, str]:
        """Return the catalog and the name of what the section is built from; see PartMark."""
        return "sections", self.section


@dataclass(frozen=True)
class OfTaskMark:
    """Marks a nested section whose class follows from the task of the pipeline."""

    part: str

    def entry(self, values: dict[str, Any], whole: dict[str, Any]) -> tuple[str, str]:
        """Return the catalog and the name of what the section is built from; see PartMark."""
        return self.part, whole["task"]["name"]


Mark = PartMark | PartsMark | SectionMark | OfTaskMark


def Part(catalog: str) -> Any:
    """`Part("optimizers")`: a nested section, built from the catalog's class of its `name`."""
    return Annotated[Any, PartMark(catalog)]


def Parts(catalog: str) -> Any:
    """`Parts("sources")`: a mapping, each of whose values is built from the catalog's class of its `name`."""
    return Annotated[Any, PartsMark(catalog)]


def Section(section: str) -> Any:
    """`Section("split")`: a nested section, built from the class that catalog.SECTIONS gives."""
    return Annotated[Any, SectionMark(section)]


def OfTask(part: str) -> Any:
    """`OfTask("targets")`: a nested section, built from the class that the task's Kind in the catalog has for it."""
    return Annotated[Any, OfTaskMark(part)]


Given = Annotated[T, GivenMark()]
Size = Annotated[T, GivenMark(may_be_stated=True)]

Depth = Annotated[int, Field(ge=1, le=1000)]  # layers of a stack; to make more takes minutes, whatever their sizes
Seed = Annotated[int, Field(ge=0, lt=2**31)]
Rate = Annotated[float, Field(ge=0.0, lt=1.0)]  # a dropout probability
# By which blocks of attention models are put together, wherever these have the choice.
Activation = Literal[
    *("gelu", "gelu_approximate", "relu", "relu_squared", "silu", "sigmoid", "tanh"),
    *("glu", "reglu", "geglu", "swiglu"),
]
Normalization = Literal["layer_norm", "rms_norm", "none", "batch_norm"]
Fraction = Annotated[float, Field(ge=0.0, le=1.0)]  # a part of a whole
