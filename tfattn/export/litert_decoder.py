"""The LiteRT file of a language model: a step of generation with a key/value cache that the caller holds.

    read     reads T tokens of a text
    decode   reads a token of each of B texts

Inputs: token_ids and positions (B, T) int32; wanted (N,) int32, the tokens, counted over all rows, whose logits are
computed; key_000, value_000, key_001, ... (B, G, S, K), the cache of each layer; past_bias (B, 1, 1, S), 0 at cached
tokens and a large negative number elsewhere; own_bias (1, 1, T, T), 0 where a token sees another. A model with a window
also has window_past_bias (B, 1, T, S) and window_own_bias (1, 1, T, T).

Outputs: logits (N, V); keys_values (2 L B, G, T, K), the keys and values of the tokens, in the order of the inputs.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import keras
import numpy as np
import tensorflow as tf
from tokenizers import AddedToken, Tokenizer, models

from tfattn import console
from tfattn.export.litert_perplexity import MAX_LOSS, file_perplexity, measure, texts_as_ids
from tfattn.litert import model_file
from tfattn.litert.converter import convert
from tfattn.litert.decoder_file import DECODE, FILES, FOLDER, PRECISIONS, READ, TOKENIZER, cache_names
from tfattn.litert.smoothing import factors
from tfattn.litert.weight_inputs import attach
from tfattn.models.contracts.decoder import Decoder
from tfattn.preprocessing.byte_bpe import ByteBpe
from tfattn.preprocessing.language import Language
from tfattn.pretrained.hugging_face_tokens import pre_tokenizer

WEIGHTS = "weights_"  # the start of the names of inputs that become constants
_TABLE = "/embeddings"


def write_decoder(
    folder: Path, model: Decoder, language: Language, *, texts: Sequence[str], precision: str
) -> dict[str, Any]:
    """Write the LiteRT file of a decoder: with smaller weights if their perplexity is good enough, else in float32.

    Args:
        folder: the folder of a version.
        model: the decoder, in float32.
        language: its tokenizer.
        texts: the texts whose perplexity is compared; their activations also determine the smoothing of 8-bit products.
        precision: the precision to try first: "int8" or "float32".

    Returns:
        for each precision that was tried, `passed`, `metric`, `float32` (the perplexity of the model) and `value` (that
        of the file).

    Raises:
        ExportError: LiteRT cannot compute the model.
    """
    rows = texts_as_ids(language, texts)
    measured = measure(model, rows)
    made = DecoderFiles(model, language, measured.input_sizes)
    reports = {}
    for tried in PRECISIONS[PRECISIONS.index(precision) :]:
        path = made.write(folder / FOLDER, tried)
        found = file_perplexity(path, rows)
        loss = found / measured.perplexity - 1
        passed = tried == "float32" or loss <= MAX_LOSS
        note = f"LiteRT {tried}: perplexity {found:.3f}, of the model {measured.perplexity:.3f} ({loss:+.2%})"
        reports[tried] = {
            "passed": passed,
            "metric": "perplexity",
            "float32": measured.perplexity,
            "value": found,
            "texts": len(rows),
        }
        if passed:
            console.note(f"{note}, {path.stat().st_size / 1e6:.0f} MB")
            break
        console.note(f"{note}: more than {MAX_LOSS:.0%}, so the file is not used")
        path.unlink()
    return reports


class DecoderFiles:
    """The LiteRT files of a decoder, whose graph is converted once.

    Args:
        model: the decoder, in float32.
        language: its tokenizer.
        input_sizes: the sizes of the inputs of matrices, see `measure`, for the smoothing of 8-bit products.

    Raises:
        ExportError: LiteRT cannot compute the model.
    """

    def __init__(self, model: Decoder, language: Language, input_sizes: Mapping[str, np.ndarray]):
        self._model, self._language, self._sizes = model, language, input_sizes
        self._graph = DecoderGraph(model)
        functions = {READ: self._graph.function(1, None), DECODE: self._graph.function(None, 1)}
        self._content = convert(functions, weights=self._graph.small)

    def write(self, folder: Path, precision: str) -> Path:
        """Write the file with weights of a precision, "float32" or "int8", to a folder; return its path."""
        scales = self._graph.scales(self._sizes) if precision == "int8" else {}
        content = attach(self._content, self._graph.weights, scales, precision=precision)
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / FILES[precision]
        description = _description(self._model, self._language, precision)
        path.write_bytes(model_file.add_metadata(content, description, _files(self._language)))
        return path


class DecoderGraph:
    """The functions of a decoder whose matrices are inputs.

    Args:
        model: the decoder.

    Attributes:
        num_layers, num_groups, head_dim: the sizes of the cache.
        small: the weights that are not matrices.
        weights: the matrices as the converter wants them, by the name of the input: kernels are transposed.
        paths: the path of each matrix in the model, by the name of the input.
    """

    def __init__(self, model: Decoder):
        self._model = model
        cache = model.empty_cache(1)
        self.num_layers = len(cache.past)
        _, self.num_groups, _, self.head_dim = cache.past[0][0].shape
        self._matrices = {
            f"{WEIGHTS}{number:04}": variable
            for number, variable in enumerate(model.variables)
            if len(variable.shape) == 2
        }
        self.paths = {name: variable.path for name, variable in self._matrices.items()}
        own = {id(variable) for variable in self._matrices.values()}
        self.small = [variable.value for variable in model.variables if id(variable) not in own]
        self.weights = {
            name: values if _is_table(variable) else np.ascontiguousarray(values.T)
            for name, variable in self._matrices.items()
            for values in [np.asarray(variable, np.float32)]
        }

    def scales(self, sizes: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Return the factors of smoothed matrices by name, from the sizes of their inputs; see `measure`."""
        paths = self.paths.items()
        return {name: factors(sizes[path], self.weights[name]) for name, path in paths if path in sizes}

    def function(self, rows: int | None, times: int | None) -> Callable[..., Any]:
        """Return the function of B rows of T tokens each; None is any number, for one of the two."""
        shape = [rows, times]
        specs = {name: tf.TensorSpec(shape, tf.int32, name=name) for name in ("token_ids", "positions")}
        specs["wanted"] = tf.TensorSpec([None], tf.int32, name="wanted")
        biases = {"past_bias": [rows, 1, 1, None], "own_bias": [1, 1, times, times]}
        if self._model.window is not None:
            biases |= {"window_past_bias": [rows, 1, times, None], "window_own_bias": [1, 1, times, times]}
        names = [name for pair in cache_names(self.num_layers) for name in pair]
        past = dict.fromkeys(names, [rows, self.num_groups, None, self.head_dim])
        matrices = {name: values.shape for name, values in self.weights.items()}
        for name, size in {**biases, **past, **matrices}.items():
            specs[name] = tf.TensorSpec(size, tf.float32, name=name)
        return tf.function(self._step, autograph=False).get_concrete_function(**specs)

    def _step(
        self, *, token_ids: tf.Tensor, positions: tf.Tensor, wanted: tf.Tensor, **inputs: tf.Tensor
    ) -> dict[str, tf.Tensor]:
        past = [tuple(inputs[name] for name in pair) for pair in cache_names(self.num_layers)]
        biases = {
            kind: (inputs[f"{kind}past_bias"], inputs[f"{kind}own_bias"])
            for kind in ("", "window_")
            if f"{kind}past_bias" in inputs
        }
        logits, read = self.read(token_ids, positions, past, biases[""], biases.get("window_"), wanted, inputs)
        return {"logits": logits, "keys_values": tf.concat([x for pair in read for x in pair], 0)}

    def read(
        self,
        token_ids: tf.Tensor,
        positions: tf.Tensor,
        past: Sequence[tuple[tf.Tensor, tf.Tensor]],
        biases: tuple[tf.Tensor, tf.Tensor],
        window_biases: tuple[tf.Tensor, tf.Tensor] | None,
        wanted: tf.Tensor,
        matrices: Mapping[str, tf.Tensor],
    ) -> tuple[tf.Tensor, list[tuple[tf.Tensor, tf.Tensor]]]:
        """Read tokens with the matrices of the inputs; return the wanted logits, and the keys and values of layers."""
        used = [
            (variable, matrices[name] if _is_table(variable) else tf.transpose(matrices[name]))
            for name, variable in self._matrices.items()
        ]
        with keras.StatelessScope(state_mapping=used):
            x, read = self._model.read_biased(token_ids, positions, past, biases, window_biases)
            x = tf.gather(tf.reshape(x, [-1, x.shape[-1]]), wanted)
            return self._model.row_logits(x), read


def _is_table(variable: keras.Variable) -> bool:
    return variable.path.endswith(_TABLE)


def _description(model: Decoder, language: Language, precision: str) -> dict[str, Any]:
    cache = model.empty_cache(1)
    return {
        "kind": "decoder",
        "precision": precision,
        "num_layers": len(cache.past),
        "num_groups": cache.past[0][0].shape[1],
        "head_dim": cache.past[0][0].shape[3],
        "vocabulary_size": model.vocabulary_size,
        "context": model.max_sequence_length,
        "window": model.window,
        "suppressed_ids": list(language.suppressed_ids),
    }


def _files(language: Language) -> dict[str, bytes]:
    """Return the tokenizer, without special tokens: prompts are plain text.

    Other tokenizers than byte-level BPE have none; the server then tokenizes with the SavedModel.
    """
    if not isinstance(language, ByteBpe):
        return {}
    return {TOKENIZER: json.dumps(tokenizer_json(language), ensure_ascii=False).encode()}


def tokenizer_json(language: ByteBpe, *, special_tokens: Sequence[str] = ()) -> dict[str, Any]:
    """Return a tokenizer as the content of a file of the `tokenizers` package."""
    known = language.fitted_vocabulary
    ids = {token: number for number, token in enumerate(known.tokens)}
    tokenizer = Tokenizer(models.BPE(ids, list(known.merges), ignore_merges=known.has_whole_pieces))
    tokenizer.add_special_tokens(list(special_tokens))
    tokenizer.add_tokens([AddedToken(token, normalized=False) for token in known.text_tokens])
    content = {**json.loads(tokenizer.to_str()), "pre_tokenizer": pre_tokenizer(language.pattern)}
    content["normalizer"] = {"type": "NFC"} if language.normalization == "nfc" else None
    content["decoder"] = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    return content
