"""Tiny published models: configurations, and weights and inputs by formulas, so that only outputs are stored.

It needs NumPy alone, because the program that runs transformers imports it too.
"""

import base64
import zlib

import numpy as np

MARIAN = {
    "model_type": "marian",
    "vocab_size": 24,
    "d_model": 16,
    "encoder_layers": 2,
    "decoder_layers": 1,
    "encoder_attention_heads": 4,
    "decoder_attention_heads": 4,
    "encoder_ffn_dim": 20,
    "decoder_ffn_dim": 20,
    "activation_function": "swish",
    "max_position_embeddings": 32,
    "scale_embedding": True,
    "static_position_embeddings": True,
    "normalize_before": False,
    "dropout": 0.1,
    "attention_dropout": 0.0,
    "init_std": 0.02,
    "pad_token_id": 23,
    "eos_token_id": 0,
    "decoder_start_token_id": 23,
}
MARIAN_RULES = {
    "bad_words_ids": [[23]],
    "forced_eos_token_id": 0,
    "decoder_start_token_id": 23,
    "eos_token_id": 0,
    "pad_token_id": 23,
    "max_length": 12,
    "num_beams": 4,
}
T5 = {
    "model_type": "t5",
    "vocab_size": 24,
    "d_model": 16,
    "d_kv": 4,
    "d_ff": 20,
    "num_layers": 2,
    "num_decoder_layers": 1,
    "num_heads": 4,
    "relative_attention_num_buckets": 8,
    "relative_attention_max_distance": 12,
    "feed_forward_proj": "relu",
    "dropout_rate": 0.1,
    "layer_norm_epsilon": 1e-6,
    "pad_token_id": 0,
    "eos_token_id": 1,
    "decoder_start_token_id": 0,
    "n_positions": 64,
}
T5_RULES = {"decoder_start_token_id": 0, "eos_token_id": 1, "pad_token_id": 0, "max_length": 14, "num_beams": 3}
VISION = {
    "hidden_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "hidden_act": "gelu",
    "hidden_dropout_prob": 0.0,
    "attention_probs_dropout_prob": 0.0,
    "initializer_range": 0.02,
    "image_size": 24,
    "patch_size": 8,
    "num_channels": 3,
    "qkv_bias": True,
}
DINO = {**VISION, "model_type": "dinov2", "mlp_ratio": 2, "layer_norm_eps": 1e-6, "layerscale_value": 1.0}
# Name: the class in transformers, config.json, generation_config.json, and tensors that transformers would not save.
MODELS = {
    "marian": ("MarianMTModel", MARIAN, {**MARIAN_RULES, "renormalize_logits": True}, {}),
    "marian_separate": (
        "MarianMTModel",
        {
            **MARIAN,
            "share_encoder_decoder_embeddings": False,
            "decoder_vocab_size": 20,
            "pad_token_id": 19,
            "decoder_start_token_id": 19,
            "activation_function": "relu",
        },
        {
            **MARIAN_RULES,
            "bad_words_ids": [[19]],
            "decoder_start_token_id": 19,
            "pad_token_id": 19,
            "early_stopping": True,
            "length_penalty": 0.5,
        },
        {},
    ),
    "t5": ("T5ForConditionalGeneration", T5, T5_RULES, {}),
    "t5_1_1": (
        "T5ForConditionalGeneration",
        {**T5, "feed_forward_proj": "gated-gelu", "tie_word_embeddings": False, "d_kv": 5, "num_heads": 3},
        {**T5_RULES, "length_penalty": 2.0, "early_stopping": True},
        {"lm_head.weight": (24, 16)},
    ),
    "deit": (
        "DeiTForImageClassificationWithTeacher",
        {**VISION, "model_type": "deit", "intermediate_size": 20, "layer_norm_eps": 1e-12},
        None,
        {},
    ),
    "dinov2": ("Dinov2ForImageClassification", DINO, None, {}),
    "dinov2_gated": ("Dinov2ForImageClassification", {**DINO, "use_swiglu_ffn": True}, None, {}),
    "dinov2_registers": (
        "Dinov2WithRegistersForImageClassification",
        {**DINO, "model_type": "dinov2_with_registers", "num_register_tokens": 3, "image_size": 40},
        None,
        {},
    ),
}
MARIAN_END, END = MARIAN["eos_token_id"], T5["eos_token_id"]
SOURCE_LENGTHS, TARGET_LENGTH = (7, 4, 2), 5
SIDES = {"images": None, "larger": 56, "smaller": 16}  # of images in pixels; None for the size of the model


def weight(name: str, shape: tuple[int, ...]) -> np.ndarray:
    """Draw a tensor from its name; scales of norms are near 1."""
    draw = 0.4 * np.random.RandomState(zlib.crc32(name.encode())).standard_normal(shape)
    if "shared" in name or "embed_tokens" in name or "lm_head" in name:
        draw /= 3  # so that the most probable token is not the last token
    if name == "final_logits_bias":  # so that some texts of a Marian end
        draw[0, MARIAN_END] += 2.5
    if name in ("shared.weight", "lm_head.weight"):  # and of a T5
        draw[END] *= 8
    near_one = len(shape) == 1 and name.endswith(("weight", "lambda1"))
    return (draw + near_one).astype("float32")


def source(config: dict) -> tuple[np.ndarray, np.ndarray]:
    """Return token ids (B, S) and the mask of real tokens."""
    draw = np.random.RandomState(1)
    ids = draw.randint(2, config.get("vocab_size"), size=(len(SOURCE_LENGTHS), max(SOURCE_LENGTHS)))
    mask = np.arange(max(SOURCE_LENGTHS)) < np.array(SOURCE_LENGTHS)[:, None]
    return np.where(mask, ids, config["pad_token_id"]).astype("int32"), mask


def target(config: dict) -> np.ndarray:
    """Return target ids (B, T), with the start token first."""
    size = config.get("decoder_vocab_size") or config["vocab_size"]
    ids = np.random.RandomState(2).randint(2, size, size=(len(SOURCE_LENGTHS), TARGET_LENGTH))
    ids[:, 0] = config["decoder_start_token_id"]
    return ids.astype("int32")


def images(side: int) -> np.ndarray:
    """Return two images (B, Y, X, 3) from 0 to 1."""
    return np.random.RandomState(side).random_sample((2, side, side, 3)).astype("float32")


def decoded(text: str) -> bytes:
    """Decode the content of a stored file."""
    return base64.b64decode(text)
