"""The `.litertlm` file of a language model, for LiteRT-LM, the runtime of language models on phones.

    prefill_N   reads N tokens of a text
    decode      reads a token, and returns the logits of the next token

Inputs: tokens (1, T) and input_pos (T,) int32, consecutive positions; kv_cache_k_0, kv_cache_v_0, kv_cache_k_1, ...
(1, G, S, K), the cache of each layer. Outputs: the cache with the new tokens, by the same names, and of `decode`
logits (1, 1, V). A prompt is padded to N tokens; later tokens overwrite the cache of the padding.
"""

import json
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal

import tensorflow as tf

from tfattn.errors import ExportError
from tfattn.export.litert_decoder import DecoderGraph, tokenizer_json
from tfattn.export.litert_perplexity import measure, texts_as_ids
from tfattn.formats.chat_template import ASSISTANT, ChatTemplate
from tfattn.litert.converter import convert
from tfattn.litert.weight_inputs import attach
from tfattn.models.contracts.decoder import Decoder
from tfattn.preprocessing.byte_bpe import ByteBpe
from tfattn.preprocessing.chat_ids import special_token_ids
from tfattn.preprocessing.language import Language

Activations = Literal["fp16", "fp32"]
PREFILL_TOKENS = (16, 128)
HIDDEN = -1e30
INSTALL = "Install it: `pip install 'tfattn[litert]'`."


def write_bundle(
    path: Path,
    model: Decoder,
    language: Language,
    *,
    texts: Sequence[str],
    precision: str,
    capacity: int = 1024,
    system: str | None = None,
    activations: Activations | None = None,
) -> None:
    """Write the bundle of a decoder.

    Args:
        path: the file.
        model: the decoder, in float32.
        language: its tokenizer, byte-level BPE.
        texts: the texts whose activations determine the smoothing of 8-bit products.
        precision: of the weights, "int8" or "float32", as `write_decoder` has found it good enough.
        capacity: S, the most tokens of prompt and answer, at most the context of the model. Each step takes time for
            all of them.
        system: the system message of chats without one.
        activations: the precision of activations; by default the runtime's choice, float16 where the device has it.

    Raises:
        ExportError: the tokenizer is of another kind, or litert-lm-builder is not installed.
    """
    if not isinstance(language, ByteBpe):
        raise ExportError(
            "the tokenizer has no counterpart in a bundle", expected="byte-level BPE", received=type(language).__name__
        )
    try:
        from litert_lm_builder import LitertLmFileBuilder, TfLiteModelType
        from litert_lm_builder.runtime.proto.llm_metadata_pb2 import LlmMetadata
    except ImportError as error:
        raise ExportError("litert-lm-builder is not installed", received=str(error), remedy=INSTALL) from None
    graph, capacity = DecoderGraph(model), min(capacity, model.max_sequence_length)
    functions = {f"prefill_{tokens}": _function(graph, model, tokens, capacity) for tokens in PREFILL_TOKENS}
    functions["decode"] = _function(graph, model, 1, capacity)
    scales = graph.scales(measure(model, texts_as_ids(language, texts)).input_sizes) if precision == "int8" else {}
    content = attach(convert(functions, weights=graph.small), graph.weights, scales, precision=precision)
    template = language.chat_template(system)
    with tempfile.TemporaryDirectory() as folder:
        names = ("model.tflite", "tokenizer.json", "metadata.pb")
        file, tokenizer, metadata = (Path(folder) / name for name in names)
        file.write_bytes(content)
        special = tuple(special_token_ids(language, template)) if template else ()
        tokenizer.write_text(json.dumps(tokenizer_json(language, special_tokens=special), ensure_ascii=False))
        metadata.write_bytes(_metadata(LlmMetadata(), language, template, capacity).SerializeToString())
        builder = LitertLmFileBuilder()
        builder.add_tflite_model(str(file), TfLiteModelType.PREFILL_DECODE, prefer_activation_type=activations)
        builder.add_hf_tokenizer(str(tokenizer))
        builder.add_llm_metadata(str(metadata))
        with path.open("wb") as output:
            builder.build(output)


def _function(graph: DecoderGraph, model: Decoder, times: int, capacity: int) -> Callable[..., Any]:
    """Return the function that reads T tokens, with a cache of S positions."""
    names = [f"kv_cache_{kind}_{layer}" for layer in range(graph.num_layers) for kind in "kv"]
    shape = [1, graph.num_groups, capacity, graph.head_dim]
    specs = {
        "tokens": tf.TensorSpec([1, times], tf.int32, name="tokens"),
        "input_pos": tf.TensorSpec([times], tf.int32, name="input_pos"),
        **{name: tf.TensorSpec(shape, tf.float32, name=name) for name in names},
        **{name: tf.TensorSpec(values.shape, tf.float32, name=name) for name, values in graph.weights.items()},
    }

    def step(*, tokens: tf.Tensor, input_pos: tf.Tensor, **inputs: tf.Tensor) -> dict[str, tf.Tensor]:
        start = input_pos[:1]  # (1,)
        slots, own = tf.range(capacity), tf.range(times)
        past = [(inputs[f"kv_cache_k_{layer}"], inputs[f"kv_cache_v_{layer}"]) for layer in range(graph.num_layers)]
        is_past, is_own = slots < start, own[:, None] >= own  # (S,), (T, T)
        biases = _bias(is_past)[None, None, None], _bias(is_own)[None, None]
        near = None
        if model.window is not None:
            queries = (start + own)[:, None]
            is_near = is_past & (slots > queries - model.window)  # (T, S)
            near = _bias(is_near)[None, None], _bias(is_own & (own[:, None] - own < model.window))[None, None]
        positions = (start + own)[None]
        last = tf.constant([times - 1])
        logits, read = graph.read(tokens, positions, past, biases, near, last, inputs)
        index = slots - start
        is_new = ((index >= 0) & (index < times))[None, None, :, None]
        index = tf.clip_by_value(index, 0, times - 1)
        new = [tf.where(is_new, tf.gather(x, index, axis=2), cache) for x, cache in _pairs(read, past)]
        outputs = dict(zip(names, new, strict=True))
        return outputs if times > 1 else {**outputs, "logits": logits[None]}

    return tf.function(step, autograph=False).get_concrete_function(**specs)


def _pairs(read: Any, past: Any) -> list[tuple[tf.Tensor, tf.Tensor]]:
    return [(x, cache) for new, old in zip(read, past, strict=True) for x, cache in zip(new, old, strict=True)]


def _bias(is_seen: tf.Tensor) -> tf.Tensor:
    return tf.where(is_seen, 0.0, HIDDEN)


def _metadata(metadata: Any, language: ByteBpe, template: ChatTemplate | None, capacity: int) -> Any:
    """Return the metadata: special tokens, the texts around messages, and the length."""
    ends = set(language.end_ids)
    if template is not None:
        known = template.description["texts"]
        for role, name in (("user", "user"), ("model", ASSISTANT), ("system", "system")):
            if known[name] is not None:
                affixes = getattr(metadata.prompt_templates, role)
                affixes.prefix, affixes.suffix = known[name]
        ends.add(special_token_ids(language, template)[template.end])
    for end in sorted(ends):
        metadata.stop_tokens.add().token_ids.ids.append(end)
    if language.start_ids:
        metadata.start_token.token_ids.ids.extend(language.start_ids)
    metadata.suppress_tokens.ids.extend(language.suppressed_ids)
    metadata.max_num_tokens = capacity
    metadata.llm_model_type.generic_model.SetInParent()
    metadata.supports_thinking = metadata.supports_function_calling = False
    return metadata
