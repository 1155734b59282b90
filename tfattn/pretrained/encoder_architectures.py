"""The encoders of transformers that can be read: tensor names, keys of config.json and options, one entry for each.

An architecture that differs in options of a model is a new entry of ARCHITECTURES, and a row of
benchmarks/architectures.py, from which the tests make a case.
"""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass

from tfattn.pretrained import encoder_options as options
from tfattn.pretrained.bert import ORIGINAL_SIZES
from tfattn.pretrained.contract import TensorNames
from tfattn.pretrained.hugging_face import Architecture

WORDPIECE, PUBLISHED = "wordpiece", "pretrained_tokenizer"  # names of preprocessors


@dataclass(frozen=True, kw_only=True)
class EncoderArchitecture(Architecture):
    """An encoder of transformers.

    Args:
        model: the catalog name of the model.
        preprocessor: the catalog name of the preprocessor.
        names: the names of the encoder's tensors, without the prefix.
        heads: the tensors of heads; several sets for different versions of a head. A file has one of them.
        skipped_positions: the number of rows at the start of the position table that no token has.
    """

    model: str = "bert"
    preprocessor: str = WORDPIECE
    names: TensorNames
    heads: tuple[Mapping[str, str], ...]
    skipped_positions: int = 0


_EMBEDDINGS = {
    "embeddings/token": "embeddings.word_embeddings",
    "embeddings/position": "embeddings.position_embeddings",
    "embeddings/segment": "embeddings.token_type_embeddings",
    "embeddings/norm": "embeddings.LayerNorm",
}
_ENDS_OF_BLOCK = {
    "attention/output": ("attention.output.dense",),
    "attention_norm": ("attention.output.LayerNorm",),
    "feed_forward/intermediate": ("intermediate.dense",),
    "feed_forward/output": ("output.dense",),
    "feed_forward_norm": ("output.LayerNorm",),
}
_BERT_PARTS = {
    "attention/qkv": ("attention.self.query", "attention.self.key", "attention.self.value"),
    **_ENDS_OF_BLOCK,
}
_BERT_KEYS = {**ORIGINAL_SIZES, "layer_norm_epsilon": "layer_norm_eps"}
_HEAD_OF_BERT = {
    "masked_lm_head/dense": "cls.predictions.transform.dense",
    "masked_lm_head/norm": "cls.predictions.transform.LayerNorm",
    "masked_lm_head": "cls.predictions",
    "next_sentence_head": "cls.seq_relationship",
}
_HEAD_OF_ROBERTA = {
    "masked_lm_head/dense": "lm_head.dense",
    "masked_lm_head/norm": "lm_head.layer_norm",
    "masked_lm_head": "lm_head",
}
_WITHOUT_DECODER = {
    "position_embedding_type": "absolute",
    "is_decoder": False,
    "add_cross_attention": False,
    "tie_word_embeddings": True,
}

_BERT = EncoderArchitecture(
    prefix="bert.",
    names=TensorNames({**_EMBEDDINGS, "pooler/dense": "pooler.dense"}, "encoder.layer.{}.", _BERT_PARTS),
    heads=(_HEAD_OF_BERT,),
    keys=_BERT_KEYS,
    only=_WITHOUT_DECODER,
)
_ROBERTA = dataclasses.replace(
    _BERT,
    preprocessor=PUBLISHED,
    prefix="roberta.",
    heads=(_HEAD_OF_ROBERTA,),
    # The head has the exact GELU, whatever the activation of the blocks. Positions start after the padding id.
    only={**_WITHOUT_DECODER, "hidden_act": "gelu", "pad_token_id": 1},
    skipped_positions=2,
)

# The key is the `model_type` of config.json.
ARCHITECTURES: dict[str, EncoderArchitecture] = {
    "bert": _BERT,
    "roberta": _ROBERTA,
    "xlm-roberta": _ROBERTA,
    "distilbert": EncoderArchitecture(
        prefix="distilbert.",
        names=TensorNames(
            {name: tensor for name, tensor in _EMBEDDINGS.items() if name != "embeddings/segment"},
            "transformer.layer.{}.",
            {
                "attention/qkv": ("attention.q_lin", "attention.k_lin", "attention.v_lin"),
                "attention/output": ("attention.out_lin",),
                "attention_norm": ("sa_layer_norm",),
                "feed_forward/intermediate": ("ffn.lin1",),
                "feed_forward/output": ("ffn.lin2",),
                "feed_forward_norm": ("output_layer_norm",),
            },
        ),
        heads=(
            {
                "masked_lm_head/dense": "vocab_transform",
                "masked_lm_head/norm": "vocab_layer_norm",
                "masked_lm_head": "vocab_projector",
            },
        ),
        keys={
            "vocabulary_size": "vocab_size",
            "hidden_dim": "dim",
            "num_layers": "n_layers",
            "num_heads": "n_heads",
            "intermediate_dim": "hidden_dim",
            "max_sequence_length": "max_position_embeddings",
            "dropout": "dropout",
            "attention_dropout": "attention_dropout",
            "initializer_range": "initializer_range",
        },
        activation="activation",
        only={"tie_word_embeddings": True},
        fixed={"num_segments": 0, "layer_norm_epsilon": 1e-12},
    ),
    "electra": dataclasses.replace(
        _BERT,
        prefix="electra.",
        names=TensorNames(
            {**_EMBEDDINGS, "embeddings/projection": "embeddings_project"}, "encoder.layer.{}.", _BERT_PARTS
        ),
        heads=(
            {
                "masked_lm_head/dense": "generator_predictions.dense",
                "masked_lm_head/norm": "generator_predictions.LayerNorm",
                "masked_lm_head": "generator_lm_head",
            },
        ),
        keys={**_BERT_KEYS, "embedding_dim": "embedding_size"},
        only={**_WITHOUT_DECODER, "hidden_act": "gelu"},  # the head has the exact GELU
    ),
    "albert": dataclasses.replace(
        _BERT,
        preprocessor=PUBLISHED,
        prefix="albert.",
        names=TensorNames(
            {
                **_EMBEDDINGS,
                "embeddings/projection": "encoder.embedding_hidden_mapping_in",
                "pooler/dense": "pooler",
            },
            "encoder.albert_layer_groups.{}.albert_layers.0.",
            {
                "attention/qkv": ("attention.query", "attention.key", "attention.value"),
                "attention/output": ("attention.dense",),
                "attention_norm": ("attention.LayerNorm",),
                "feed_forward/intermediate": ("ffn",),
                "feed_forward/output": ("ffn_output",),
                "feed_forward_norm": ("full_layer_layer_norm",),
            },
        ),
        heads=(
            {
                "masked_lm_head/dense": "predictions.dense",
                "masked_lm_head/norm": "predictions.LayerNorm",
                "masked_lm_head": "predictions",
            },
        ),
        keys={**_BERT_KEYS, "embedding_dim": "embedding_size", "num_distinct_blocks": "num_hidden_groups"},
        only={**_WITHOUT_DECODER, "inner_group_num": 1},
    ),
    "mpnet": dataclasses.replace(
        _ROBERTA,
        prefix="mpnet.",
        names=TensorNames(
            {
                **_EMBEDDINGS,
                "position_bias/table": "encoder.relative_attention_bias",
                "pooler/dense": "pooler.dense",
            },
            "encoder.layer.{}.",
            {
                **_ENDS_OF_BLOCK,
                "attention/qkv": ("attention.attn.q", "attention.attn.k", "attention.attn.v"),
                "attention/output": ("attention.attn.o",),
                "attention_norm": ("attention.LayerNorm",),
            },
        ),
        keys={name: key for name, key in _BERT_KEYS.items() if name != "num_segments"},
        # transformers has 32 ranges, whatever the size of the table.
        only={**_ROBERTA.only, "relative_attention_num_buckets": 32},
        fixed={"num_segments": 0, "position_buckets": 32},
    ),
    "deberta-v2": dataclasses.replace(
        _BERT,
        model="deberta",
        preprocessor=PUBLISHED,
        prefix="deberta.",
        names=TensorNames(
            {
                **_EMBEDDINGS,
                "position_bias/relative": "encoder.rel_embeddings",
                "position_bias/norm": "encoder.LayerNorm",
            },
            "encoder.layer.{}.",
            {
                **_ENDS_OF_BLOCK,
                "attention/qkv": (
                    "attention.self.query_proj",
                    "attention.self.key_proj",
                    "attention.self.value_proj",
                ),
            },
        ),
        heads=(
            {
                "masked_lm_head/dense": "lm_predictions.lm_head.dense",
                "masked_lm_head/norm": "lm_predictions.lm_head.LayerNorm",
                "masked_lm_head": "lm_predictions.lm_head",
            },
            _HEAD_OF_BERT,  # transformers names it `legacy`
        ),
        keys={**_BERT_KEYS, "position_buckets": "position_buckets"},
        defaults={
            "relative_attention": False,
            "position_biased_input": True,
            "share_att_key": False,
            "norm_rel_ebd": "none",
            "position_buckets": -1,
            "max_relative_positions": -1,
        },
        only={
            "relative_attention": True,
            "position_biased_input": False,
            "share_att_key": True,
            "norm_rel_ebd": "layer_norm",
            "conv_kernel_size": (0, None),
            "tie_word_embeddings": True,
        },
        options=(options.disentangled,),
    ),
    "modernbert": EncoderArchitecture(
        model="modern_bert",
        preprocessor=PUBLISHED,
        prefix="model.",
        names=TensorNames(
            {
                "embeddings/token": "embeddings.tok_embeddings",
                "embeddings/norm": "embeddings.norm",
                "norm": "final_norm",
            },
            "layers.{}.",
            {
                "attention_norm": ("attn_norm",),
                "attention/qkv": ("attn.Wqkv",),
                "attention/output": ("attn.Wo",),
                "feed_forward_norm": ("mlp_norm",),
                "feed_forward/intermediate": ("mlp.Wi",),
                "feed_forward/output": ("mlp.Wo",),
            },
        ),
        heads=(
            {"masked_lm_head/dense": "head.dense", "masked_lm_head/norm": "head.norm", "masked_lm_head": "decoder"},
        ),
        keys={
            "vocabulary_size": "vocab_size",
            "hidden_dim": "hidden_size",
            "num_layers": "num_hidden_layers",
            "num_heads": "num_attention_heads",
            "intermediate_dim": "intermediate_size",
            "max_sequence_length": "max_position_embeddings",
            "dropout": "embedding_dropout",
            "attention_dropout": "attention_dropout",
            "initializer_range": "initializer_range",
            "layer_norm_epsilon": "norm_eps",
            "head_bias": "classifier_bias",
        },
        activation="hidden_activation",
        defaults={"embedding_dropout": 0.0, "attention_dropout": 0.0, "norm_eps": 1e-5, "classifier_bias": False},
        only={
            "hidden_activation": "gelu",
            "classifier_activation": "gelu",
            "mlp_dropout": 0.0,
            "decoder_bias": True,
            "tie_word_embeddings": True,
        },
        options=(options.local_attention, options.biases),
        fixed={"num_segments": 0, "activation": "geglu", "first_norm": False},
    ),
}
