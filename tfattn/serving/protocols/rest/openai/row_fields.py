"""Requests whose texts are the rows of a signature: their common fields, and the computation of the rows."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np
from grpc import StatusCode
from pydantic import BaseModel, ConfigDict

from tfattn.serving.api.failure import Failure
from tfattn.serving.api.signature import Signature
from tfattn.serving.api.strings import strings
from tfattn.serving.engine.channel import Arrays
from tfattn.serving.models.version import Version
from tfattn.serving.protocols import core
from tfattn.serving.protocols.rest.openai import other_fields
from tfattn.serving.protocols.rest.openai.other_fields import OtherFields

# Optional outputs of a signature, (B,) each.
NUM_TOKENS, TRUNCATED = "num_tokens", "truncated"


class RowFields(BaseModel, ABC):
    """A request for the outputs of a signature for several texts.

    Attributes:
        model: the model's name.
        strict: whether to refuse unknown fields.
        needs: what a model needs to answer such requests, for messages.
        known: the known fields that the path does not define.
    """

    model_config = ConfigDict(strict=True, extra="allow")

    needs: ClassVar[str]
    known: ClassVar[OtherFields]

    model: str
    strict: bool | None = None

    @staticmethod
    @abstractmethod
    def find_signature(signatures: Mapping[str, Signature]) -> Signature | None:
        """Return the signature of a model that answers such requests; None if it has none."""

    @abstractmethod
    async def respond(self, version: Version, deadline: float) -> bytes:
        """Compute the body of the response.

        Args:
            version: a version with the signature.
            deadline: the time in the event loop's clock after which the request fails.

        Raises:
            Failure: INVALID_ARGUMENT with the parameter, or the computation failed.
        """

    def unknown_fields(self) -> list[str]:
        """Return the names of unknown fields.

        Raises:
            Failure: INVALID_ARGUMENT with the parameter, if a field is not supported, or unknown and `strict` is set.
        """
        return other_fields.check(self.model_extra, strict=bool(self.strict), known=self.known)


async def compute_rows(
    version: Version, signature: Signature, columns: Mapping[str, Sequence[str]], output: str, deadline: float
) -> Arrays:
    """Compute an output, and the optional outputs, for rows of texts.

    The rows are sorted by length, so that a request with more rows than a batch is computed in batches with little
    padding.

    Args:
        version: the version of the model.
        signature: the signature to compute.
        columns: B texts by input name.
        output: the name of the output.
        deadline: the time in the event loop's clock after which the request fails.

    Returns:
        arrays (B, ...) by output name, in the order of the rows; those of NUM_TOKENS and TRUNCATED that the model has.

    Raises:
        Failure: the computation failed, or the output has not a finite number for each row.
    """
    texts = {name: [text.encode() for text in column] for name, column in columns.items()}
    lengths = np.sum([[len(text) for text in column] for column in texts.values()], axis=0)
    order = np.argsort(-lengths, kind="stable")
    inputs = {name: strings(column)[order] for name, column in texts.items()}
    outputs = (output, *(name for name in (NUM_TOKENS, TRUNCATED) if name in signature.outputs))
    _, found = await core.predict(version, signature.name, inputs, outputs=outputs, deadline=deadline)
    if any(array.ndim < 1 or len(array) != len(order) for array in found.values()):
        raise Failure(StatusCode.INTERNAL, f"The model's output {output} has not a value for each text")
    if not np.isfinite(found[output]).all():
        raise Failure(StatusCode.INTERNAL, f"The model's output {output} has numbers that are not finite")
    positions = np.argsort(order)
    return {name: array[positions] for name, array in found.items()}


def is_text(signature: Signature, name: str) -> bool:
    """Return whether a signature has an input of one text for each row."""
    tensor = signature.inputs.get(name)
    return tensor is not None and tensor.dtype.name == "string" and tensor.shape == (-1,)


def has_floats(signature: Signature, name: str, *, rank: int) -> bool:
    """Return whether a signature has an output of float32 numbers of a rank, with a value for each row."""
    tensor = signature.outputs.get(name)
    known = tensor is not None and tensor.numpy_dtype == np.float32 and tensor.shape is not None
    return known and len(tensor.shape) == rank and tensor.has_rows


def usage(num_tokens: np.ndarray | None) -> dict[str, int]:
    """Return the number of tokens of a request; 0 if the export does not count them.

    Args:
        num_tokens: (B,) the number of tokens of each row.
    """
    total = 0 if num_tokens is None else int(num_tokens.sum())
    return {"prompt_tokens": total, "total_tokens": total}
