"""A T5 folder of Hugging Face: config.json, model.safetensors, and spiece.model or tokenizer.json."""

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from tfattn.pretrained.contract import TensorNames
from tfattn.pretrained.encoder_decoder import PublishedEncoderDecoder
from tfattn.pretrained.hugging_face import CONFIG
from tfattn.pretrained.hugging_face_pieces import read_t5
from tfattn.pretrained.tensor_files import SAFETENSORS

SIZES = {
    "vocabulary_size": "vocab_size",
    "target_vocabulary_size": "vocab_size",
    "hidden_dim": "d_model",
    "num_layers": "num_layers",
    "num_heads": "num_heads",
    "head_dim": "d_kv",
    "intermediate_dim": "d_ff",
    "position_buckets": "relative_attention_num_buckets",
    "dropout": "dropout_rate",
    "attention_dropout": "dropout_rate",
    "layer_norm_epsilon": "layer_norm_epsilon",
}
ACTIVATIONS = {
    "relu": "relu",
    "gelu": "gelu",
    "gated-gelu": "geglu_approximate",
    "gated-silu": "swiglu",
    "gated-relu": "reglu",
}
MAX_LENGTH = 512  # of a text in pretraining, where config.json has no `n_positions`

SHARED, HEAD = "shared.weight", "lm_head.weight"
OUTER = {
    "token/embeddings": SHARED,
    "output/embeddings": HEAD,
    "source_bias/table/embeddings": "encoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight",
    "target_bias/table/embeddings": "decoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight",
    "encoder_norm/gamma": "encoder.final_layer_norm.weight",
    "decoder_norm/gamma": "decoder.final_layer_norm.weight",
}


def _feed_forward(number: int, *, is_gated: bool) -> dict[str, tuple[str, ...]]:
    layer = f"layer.{number}.DenseReluDense"
    return {
        "feed_forward/intermediate": (f"{layer}.wi_0", f"{layer}.wi_1") if is_gated else (f"{layer}.wi",),
        "feed_forward/output": (f"{layer}.wo",),
        "feed_forward_norm": (f"layer.{number}.layer_norm",),
    }


def names(*, is_gated: bool) -> tuple[TensorNames, TensorNames]:
    """Return the names of tensors of encoder blocks and of decoder blocks."""
    qkv = tuple(f"layer.0.SelfAttention.{part}" for part in "qkv")
    return (
        TensorNames(
            outer={},
            own="encoder_",
            block="encoder.block.{}.",
            parts={
                "attention/qkv": qkv,
                "attention/output": ("layer.0.SelfAttention.o",),
                "attention_norm": ("layer.0.layer_norm",),
                **_feed_forward(1, is_gated=is_gated),
            },
        ),
        TensorNames(
            outer={},
            own="decoder_",
            block="decoder.block.{}.",
            parts={
                "self_attention/qkv": qkv,
                "self_attention/output": ("layer.0.SelfAttention.o",),
                "self_attention_norm": ("layer.0.layer_norm",),
                "cross_attention/query": ("layer.1.EncDecAttention.q",),
                "cross_attention/key_value": ("layer.1.EncDecAttention.k", "layer.1.EncDecAttention.v"),
                "cross_attention/output": ("layer.1.EncDecAttention.o",),
                "cross_attention_norm": ("layer.1.layer_norm",),
                **_feed_forward(2, is_gated=is_gated),
            },
        ),
    )


class HuggingFaceT5(PublishedEncoderDecoder):
    """Weights and tokens as transformers saves T5ForConditionalGeneration and T5Tokenizer: T5, T5 1.1 and FLAN-T5.

    T5 scales neither embeddings nor scores of attention, which the model does, so that weights are scaled instead: the
    embeddings by 1 / sqrt(D), queries by sqrt(K). The logits of the scaled table are those of the original T5, which
    divides the outputs of its decoder by sqrt(D). T5 1.1 does not, and has a table of its own for logits.
    """

    description = f"{CONFIG} with model_type t5, {SAFETENSORS}, and spiece.model or tokenizer.json (Hugging Face)"
    model_types = ("t5",)

    def sizes(self) -> dict[str, Any]:
        config = self._json(CONFIG)
        sizes = {ours: self._setting(config, theirs, CONFIG) for ours, theirs in SIZES.items()}
        return {
            **sizes,
            "decoder_layers": config.get("num_decoder_layers") or sizes["num_layers"],
            "max_sequence_length": config.get("n_positions") or MAX_LENGTH,
            "max_relative_positions": config.get("relative_attention_max_distance", 128),
            "activation": self._setting(
                {"feed_forward_proj": "relu", **config}, "feed_forward_proj", CONFIG, ACTIVATIONS
            ),
            "norm": "pre",
            "normalization": "rms_norm",
            "positions": "relative",
            "use_bias": False,
            "share_embeddings": self._shared(config),
        }

    def tokenization(self) -> dict[str, Any]:
        return read_t5(self.folder, self._json(CONFIG), **self.special_ids)

    def stored_names(self, path: str, stored: Collection[str]) -> tuple[str, ...]:
        if path in OUTER:
            return (OUTER[path],)
        parts = names(is_gated=any(".wi_0." in name for name in stored))
        found = [names for names in (part.tensor_names(path) for part in parts) if names != (path,)]
        return found[0] if found else (path,)

    def convert(self, name: str, value: np.ndarray) -> np.ndarray:
        if name == SHARED:
            return value * value.shape[1] ** -0.5
        if name == HEAD:
            return value * value.shape[1] ** -0.5 if self._scales_outputs(self._json(CONFIG)) else value
        if name.endswith("Attention.q.weight"):
            return value.T * self._json(CONFIG)["d_kv"] ** 0.5
        is_linear = name.endswith(".weight") and value.ndim == 2 and "relative_attention_bias" not in name
        return value.T if is_linear else value  # PyTorch linear layers have (outputs, inputs)

    def restore(self, name: str, value: np.ndarray) -> np.ndarray:
        if name == SHARED:
            return value * value.shape[1] ** 0.5
        if name == HEAD:
            return value * value.shape[1] ** 0.5 if self._scales_outputs(self._json(CONFIG)) else value
        if name.endswith("Attention.q.weight"):
            return value.T * self._json(CONFIG)["d_kv"] ** -0.5
        return self.convert(name, value)

    def _shared(self, config: Mapping[str, Any]) -> str:
        """Return which embeddings are shared."""
        has_tensors = any(self.folder.glob("*.safetensors"))  # none yet in a folder that is written
        if HEAD in self.stored_shapes() if has_tensors else config.get("tie_word_embeddings") is False:
            return "inputs"
        self._require_defaults(
            {"scale_decoder_outputs": self._scales_outputs(config)}, {"scale_decoder_outputs": True}, CONFIG
        )
        return "all"

    @staticmethod
    def _scales_outputs(config: Mapping[str, Any]) -> bool:
        """Return whether the outputs of the decoder are divided by sqrt(D), which T5 1.1 states indirectly."""
        return config.get("scale_decoder_outputs", config.get("tie_word_embeddings", True) is not False)
