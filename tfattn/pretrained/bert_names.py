"""The names of sizes and weights in google-research/bert, from which Hugging Face's names derive."""

# The argument of the model and the setting of the file.
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
