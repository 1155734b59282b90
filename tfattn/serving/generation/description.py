"""The language model of an export: its contract, sizes, special tokens and chat template."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import ml_dtypes  # noqa: F401  registers bfloat16 with NumPy
import numpy as np

from tfattn.errors import ServingError
from tfattn.formats.chat_template import ChatTemplate
from tfattn.sampling_params import ANNOTATIONS
from tfattn.serving.generation.kv_cache import MIN_CAPACITY, KVCache, Layout

FILE, TOKEN_BYTES = Path("assets") / "generation.json", Path("assets") / "token_bytes.json"
# Signatures of `DecodingSteps`.
DECODE_STEP, PREFILL, PROMPT_LOGPROBS, TOKENIZE = "decode_step", "prefill", "prompt_logprobs", "tokenize"


class LanguageModel(Protocol):
    """The contract of a loaded model: `SavedModel`, `LiteRtDecoder`.

    Attributes:
        folder: of the export.
        max_step_tokens: the most tokens of all texts that a decode step reads, proposals included.
        max_chunk: the most prompt tokens that are read at a time.
        scores_prompts: whether there is the signature `prompt_logprobs`.
    """

    folder: Path
    scores_prompts: bool
    max_step_tokens: int
    max_chunk: int

    def run(
        self, signature: str, inputs: Mapping[str, np.ndarray], outputs: Sequence[str] = ()
    ) -> dict[str, np.ndarray]:
        """Compute outputs of a signature; all of them if none is named."""

    def new_cache(self, layout: Layout, *, rows: int = 1, capacity: int = MIN_CAPACITY) -> KVCache:
        """Return an empty cache, whose `array` is the input `past`."""


def writes_texts(folder: Path) -> bool:
    """Return whether the folder of a version has a language model that generates text step by step."""
    return (folder / FILE).is_file()


@dataclass(frozen=True, kw_only=True)
class Description:
    """The description of a language model in its export.

    Attributes:
        context: the most tokens of prompt and text together.
        start_ids: the tokens before a prompt.
        prefix: the text before a prompt.
        prefix_unless: starts of prompts without the prefix.
        end_ids: the tokens that end a text; without start tokens, an empty prompt is replaced by the first of them.
        special_tokens: ids of special tokens by name.
        chat_template: the format of chats; None if the model has no template.
        defaults: recommended sampling parameters of `SamplingParams`, by name.
        token_bytes: the bytes of each token; empty for special tokens.
        layout: of the keys and values of a position.
        takes_logit_bias: whether `decode_step` has the input `logit_bias`; older exports do not.
    """

    context: int
    start_ids: tuple[int, ...]
    prefix: str
    prefix_unless: tuple[str, ...]
    end_ids: tuple[int, ...]
    special_tokens: dict[str, int]
    chat_template: ChatTemplate | None
    defaults: dict[str, Any]
    token_bytes: tuple[bytes, ...]
    layout: Layout
    takes_logit_bias: bool

    def prefixed(self, prompt: str) -> str:
        """Return a prompt with its prefix."""
        return prompt if prompt.startswith(self.prefix_unless) else self.prefix + prompt

    @property
    def vocabulary_size(self) -> int:
        """The number of tokens, V."""
        return len(self.token_bytes)

    def ends(self, *, of_chat: bool) -> frozenset[int]:
        """Return the tokens that end a text, or an answer in a chat."""
        if not of_chat or self.chat_template is None:
            return frozenset(self.end_ids)
        return frozenset((*self.end_ids, self.special_tokens[self.chat_template.end]))

    @classmethod
    def read(cls, folder: Path) -> "Description":
        """Read the description from the folder of a version.

        Raises:
            ServingError: the model does not generate text step by step, or the files are damaged.
        """
        try:
            values = json.loads((folder / FILE).read_bytes())
            tokens = json.loads((folder / TOKEN_BYTES).read_bytes())
            layout = Layout(values["num_layers"], values["num_groups"], values["head_dim"], np.dtype(values["dtype"]))
            return cls(
                context=int(values["context"]),
                start_ids=tuple(values.get("start_ids", ())),
                prefix=values.get("prefix", ""),
                prefix_unless=tuple(values.get("prefix_unless", ())),
                end_ids=tuple(values["end_ids"]),
                special_tokens=dict(values["special_tokens"]),
                chat_template=ChatTemplate.of(values["chat_template"]) if values["chat_template"] else None,
                defaults=read_defaults(values["defaults"]),
                token_bytes=tuple(token.encode("latin-1") for token in tokens),
                layout=layout,
                takes_logit_bias=bool(values.get("takes_logit_bias")),
            )
        except FileNotFoundError as error:
            raise ServingError(
                "the model does not write texts step by step",
                where=str(folder),
                expected=str(FILE),
                received=f"no file {error.filename}",
                remedy="Export a model of the task language_modeling.",
            ) from None
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise ServingError(
                "cannot read the description of the language model",
                where=str(folder / FILE),
                received=repr(error),
                remedy="Export the model again: `tfattn export PIPELINE --force`.",
            ) from None


def read_defaults(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the recommended sampling parameters in a description, of earlier exports too.

    Earlier exports name `max_tokens` differently, and have a seed for their own signatures only.
    """
    if "max_new_tokens" in values:
        values = {**values, "max_tokens": int(values["max_new_tokens"]), "seed": None}
    return {name: values[name] for name in ANNOTATIONS if name in values}
