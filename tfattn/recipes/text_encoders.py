"""The choice of a text encoder, its training and its length, by the language and number of texts."""

import importlib.util
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tfattn.catalog import PRETRAINED_PACKAGES
from tfattn.files import SCHEME
from tfattn.recipes.columns import count_words, detect_language
from tfattn.recipes.plan import Plan

# Tokens per second that two CPU cores train.
FINE_TUNING_SPEED = 4_000
FROM_SCRATCH_SPEED = 20_000
FIXED_SECONDS = 45  # preparation, report and export

TOKENS_PER_WORD = 1.5
TOKENS_PER_CHINESE_WORD = 2  # an ideograph is a token
ROUNDED_TO = 16  # lengths are multiples


@dataclass(frozen=True)
class TextEncoder:
    """An encoder and its training.

    Attributes:
        pretrained: whether it is the pretrained English encoder.
        language: the language of the texts.
        max_length: the maximum number of tokens of a row.
        mean_length: the mean number of tokens of a row.
    """

    pretrained: bool
    language: str
    max_length: int
    mean_length: float

    @property
    def vocabulary(self) -> str:
        """The vocabulary: that of the pretrained weights, or trained on the rows."""
        return "pretrained" if self.pretrained else "train"


def choose_encoder(rows: Sequence[Sequence[str]], *, longest: int = 256) -> TextEncoder:
    """Choose an encoder for rows of one or several texts each.

    Args:
        rows: the texts of each row that are read together.
        longest: the maximum length, which limits the time of training.
    """
    language = detect_language([text for row in rows[:2000] for text in row])
    per_word = TOKENS_PER_CHINESE_WORD if language == "Chinese" else TOKENS_PER_WORD
    lengths = sorted(per_word * sum(map(count_words, row)) + 2 + len(row) for row in rows)
    common = lengths[int(0.98 * (len(lengths) - 1))]
    max_length = min(longest, max(32, ROUNDED_TO * -(-int(1.1 * common) // ROUNDED_TO)))
    package = PRETRAINED_PACKAGES["minilm"][0]
    is_pretrained = language == "English" and importlib.util.find_spec(package) is not None
    mean = sum(min(length, max_length) for length in lengths) / len(lengths)
    return TextEncoder(is_pretrained, language, max_length, mean)


def add_encoder(plan: Plan, encoder: TextEncoder, num_rows: int) -> None:
    """Add `model`, `training`, the length and the batches to a plan, with their reasons and the expected time.

    Args:
        plan: a plan with `data.preprocessing`.
        encoder: the encoder.
        num_rows: the number of rows.
    """
    values, reasons = plan.values, plan.reasons
    preprocessing: dict[str, Any] = values["data"]["preprocessing"]
    preprocessing |= {"name": "wordpiece", "vocabulary": encoder.vocabulary, "max_length": encoder.max_length}
    reasons["data.preprocessing.max_length"] = (
        f"rows have {encoder.mean_length:.0f} tokens on average (estimated); longer rows are cut"
    )
    is_small = num_rows < 2_000
    max_tokens = max(1024, 8 * encoder.max_length)
    values["data"]["batching"] = {"batch_size": 16} if is_small else {"max_tokens": max_tokens}
    if encoder.pretrained:
        values["model"] = {"from": f"{SCHEME}configs/models/bert_minilm.yaml"}
        reasons["model"] = "The texts are English: MiniLM, a small pretrained encoder, is fine-tuned."
    else:
        values["model"] = {
            "from": f"{SCHEME}configs/models/modern_bert_tiny.yaml",
            "max_sequence_length": encoder.max_length,
            "dropout": 0.3,
        }
        values["task"]["dropout"] = 0.3
        reasons["model"] = _why_from_scratch(encoder)
    plan.add_training(
        num_rows=num_rows,
        epoch_seconds=num_rows
        * encoder.mean_length
        / (FINE_TUNING_SPEED if encoder.pretrained else FROM_SCRATCH_SPEED),
        epoch_steps=num_rows / 16 if is_small else num_rows * encoder.mean_length / max_tokens,
        fixed_seconds=FIXED_SECONDS,
    )


def _why_from_scratch(encoder: TextEncoder) -> str:
    if encoder.language == "English":
        return (
            "A small encoder is trained from scratch, because MiniLM is not installed. With `pip install "
            "'tfattn[pretrained]'`, `tfattn init` chooses it, and it is much better on few rows."
        )
    language = "Chinese or Japanese" if encoder.language == "Chinese" else "not English"
    return (
        f"The texts are {language}, and the shipped pretrained encoder is English: a small encoder and its vocabulary "
        "are trained from scratch. For a pretrained one, set `pretrained:` to a folder of weights."
    )
