"""Annotations of constructor arguments that define the sections of a pipeline file.

A keyword argument of a model, task, source or section is a key of its YAML section: the annotation is the type of the
key, the default its default, and the text under `Args:` its explanation. Annotations are plain types, types of pydantic
(`PositiveInt`), `Literal`, the relations of relations.py, and these:

    optimizer: Part("optimizers")       a nested section; its `name` is an entry of the catalog
    sources: Parts("sources")           a mapping of names to such sections
    split: Section("split")             a nested section of a fixed class
    targets: OfTask("targets")          a nested section whose class depends on the pipeline's task
    model: Given[Encoder]               filled in by the program; not a key
    vocabulary_size: Size[int]          like Given, but also a key, whose value must agree with the data
"""

from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypeVar

from pydantic import Field

T = TypeVar("T")


@dataclass(frozen=True)
class GivenMark:
    """A mark of an argument that the program fills in.

    Attributes:
        may_be_stated: whether the argument is a key too.
    """

    may_be_stated: bool = False


@dataclass(frozen=True)
class PartMark:
    """A mark of a nested section whose class is chosen by name from a catalog."""

    catalog: str

    def entry(self, values: dict[str, Any], whole: dict[str, Any]) -> tuple[str, str]:
        """Return the catalog and the name of the section's class.

        Args:
            values: the section.
            whole: the pipeline that contains it.
        """
        return self.catalog, values["name"]


@dataclass(frozen=True)
class PartsMark:
    """A mark of a mapping of names to nested sections, each as with PartMark."""

    catalog: str

    @property
    def item(self) -> PartMark:
        """The mark of a value of the mapping."""
        return PartMark(self.catalog)


@dataclass(frozen=True)
class SectionMark:
    """A mark of a nested section of a fixed class."""

    section: str

    def entry(self, values: dict[str, Any], whole: dict[str, Any]) -> tuple[str, str]:
        """Return the catalog and the name of the section's class; see PartMark."""
        return "sections", self.section


@dataclass(frozen=True)
class OfTaskMark:
    """A mark of a nested section whose class depends on the pipeline's task."""

    part: str

    def entry(self, values: dict[str, Any], whole: dict[str, Any]) -> tuple[str, str]:
        """Return the catalog and the name of the section's class; see PartMark."""
        return self.part, whole["task"]["name"]


Mark = PartMark | PartsMark | SectionMark | OfTaskMark


def Part(catalog: str) -> Any:
    """Mark a nested section whose `name` chooses its class from a catalog, as in `Part("optimizers")`."""
    return Annotated[Any, PartMark(catalog)]


def Parts(catalog: str) -> Any:
    """Mark a mapping of names to sections whose `name` chooses their class, as in `Parts("sources")`."""
    return Annotated[Any, PartsMark(catalog)]


def Section(section: str) -> Any:
    """Mark a nested section of a class of catalog.SECTIONS, as in `Section("split")`."""
    return Annotated[Any, SectionMark(section)]


def OfTask(part: str) -> Any:
    """Mark a nested section of a class of the task's Kind in the catalog, as in `OfTask("targets")`."""
    return Annotated[Any, OfTaskMark(part)]


Given = Annotated[T, GivenMark()]
Size = Annotated[T, GivenMark(may_be_stated=True)]

Depth = Annotated[int, Field(ge=1, le=1000)]  # layers of a stack; building more takes minutes, even for small layers
Seed = Annotated[int, Field(ge=0, lt=2**31)]
Rate = Annotated[float, Field(ge=0.0, lt=1.0)]  # a dropout probability
# Choices of the blocks of attention models.
GATED_ACTIVATIONS = ("glu", "reglu", "geglu", "geglu_approximate", "swiglu")
Activation = Literal[
    *("gelu", "gelu_approximate", "relu", "relu_squared", "silu", "sigmoid", "tanh"),
    *GATED_ACTIVATIONS,
]
# Each position by itself, so that a decoder sees no later position.
PositionNormalization = Literal["layer_norm", "layer_norm_no_bias", "rms_norm", "none"]
Normalization = Literal[PositionNormalization, "batch_norm"]
Fraction = Annotated[float, Field(ge=0.0, le=1.0)]
