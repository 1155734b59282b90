"""What an export says of the texts that it writes: sizes, special tokens, the form of chats."""

import json
from dataclasses import dataclass
from pathlib import Path

import ml_dtypes  # noqa: F401  so that NumPy knows bfloat16
import numpy as np

from tfattn.errors import ServingError
from tfattn.formats.chat_template import ChatTemplate
from tfattn.serving.generation.cache import Layout

FILE, TOKEN_BYTES = Path("assets") / "generation.json", Path("assets") / "token_bytes.json"
STEP, PREFILL, TOKENIZE = "decode_step", "prefill", "tokenize"


def writes_texts(folder: Path) -> bool:
    """Tell whether a version's folder is of a model that writes texts step by step."""
    return (folder / FILE).is_file()


@dataclass(frozen=True, kw_only=True)
class Description:
    """A model that writes texts.

    Attributes:
        context: the most tokens of prompt and text together.
        end_ids: tokens each of which ends a text; behind the first of them a text without a prompt begins.
        special_tokens: their ids by their names.
        chat_template: how chats are written; None where the model knows none.
        defaults: the settings that are recommended, by name.
        token_bytes: the bytes of each token; of special ones none.
        layout: of the keys and values of a position.
        takes_logit_bias: whether a step can add to the logits of tokens; older exports cannot.
    """

    context: int
    end_ids: tuple[int, ...]
    special_tokens: dict[str, int]
    chat_template: ChatTemplate | None
    defaults: dict[str, float]
    token_bytes: tuple[bytes, ...]
    layout: Layout
    takes_logit_bias: bool

    @property
    def vocabulary_size(self) -> int:
        """How many tokens there are."""
        return len(self.token_bytes)

    def ends(self, *, of_chat: bool) -> frozenset[int]:
        """Return the tokens each of which ends a text, or an answer of a chat."""
        if not of_chat or self.chat_template is None:
            return frozenset(self.end_ids)
        return frozenset((*self.end_ids, self.special_tokens[self.chat_template.end]))

    @classmethod
    def read(cls, folder: Path) -> "Description":
        """Read it from a version's folder.

        Raises:
            ServingError: the model does not write texts step by step, or the files are damaged.
        """
        try:
            said = json.loads((folder / FILE).read_bytes())
            tokens = json.loads((folder / TOKEN_BYTES).read_bytes())
            return cls(
                context=int(said["context"]),
                end_ids=tuple(said["end_ids"]),
                special_tokens=dict(said["special_tokens"]),
                chat_template=ChatTemplate(**said["chat_template"]) if said["chat_template"] else None,
                defaults=dict(said["defaults"]),
                token_bytes=tuple(token.encode("latin-1") for token in tokens),
                layout=Layout(said["num_layers"], said["num_groups"], said["head_dim"], np.dtype(said["dtype"])),
                takes_logit_bias=bool(said.get("takes_logit_bias")),
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
                "cannot read how the model writes texts",
                where=str(folder / FILE),
                received=repr(error),
                remedy="Export the model again: `tfattn export PIPELINE --force`.",
            ) from None
