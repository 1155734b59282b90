"""Architectures: layers wired together, without heads or losses (those are in tfattn.tasks).

This package registers all of them with Keras under the package name `tfattn`, so that `keras.saving.load_model` finds
them after `import tfattn.models`. A new class needs a line here.
"""

import keras

from tfattn.models.bert import Bert
from tfattn.models.bilstm import Bilstm
from tfattn.models.deberta import Deberta
from tfattn.models.elmo import Elmo
from tfattn.models.encoder_stack import EncoderStack
from tfattn.models.feature_map_transformer import FeatureMapTransformer
from tfattn.models.feature_tokenizer_transformer import FeatureTokenizerTransformer
from tfattn.models.gpt import Gpt
from tfattn.models.modern_bert import ModernBert
from tfattn.models.rnn_encoder_decoder import RnnEncoderDecoder
from tfattn.models.tab_m import TabM
from tfattn.models.tokenized_table import TokenizedTable
from tfattn.models.transformer import Transformer
from tfattn.models.vit import Vit
from tfattn.models.word_vectors import Cbow, SkipGram, WordModel, WordTable

__all__ = [
    "Bert",
    "Bilstm",
    "Cbow",
    "Deberta",
    "Elmo",
    "EncoderStack",
    "FeatureMapTransformer",
    "FeatureTokenizerTransformer",
    "Gpt",
    "ModernBert",
    "RnnEncoderDecoder",
    "SkipGram",
    "TabM",
    "TokenizedTable",
    "Transformer",
    "Vit",
    "WordModel",
    "WordTable",
]

for _name in __all__:
    keras.saving.register_keras_serializable(package="tfattn")(globals()[_name])
