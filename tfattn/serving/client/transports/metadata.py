"""The inputs and outputs of a version on a server."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Function:
    """The inputs and outputs of one signature.

    Attributes:
        inputs: name to type, such as DT_STRING.
        lists: the inputs of which a row has several texts.
        optional: the inputs that need not be sent.
        outputs: their names.
    """

    inputs: dict[str, str]
    lists: frozenset[str]
    optional: frozenset[str]
    outputs: tuple[str, ...]


@dataclass(frozen=True)
class Metadata:
    """The signatures of one version.

    Attributes:
        version: its number.
        signatures: its signatures by name.
    """

    version: int
    signatures: dict[str, Function]
