"""The architectures of transformers that are written, by the tables with which `pretrained:` reads them."""

import dataclasses
from collections.abc import Iterator
from typing import Any

import numpy as np

from tfattn.config.types import GATED_ACTIVATIONS
from tfattn.pretrained import decoder_architectures, encoder_architectures, hugging_face
from tfattn.pretrained import hugging_face_marian as marian
from tfattn.pretrained import hugging_face_t5 as t5
from tfattn.pretrained.hugging_face import ACTIVATIONS, HuggingFaceFolder
from tfattn.pretrained.hugging_face_decoder import HuggingFaceDecoder
from tfattn.pretrained.hugging_face_dinov2 import HuggingFaceDinov2, HuggingFaceDinov2WithRegisters
from tfattn.pretrained.hugging_face_encoder import HuggingFaceEncoder
from tfattn.pretrained.hugging_face_vit import DEFAULTS, SIZES, HuggingFaceDeit, HuggingFaceVit
from tfattn.sharing.architecture import Architecture, Values
from tfattn.sharing.config_options import INVERSES, Arguments, Settings, activation_name

# The first part of the names of classes, where it is not the capitalized `model_type`.
_CLASSES = {
    "deberta-v2": "DebertaV2",
    "distilbert": "DistilBert",
    "gemma3_text": "Gemma3",
    "gpt2": "GPT2",
    "gpt_neox": "GPTNeoX",
    "modernbert": "ModernBert",
    "mpnet": "MPNet",
    "smollm3": "SmolLM3",
    "xlm-roberta": "XLMRoberta",
}
# Content of config.json that no argument of a model determines. DeBERTa has two kinds of masked-LM heads.
_CONSTANTS: dict[str, dict[str, Any]] = {"deberta-v2": {"legacy": False}}


def architectures() -> Iterator[Architecture]:
    """Yield the architectures whose options can be written, in the order of the readers' tables."""
    readers = {
        HuggingFaceEncoder: encoder_architectures.ARCHITECTURES,
        HuggingFaceDecoder: decoder_architectures.ARCHITECTURES,
    }
    for reader, tables in readers.items():
        for model_type, table in tables.items():
            if all(option in INVERSES for option in table.options):
                yield _of_table(model_type, table, reader)
    yield from _IMAGE_ARCHITECTURES
    yield from _TRANSLATION_ARCHITECTURES


def _of_table(model_type: str, table: Any, reader: type[HuggingFaceFolder]) -> Architecture:
    given = {field.name: getattr(table, field.name) for field in dataclasses.fields(hugging_face.Architecture)}
    given["skipped_positions"] = getattr(table, "skipped_positions", 0)
    names = {name: getattr(table, name, getattr(reader, name, None)) for name in ("model", "preprocessor")}
    if reader is HuggingFaceDecoder:
        names["preprocessor"] = "byte_bpe"
    name = _CLASSES.get(model_type, model_type.capitalize())
    constants = _CONSTANTS.get(model_type, {})
    return Architecture(
        model_type=model_type, name=name, reader=reader, settings=lambda arguments: constants, **names, **given
    )


_IMAGE_KEYS = {"image_size": "image_size", "patch_size": "patch_size", **SIZES}


def _dinov2(arguments: Arguments) -> Settings:
    is_gated = arguments["activation"] == "swiglu"
    # Of a gated network, two thirds of the stated width are used.
    ratio = arguments["intermediate_dim"] * (1.5 if is_gated else 1) / arguments["hidden_dim"]
    return {
        "mlp_ratio": int(ratio) if ratio == int(ratio) else ratio,
        "use_swiglu_ffn": is_gated,
        "hidden_act": "gelu" if is_gated else activation_name(arguments["activation"]),
        "layerscale_value": arguments["layer_scale"],
    }


def _with_registers(arguments: Arguments) -> Settings:
    return {**_dinov2(arguments), "num_register_tokens": arguments["num_registers"]}


def _of_images(model_type: str, name: str, reader: type[HuggingFaceVit], **options: object) -> Architecture:
    return Architecture(
        model_type=model_type,
        name=name,
        reader=reader,
        model="vit",
        preprocessor="images",
        prefix=reader.prefix,
        keys=_IMAGE_KEYS,
        only=DEFAULTS,
        **options,
    )


_IMAGE_ARCHITECTURES = (
    _of_images("vit", "ViT", HuggingFaceVit),
    _of_images("deit", "DeiT", HuggingFaceDeit),
    _of_images("dinov2", "Dinov2", HuggingFaceDinov2, settings=_dinov2),
    _of_images(
        "dinov2_with_registers", "Dinov2WithRegisters", HuggingFaceDinov2WithRegisters, settings=_with_registers
    ),
)


def _marian(arguments: Arguments) -> Settings:
    sharing = {name: flags for flags, name in marian.SHARED.items()}
    with_source, with_output = sharing[arguments["share_embeddings"]]
    return {
        "decoder_layers": arguments["decoder_layers"] or arguments["num_layers"],
        "decoder_attention_heads": arguments["num_heads"],
        "decoder_ffn_dim": arguments["intermediate_dim"],
        "decoder_vocab_size": arguments["target_vocabulary_size"],
        "share_encoder_decoder_embeddings": with_source,
        "tie_word_embeddings": with_output,
        "init_std": arguments["initializer_range"] or 0.02,
    }


def _with_output_bias(arguments: Arguments, values: Values) -> tuple[Arguments, Values]:
    """Add the bias of logits that a Marian has."""
    if arguments["output_bias"]:
        return arguments, values
    bias = np.zeros(arguments["target_vocabulary_size"], "float32")
    return {**arguments, "output_bias": True}, {**values, "output_bias": bias}


def _t5(arguments: Arguments) -> Settings:
    return {
        "num_decoder_layers": arguments["decoder_layers"] or arguments["num_layers"],
        "n_positions": arguments["max_sequence_length"],
        "relative_attention_max_distance": arguments["max_relative_positions"],
        "tie_word_embeddings": arguments["share_embeddings"] == "all",
    }


_TRANSLATION_ARCHITECTURES = (
    Architecture(
        model_type="marian",
        name="Marian",
        reader=marian.HuggingFaceMarian,
        model="transformer",
        preprocessor="sentencepiece",
        prefix=marian.PREFIX,
        keys=marian.SIZES,
        activation="activation_function",
        activations={**ACTIVATIONS, "swish": "silu"},
        only=marian.DEFAULTS,
        settings=_marian,
        completed=_with_output_bias,
    ),
    Architecture(
        model_type="t5",
        name="T5",
        reader=t5.HuggingFaceT5,
        model="transformer",
        preprocessor="sentencepiece",
        prefix="",
        keys=t5.SIZES,
        activation="feed_forward_proj",
        activations=t5.ACTIVATIONS,
        sample_names=lambda arguments: [".wi_0."] if arguments["activation"] in GATED_ACTIVATIONS else [],
        settings=_t5,
    ),
)
