"""OpenAI's embeddings."""

import asyncio
import base64
import json
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field, PositiveInt

from tfattn.features import EMBEDDING, ENCODED, IMAGE
from tfattn.formats.limits import MAX_TEXT_LENGTH
from tfattn.serving.api.signature import DEFAULT, Signature
from tfattn.serving.models.version import Version
from tfattn.serving.protocols.rest.openai.other_fields import OFF, OtherFields
from tfattn.serving.protocols.rest.openai.row_fields import (
    NUM_TOKENS,
    TRUNCATED,
    RowFields,
    compute_rows,
    has_floats,
    is_text,
    usage,
)
from tfattn.serving.protocols.rest.predict_response import is_large, shortest_floats
from tfattn.serving.protocols.rest.response import invalid_parameter

MAX_INPUTS = 2048  # of a request, as in OpenAI's API
Text = Annotated[str, Field(max_length=MAX_TEXT_LENGTH)]
Texts = Annotated[tuple[Text, ...], Field(min_length=1, max_length=MAX_INPUTS)]
TokenIds = Annotated[tuple[int, ...] | tuple[tuple[int, ...], ...], Field(min_length=1)]

_PUT_INTO_TEXT = "put the instruction into each text of input"

# Fields of OpenAI, vLLM, Text Embeddings Inference, llama.cpp, Jina, Cohere, Voyage and Mistral.
OF_EMBEDDINGS = OtherFields(
    {
        "inputs": ("use input", ()),
        "content": ("use input", ()),
        "texts": ("use input", ()),
        "messages": ("use input", ()),
        "images": ("the model embeds texts", OFF),
        "stream": ("leave it out: the response is sent at once", (False,)),
        "prompt_name": (_PUT_INTO_TEXT, ()),
        "prompt": (_PUT_INTO_TEXT, OFF),
        "task": (_PUT_INTO_TEXT, ()),
        "input_type": (_PUT_INTO_TEXT, ()),
        "instruction": (_PUT_INTO_TEXT, OFF),
        "add_special_tokens": ("leave it out: special tokens are always added", (True,)),
        "late_chunking": ("send each part of the text as a text of its own", (False,)),
        "truncation": ("use truncate", ()),
        "truncation_direction": ("leave it out: the end of a text is cut", ("right", "Right")),
        "output_dimension": ("use dimensions", ()),
        "normalized": ("use normalize", ()),
        "embd_normalize": ("use normalize", (2,)),
        "output_dtype": ("leave it out: vectors are float32", ("float", "float32")),
        "embed_dtype": ("leave it out: vectors are float32", ("float32",)),
        "embedding_types": ("use encoding_format", (["float"],)),
        "embedding_type": ("use encoding_format", ("float",)),
        "endianness": ("leave it out: base64 is little-endian", ("native", "little")),
    },
    {"user", "priority", "request_id", "cache_salt"},
)


class EmbeddingFields(RowFields):
    """A request to /v1/embeddings.

    Attributes:
        input: a text or several; token ids are refused with an explanation.
        encoding_format: how a vector is written: a list of numbers, or little-endian float32 numbers in base64.
        dimensions: the number of dimensions to keep; all by default. Fewer dimensions of a model that was trained for
            it (Matryoshka) are a good shorter vector.
        normalize: whether vectors have length 1; true by default.
        truncate: whether to cut texts that are too long; by default they are refused.
        truncate_prompt_tokens: vLLM's field; -1 is `truncate`.
    """

    needs: ClassVar[str] = "does not embed texts"
    known: ClassVar[OtherFields] = OF_EMBEDDINGS

    input: Text | Texts | TokenIds
    encoding_format: Literal["float", "base64"] | None = None
    dimensions: PositiveInt | None = None
    normalize: bool | None = None
    truncate: bool | None = None
    truncate_prompt_tokens: Literal[-1] | None = None

    @staticmethod
    def find_signature(signatures: Mapping[str, Signature]) -> Signature | None:
        """Return the signature from one text to its vector: the default one, or else the first by name."""
        found = [signature for _, signature in sorted(signatures.items()) if _vector_output(signature)]
        return min(found, key=lambda signature: signature.name != DEFAULT, default=None)

    async def respond(self, version: Version, deadline: float) -> bytes:
        texts = (self.input,) if isinstance(self.input, str) else self.input
        if not isinstance(texts[0], str):
            message = "token ids depend on the vocabulary of each model; send texts, which the server tokenizes"
            raise invalid_parameter("input", message, error_code="unsupported_parameter")
        if "" in texts:
            raise invalid_parameter("input", f"text {texts.index('')} is empty, counted from 0")
        signature = self.find_signature(version.signatures)
        (name,), output = signature.inputs, _vector_output(signature)
        found = await compute_rows(version, signature, {name: texts}, output, deadline)
        if not (self.truncate or self.truncate_prompt_tokens):
            _check_lengths(found.get(TRUNCATED))
        vectors = self._shortened(found[output])
        answer = {"model": self.model, "usage": usage(found.get(NUM_TOKENS))}
        if is_large({output: vectors}):
            return await asyncio.to_thread(self._response, vectors, answer)
        return self._response(vectors, answer)

    def _shortened(self, vectors: np.ndarray) -> np.ndarray:
        """Return the first `dimensions` of vectors (B, D), with length 1 unless `normalize` is false."""
        if self.dimensions is not None and self.dimensions > vectors.shape[1]:
            message = f"expected at most {vectors.shape[1]}, received {self.dimensions}"
            raise invalid_parameter("dimensions", message)
        vectors = vectors[:, : self.dimensions]
        if self.normalize is False:
            return vectors
        lengths = np.linalg.norm(vectors.astype(np.float64), axis=1, keepdims=True)
        return (vectors / np.where(lengths > 0, lengths, 1)).astype(np.float32)

    def _response(self, vectors: np.ndarray, answer: dict[str, Any]) -> bytes:
        if self.encoding_format == "base64":
            written = [base64.b64encode(vector.tobytes()).decode() for vector in vectors.astype("<f4")]
        else:
            written = shortest_floats(vectors).tolist()
        # One by one, because the encoder blocks other threads.
        items = (
            json.dumps({"object": "embedding", "index": index, "embedding": vector})
            for index, vector in enumerate(written)
        )
        head = json.dumps({"object": "list", **answer}, ensure_ascii=False)
        return f'{head[:-1]}, "data": [{", ".join(items)}]}}'.encode()


def _vector_output(signature: Signature) -> str:
    """Return the output of a signature from one text to a vector; empty for other signatures."""
    if len(signature.inputs) != 1 or IMAGE in signature.inputs or not is_text(signature, *signature.inputs):
        return ""
    return next((name for name in (EMBEDDING, ENCODED) if has_floats(signature, name, rank=2)), "")


def _check_lengths(truncated: np.ndarray | None) -> None:
    """Refuse texts that are longer than the model reads."""
    if truncated is not None and truncated.any():
        message = (
            f"text {int(truncated.argmax())} is longer than the model reads, counted from 0; send parts of it, or set "
            "truncate to cut it"
        )
        raise invalid_parameter("input", message, error_code="context_length_exceeded")
