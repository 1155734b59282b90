"""Earlier checkpoints and exports load: weight names, shapes and outputs are unchanged."""

import json
import zlib
from pathlib import Path

import numpy as np
import pytest
from keras import ops

from tfattn.models.bert import Bert
from tfattn.models.bilstm import Bilstm
from tfattn.models.deberta import Deberta
from tfattn.models.elmo import Elmo
from tfattn.models.feature_map_transformer import FeatureMapTransformer
from tfattn.models.feature_tokenizer_transformer import FeatureTokenizerTransformer
from tfattn.models.gpt import Gpt
from tfattn.models.modern_bert import ModernBert
from tfattn.models.rnn_encoder_decoder import RnnEncoderDecoder
from tfattn.models.tab_m import TabM
from tfattn.models.transformer import Transformer
from tfattn.models.vit import Vit
from tfattn.models.word_vectors import SkipGram

SAVED = json.loads(Path(__file__).with_name("weight_names.json").read_text())
IDS = np.arange(10, dtype="int32").reshape(2, 5) % 7 + 1
MASK = np.array([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]], "bool")
TEXT = {"token_ids": IDS, "padding_mask": MASK, "segment_ids": (IDS > 4).astype("int32")}
PAIR = {"token_ids": IDS, "padding_mask": MASK, "target_ids": IDS[:, ::-1]}
ROW = {"numeric": np.linspace(-1, 1, 28, dtype="float32").reshape(2, 14)}
COLUMNS = {"numeric": ROW["numeric"][:, :3], "category_ids": np.array([[1, 2], [0, 3]], "int32")}
IMAGE = {"images": np.linspace(0, 1, 2 * 8 * 8 * 3, dtype="float32").reshape(2, 8, 8, 3)}
SPELLED = {"character_ids": np.arange(2 * 5 * 50, dtype="int32").reshape(2, 5, 50) % 97 + 1, "padding_mask": MASK}
WORDS = {"token_ids": IDS, "words_before": np.ones((2, 5), "int32"), "words_after": np.ones((2, 5), "int32")}

STACK = {"hidden_dim": 8, "num_layers": 2, "num_heads": 2, "intermediate_dim": 12}
TEXTS = {"vocabulary_size": 11, **STACK}
PAIRS = {"vocabulary_size": 11, "target_vocabulary_size": 9}
RECURRENT = {**PAIRS, "hidden_dim": 8, "embedding_dim": 6, "num_layers": 2}
TABLE = {"num_numeric": 3, "category_counts": [4, 5], **STACK}
ELMO = {"hidden_dim": 8, "cell_dim": 6, "character_dim": 4, "filters": [[1, 4], [2, 8]], "num_highways": 1}
CASES = {
    "bert": (Bert, TEXTS, TEXT),
    "bert_pre": (Bert, {**TEXTS, "norm": "pre", "normalization": "rms_norm", "activation": "glu"}, TEXT),
    "deberta": (Deberta, {**TEXTS, "position_buckets": 2, "max_relative_positions": 4}, TEXT),
    "modern_bert": (ModernBert, TEXTS, TEXT),
    "modern_bert_plain": (ModernBert, {**TEXTS, "positions": "learned", "use_bias": True, "activation": "relu"}, TEXT),
    "gpt": (Gpt, {**TEXTS, "num_key_value_heads": 1, "tied": False}, TEXT),
    "gpt_rotary": (Gpt, {**TEXTS, "positions": "rotary", "qk_norm": True, "logit_soft_cap": 5.0}, TEXT),
    "transformer": (Transformer, {**PAIRS, **STACK}, PAIR),
    "transformer_pre": (Transformer, {**PAIRS, **STACK, "norm": "pre", "positions": "rotary"}, PAIR),
    "rnn_bahdanau": (RnnEncoderDecoder, RECURRENT, PAIR),
    "rnn_luong": (RnnEncoderDecoder, {**RECURRENT, "wiring": "luong", "cell": "lstm", "score": "general"}, PAIR),
    "rnn_input_feeding": (RnnEncoderDecoder, {**RECURRENT, "wiring": "input_feeding", "score": "dot"}, PAIR),
    "rnn_plain": (RnnEncoderDecoder, {**RECURRENT, "wiring": "plain"}, PAIR),
    "ft_transformer": (FeatureTokenizerTransformer, TABLE, COLUMNS),
    "ft_transformer_periodic": (FeatureTokenizerTransformer, {**TABLE, "numeric_embedding": "periodic"}, COLUMNS),
    "feature_map": (FeatureMapTransformer, {"num_numeric": 14, "category_counts": []}, ROW),
    "tab_m": (TabM, {"num_numeric": 3, "category_counts": [4, 5], "num_members": 4, "hidden_dim": 8}, COLUMNS),
    "vit": (Vit, {"image_size": 8, "patch_size": 4, **STACK}, IMAGE),
    "cct": (Vit, {"image_size": 8, "num_convolutions": 2, "inner_width": 4, "pooling": "attention", **STACK}, IMAGE),
    "elmo": (Elmo, ELMO, SPELLED),
    "bilstm": (Bilstm, {"vocabulary_size": 11, "hidden_dim": 8, "embedding_dim": 6, "attention": True}, TEXT),
    "skip_gram": (SkipGram, {"vocabulary_size": 11, "hidden_dim": 4}, WORDS),
}


@pytest.mark.parametrize("case", CASES)
def test_earlier_weights_load_and_give_equal_outputs(case):
    found = described(*CASES[case])
    assert sorted(found["weights"]) == sorted(SAVED[case]["weights"])
    for name, values in SAVED[case]["outputs"].items():
        np.testing.assert_allclose(found["outputs"][name], values, rtol=2e-4, atol=2e-5, err_msg=name)


def described(model_class: type, arguments: dict, features: dict) -> dict:
    """Return names and shapes of the weights of a model, and its outputs with weights that depend on their names."""
    model = model_class(**arguments)
    for weight in model.trainable_weights:
        draw = np.random.default_rng(zlib.crc32(weight.path.encode()))
        weight.assign(draw.normal(size=weight.shape) * 0.3)
    outputs = {k: v for k, v in model(features).items() if not isinstance(v, list)}
    arrays = {k: ops.convert_to_numpy(v).ravel().astype("float64") for k, v in outputs.items()}
    return {
        "weights": [[weight.path, *weight.shape] for weight in model.trainable_weights],
        "outputs": {k: [*x[:4].tolist(), x.mean(), x.std()] for k, x in arrays.items()},
    }
