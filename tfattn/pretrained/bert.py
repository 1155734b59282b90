"""The base class of published BERTs, and the names of sizes and weights in google-research/bert."""

from abc import abstractmethod
from pathlib import Path
from typing import Any

from tfattn.preprocessing.wordpiece_json import WordPieceJson
from tfattn.pretrained.contract import Pretrained

# The argument of the model and the setting in google-research/bert, from which the names of Hugging Face derive.
ORIGINAL_SIZES = {
    "vocabulary_size": "vocab_size",
    "hidden_dim": "hidden_size",
    "num_layers": "num_hidden_layers",
    "num_heads": "num_attention_heads",
    "intermediate_dim": "intermediate_size",
    "max_sequence_length": "max_position_embeddings",
    "num_segments": "type_vocab_size",
    "dropout": "hidden_dropout_prob",
    "attention_dropout": "attention_probs_dropout_prob",
    "initializer_range": "initializer_range",
}

_EMBEDDINGS = {
    "token/embeddings": "word_embeddings",
    "position/embeddings": "position_embeddings",
    "segment/embeddings": "token_type_embeddings",
    "norm": "LayerNorm",
}

_BLOCK = {
    "attention/output": "attention/output/dense",
    "attention_norm": "attention/output/LayerNorm",
    "feed_forward/intermediate": "intermediate/dense",
    "feed_forward/output": "output/dense",
    "feed_forward_norm": "output/LayerNorm",
}

_HEADS = {
    "masked_lm_head/dense/kernel": "cls/predictions/transform/dense/kernel",
    "masked_lm_head/dense/bias": "cls/predictions/transform/dense/bias",
    "masked_lm_head/norm/gamma": "cls/predictions/transform/LayerNorm/gamma",
    "masked_lm_head/norm/beta": "cls/predictions/transform/LayerNorm/beta",
    "masked_lm_head/bias": "cls/predictions/output_bias",
    "next_sentence_head/kernel": "cls/seq_relationship/output_weights",
    "next_sentence_head/bias": "cls/seq_relationship/output_bias",
}


class PublishedBert(Pretrained):
    """A folder of a published BERT with a WordPiece vocabulary."""

    model = "bert"
    preprocessor = "wordpiece"

    @property
    @abstractmethod
    def vocabulary(self) -> Path:
        """The vocabulary: a text file, one token per line, or a tokenizer.json."""

    @property
    def lower_case(self) -> bool:
        """Whether texts are lower-cased before tokenization.

        By default as a tokenizer.json says; for a text file, if the vocabulary has no capitals.
        """
        if self.vocabulary.suffix == ".json":
            return WordPieceJson.read(self.vocabulary).lower_case
        tokens = self.vocabulary.read_text(encoding="utf-8").splitlines()
        # Special tokens such as [CLS] have capitals in any case.
        return not any(token != token.lower() for token in tokens if not token.startswith("["))

    @property
    def strip_accents(self) -> bool | None:
        """Whether accents are stripped before tokenization; None for the same as `lower_case`."""
        return WordPieceJson.read(self.vocabulary).strip_accents if self.vocabulary.suffix == ".json" else None

    def tokenization(self) -> dict[str, Any]:
        return {
            "vocabulary": self.vocabulary,
            "lower_case": self.lower_case,
            "strip_accents": self.strip_accents,
        }


def is_head_variable(path: str) -> bool:
    """Return whether a variable belongs to a pre-training head, which is next to the encoder in a file."""
    return path in _HEADS


def original_names(path: str) -> tuple[str, ...]:
    """Return the original name of a variable, or the three names of a fused projection.

    Args:
        path: the variable's path below the model, or the path of a pre-training head.

    Example:
        >>> original_names("block_0/attention_norm/gamma")
        ('encoder/layer_0/attention/output/LayerNorm/gamma',)
    """
    if path in _HEADS:
        return (_HEADS[path],)
    module, _, rest = path.partition("/")
    part, _, kind = rest.rpartition("/")
    if module == "embeddings":
        return (
            (f"embeddings/{_EMBEDDINGS[rest]}",) if rest in _EMBEDDINGS else (f"embeddings/{_EMBEDDINGS[part]}/{kind}",)
        )
    if not module.startswith("block_"):
        return (path,)
    layer = module.replace("block_", "encoder/layer_")
    if part == "attention/qkv":
        return tuple(f"{layer}/attention/self/{name}/{kind}" for name in ("query", "key", "value"))
    return (f"{layer}/{_BLOCK[part]}/{kind}",)
