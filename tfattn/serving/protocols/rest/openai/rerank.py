"""Reranking in the format of Jina and Cohere: the relevance of documents to a query."""

import json
import secrets
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, PositiveInt

from tfattn.features import DOCUMENT, QUERY, SCORE
from tfattn.formats.limits import MAX_TEXT_LENGTH
from tfattn.serving.api.signature import Signature
from tfattn.serving.models.version import Version
from tfattn.serving.protocols.rest.openai.other_fields import OFF, OtherFields
from tfattn.serving.protocols.rest.openai.row_fields import (
    NUM_TOKENS,
    RowFields,
    compute_rows,
    has_floats,
    is_text,
    usage,
)
from tfattn.serving.protocols.rest.predict_response import shortest_floats
from tfattn.serving.protocols.rest.response import invalid_parameter

MAX_DOCUMENTS = 1000  # of a request, as in Cohere's API
Text = Annotated[str, Field(max_length=MAX_TEXT_LENGTH)]

# Fields of Jina, Cohere, Voyage, vLLM and Text Embeddings Inference.
OF_RERANKING = OtherFields(
    {
        "texts": ("use documents", ()),
        "top_k": ("use top_n", ()),
        "return_text": ("use return_documents", ()),
        "rank_fields": ("send each document as a text", (["text"], [])),
        "max_chunks_per_doc": ("send each part of a document as a document of its own", (1,)),
        "max_tokens_per_doc": ("shorten the documents", ()),
        "truncate_prompt_tokens": ("leave it out: the end of a long document is cut", (-1,)),
        "truncate": ("leave it out: the end of a long document is cut", (True,)),
        "truncation": ("leave it out: the end of a long document is cut", (True,)),
        "truncation_direction": ("leave it out: the end of a long document is cut", ("right", "Right")),
        "raw_scores": ("leave it out: scores are between 0 and 1", (False,)),
        "return_embeddings": ("ask for vectors at /v1/embeddings", (False,)),
        "instruction": ("put the instruction into the query", OFF),
        "stream": ("leave it out: the response is sent at once", (False,)),
    },
    {"user", "priority", "request_id"},
)


class Document(BaseModel):
    """A document as an object."""

    model_config = ConfigDict(strict=True, extra="forbid")

    text: Text


class RerankFields(RowFields):
    """A request to /v1/rerank.

    Attributes:
        query: the query.
        documents: the documents, each a text or an object with a `text`.
        top_n: the number of documents to return, the most relevant first; all by default.
        return_documents: whether results have the documents; false by default.
    """

    needs: ClassVar[str] = "does not rerank documents"
    known: ClassVar[OtherFields] = OF_RERANKING

    query: Text
    documents: Annotated[tuple[Text | Document, ...], Field(min_length=1, max_length=MAX_DOCUMENTS)]
    top_n: PositiveInt | None = None
    return_documents: bool | None = None

    @staticmethod
    def find_signature(signatures: Mapping[str, Signature]) -> Signature | None:
        """Return the signature from a query and a document to a score."""
        for _, signature in sorted(signatures.items()):
            inputs = signature.inputs.keys() == {QUERY, DOCUMENT} and all(
                is_text(signature, name) for name in (QUERY, DOCUMENT)
            )
            if inputs and has_floats(signature, SCORE, rank=1):
                return signature
        return None

    async def respond(self, version: Version, deadline: float) -> bytes:
        texts = [document if isinstance(document, str) else document.text for document in self.documents]
        if not self.query.strip():
            raise invalid_parameter("query", "the text is empty")
        for index, text in enumerate(texts):
            if not text.strip():
                raise invalid_parameter("documents", f"document {index} is empty, counted from 0; leave it out")
        signature = self.find_signature(version.signatures)
        columns = {QUERY: [self.query] * len(texts), DOCUMENT: texts}
        found = await compute_rows(version, signature, columns, SCORE, deadline)
        order = np.argsort(-found[SCORE], kind="stable")[: self.top_n].tolist()
        scores = shortest_floats(found[SCORE]).tolist()
        results: list[dict[str, Any]] = []
        for index in order:
            document = {"document": {"text": texts[index]}} if self.return_documents else {}
            results.append({"index": index, "relevance_score": scores[index], **document})
        head = {"id": f"rerank-{secrets.token_hex(12)}", "model": self.model}
        answer = {**head, "results": results, "usage": usage(found.get(NUM_TOKENS))}
        return json.dumps(answer, ensure_ascii=False).encode()
