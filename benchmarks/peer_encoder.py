"""The published BERT of a pipeline as a folder that transformers reads: as it is, or written from our weights."""

import json
from pathlib import Path

import keras
import numpy as np
from safetensors.numpy import save_file

from tfattn import pretrained
from tfattn.models.bert import Bert
from tfattn.preprocessing.vocabulary import Vocabulary
from tfattn.pretrained.bert import ORIGINAL_SIZES
from tfattn.pretrained.hugging_face import CONFIG
from tfattn.pretrained.hugging_face_encoder import HuggingFaceEncoder
from tfattn.pretrained.tensor_files import SAFETENSORS

VOCABULARY, SETTINGS = "vocab.txt", "tokenizer_config.json"


def transformers_folder(source: str, folder: Path) -> Path:
    """Return the folder of published weights if transformers reads it, or write one.

    Args:
        source: as for `pretrained.open`; a BERT.
        folder: an existing folder to write to.
    """
    weights = pretrained.open(source)
    if isinstance(weights, HuggingFaceEncoder):
        return weights.folder
    sizes = weights.sizes()
    bert = Bert(**sizes)
    weights.load_into(bert, [bert.pooler])
    config = {theirs: sizes[ours] for ours, theirs in ORIGINAL_SIZES.items() if ours in sizes}
    config |= {"model_type": "bert", "hidden_act": "gelu", "layer_norm_eps": sizes["layer_norm_epsilon"]}
    (folder / CONFIG).write_text(json.dumps(config))
    published, tensors = HuggingFaceEncoder(folder), {}
    for variable in bert.trainable_variables:
        names = published.stored_names(variable.path.partition("/")[2], ())
        pieces = np.split(keras.ops.convert_to_numpy(variable), len(names), axis=-1)
        tensors |= {
            name: np.ascontiguousarray(piece.T if variable.path.endswith("kernel") else piece)
            for name, piece in zip(names, pieces, strict=True)
        }
    save_file(tensors, folder / SAFETENSORS, metadata={"format": "pt"})
    tokenization = weights.tokenization()
    tokens = Vocabulary.read(tokenization["vocabulary"]).tokens
    (folder / VOCABULARY).write_text("".join(f"{token}\n" for token in tokens), encoding="utf-8")
    settings = {"tokenizer_class": "BertTokenizer", "do_lower_case": tokenization["lower_case"]}
    (folder / SETTINGS).write_text(json.dumps(settings))
    return folder
