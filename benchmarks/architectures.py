"""The difference of published architectures, with random weights, to transformers.

Each architecture is a small configuration as it is published, and the class of transformers that computes the expected
outputs. `python -m benchmarks architectures` measures all of them.
"""

import json
import subprocess
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import architecture_reference, peers
from benchmarks.results import Table

ROWS, TOKENS = 2, 24
LENGTHS = (TOKENS, 17)  # without padding

Arrays = Mapping[str, np.ndarray]

_BERT = {
    "vocab_size": 40,
    "hidden_size": 16,
    "num_hidden_layers": 3,
    "num_attention_heads": 2,
    "intermediate_size": 28,
    "max_position_embeddings": 32,
    "hidden_act": "gelu",
    "hidden_dropout_prob": 0.1,
    "attention_probs_dropout_prob": 0.2,
    "initializer_range": 0.02,
}
_ROBERTA = {
    **_BERT,
    "max_position_embeddings": 34,
    "layer_norm_eps": 1e-5,
    "pad_token_id": 1,
    "bos_token_id": 0,
    "eos_token_id": 2,
}


@dataclass(frozen=True, kw_only=True)
class Architecture:
    """An architecture of transformers, in a small size.

    Attributes:
        reference: the class of transformers.
        config: the content of config.json, with the keys of published folders.
        example: the name of published weights.
        tokenizer: the tokenization of published weights, for the table.
        kind: a name in KINDS, how tfattn computes the outputs.
        segments: whether the inputs have segment ids.
    """

    reference: str
    config: Mapping[str, Any] = field(repr=False)
    example: str
    tokenizer: str
    kind: str = "masked_lm"
    segments: bool = False


ARCHITECTURES = {
    "bert": Architecture(
        reference="BertForMaskedLM",
        config={"model_type": "bert", **_BERT, "type_vocab_size": 2, "layer_norm_eps": 1e-12, "pad_token_id": 0},
        example="google-bert/bert-base-chinese",
        tokenizer="WordPiece",
        segments=True,
    ),
    "roberta": Architecture(
        reference="RobertaForMaskedLM",
        config={"model_type": "roberta", **_ROBERTA, "type_vocab_size": 1},
        example="FacebookAI/roberta-base",
        tokenizer="byte-level BPE",
    ),
    "xlm_roberta": Architecture(
        reference="XLMRobertaForMaskedLM",
        config={"model_type": "xlm-roberta", **_ROBERTA, "type_vocab_size": 1, "position_embedding_type": "absolute"},
        example="FacebookAI/xlm-roberta-base",
        tokenizer="SentencePiece unigram",
    ),
    "distilbert": Architecture(
        reference="DistilBertForMaskedLM",
        config={
            "model_type": "distilbert",
            "vocab_size": 40,
            "dim": 16,
            "n_layers": 3,
            "n_heads": 2,
            "hidden_dim": 28,
            "max_position_embeddings": 32,
            "activation": "gelu",
            "dropout": 0.1,
            "attention_dropout": 0.2,
            "initializer_range": 0.02,
            "sinusoidal_pos_embds": False,
            "pad_token_id": 0,
        },
        example="distilbert/distilbert-base-cased",
        tokenizer="WordPiece",
    ),
    "electra": Architecture(
        reference="ElectraForMaskedLM",
        config={
            "model_type": "electra",
            **_BERT,
            "embedding_size": 12,
            "type_vocab_size": 2,
            "layer_norm_eps": 1e-12,
            "pad_token_id": 0,
        },
        example="google/electra-small-generator",
        tokenizer="WordPiece",
        segments=True,
    ),
    "electra_discriminator": Architecture(
        reference="ElectraForPreTraining",
        config={
            "model_type": "electra",
            **_BERT,
            "embedding_size": 16,
            "type_vocab_size": 2,
            "layer_norm_eps": 1e-12,
            "pad_token_id": 0,
        },
        example="google/electra-base-discriminator",
        tokenizer="WordPiece",
        kind="encoder",
        segments=True,
    ),
    "albert": Architecture(
        reference="AlbertForMaskedLM",
        config={
            "model_type": "albert",
            **_BERT,
            "num_hidden_layers": 4,
            "num_hidden_groups": 2,
            "inner_group_num": 1,
            "embedding_size": 12,
            "hidden_act": "gelu_new",
            "type_vocab_size": 2,
            "layer_norm_eps": 1e-12,
            "pad_token_id": 0,
        },
        example="albert/albert-base-v2",
        tokenizer="SentencePiece unigram",
        segments=True,
    ),
    "mpnet": Architecture(
        reference="MPNetForMaskedLM",
        config={"model_type": "mpnet", **_ROBERTA, "relative_attention_num_buckets": 32},
        example="microsoft/mpnet-base",
        tokenizer="WordPiece",
    ),
    "deberta_v2": Architecture(
        reference="DebertaV2ForMaskedLM",
        config={
            "model_type": "deberta-v2",
            **_BERT,
            "relative_attention": True,
            "position_buckets": 8,
            "max_relative_positions": -1,
            "norm_rel_ebd": "layer_norm",
            "share_att_key": True,
            "pos_att_type": "p2c|c2p",
            "position_biased_input": False,
            "type_vocab_size": 0,
            "layer_norm_eps": 1e-7,
            "pad_token_id": 0,
        },
        example="microsoft/deberta-v3-base",
        tokenizer="SentencePiece unigram",
    ),
    "modernbert": Architecture(
        reference="ModernBertForMaskedLM",
        config={
            "model_type": "modernbert",
            "vocab_size": 40,
            "hidden_size": 16,
            "num_hidden_layers": 4,
            "num_attention_heads": 2,
            "intermediate_size": 20,
            "max_position_embeddings": 64,
            "hidden_activation": "gelu",
            "initializer_range": 0.02,
            "norm_eps": 1e-5,
            "norm_bias": False,
            "attention_bias": False,
            "mlp_bias": False,
            "decoder_bias": True,
            "attention_dropout": 0.0,
            "embedding_dropout": 0.0,
            "mlp_dropout": 0.0,
            "global_attn_every_n_layers": 3,
            "global_rope_theta": 160000.0,
            "local_rope_theta": 10000.0,
            "local_attention": 8,
            "pad_token_id": 3,
            "bos_token_id": 1,
            "eos_token_id": 2,
            "cls_token_id": 1,
            "sep_token_id": 2,
        },
        example="answerdotai/ModernBERT-base",
        tokenizer="byte-level BPE",
    ),
}


def main() -> list[Table]:
    """Compare all architectures with transformers."""
    rows = []
    for name, architecture in ARCHITECTURES.items():
        with tempfile.TemporaryDirectory() as path:
            folder = Path(path)
            expected = run_reference(architecture, folder)
            differences = difference(outputs(architecture, folder), expected)
        rows.append(
            [name, architecture.example, architecture.tokenizer, *(f"{differences[key]:.1e}" for key in COMPARED)]
        )
    columns = ["architecture", "published weights", "tokenizer", *COMPARED.values()]
    return [Table(title="Largest difference to transformers, random weights, float32", columns=columns, rows=rows)]


COMPARED = {"logits": "logits", "hidden_states": "vectors of all layers"}


def inputs(architecture: Architecture) -> dict[str, np.ndarray]:
    """Return the inputs of transformers: rows of random tokens, the last of which are padding."""
    draw = np.random.RandomState(0)
    is_real = np.arange(TOKENS) < np.array(LENGTHS)[:, None]
    # Ids from 4 on are no special tokens of any architecture.
    ids = np.where(is_real, draw.randint(4, architecture.config["vocab_size"], (ROWS, TOKENS)), 0)
    found = {"input_ids": ids.astype("int64"), "attention_mask": is_real.astype("int64")}
    if architecture.segments:
        found["token_type_ids"] = (is_real & (np.arange(TOKENS) >= 9)).astype("int64")
    return found


def run_reference(architecture: Architecture, folder: Path) -> dict[str, np.ndarray]:
    """Write a folder with random weights, and compute the outputs of transformers for `inputs`."""
    write_config(architecture, folder)
    np.savez(folder / "inputs.npz", **inputs(architecture))
    files = (folder, folder / "inputs.npz", folder / "outputs.npz")
    command = [peers.TORCH_PYTHON, architecture_reference.__file__, architecture.reference, *files]
    done = subprocess.run(list(map(str, command)), check=False, capture_output=True, text=True, timeout=300)
    if done.returncode:
        raise RuntimeError(done.stderr)
    with np.load(folder / "outputs.npz") as found:
        return dict(found)


def write_config(architecture: Architecture, folder: Path) -> None:
    """Write the config.json of an architecture."""
    (folder / "config.json").write_text(json.dumps(architecture.config, indent=1))


def outputs(architecture: Architecture, folder: Path) -> dict[str, np.ndarray]:
    """Compute the outputs of tfattn for `inputs`, with the names of transformers."""
    return KINDS[architecture.kind](folder, inputs(architecture))


def difference(received: Arrays, expected: Arrays) -> dict[str, float]:
    """Return the largest difference of each output at real tokens; NaN for an output that tfattn does not compute."""
    is_real = np.arange(TOKENS) < np.array(LENGTHS)[:, None]
    found = dict.fromkeys(COMPARED, float("nan"))
    for name in COMPARED.keys() & received.keys():
        ours, theirs = (values[name][..., is_real, :] for values in (received, expected))
        found[name] = float(np.abs(ours - theirs).max())
    return found


def _masked_lm(folder: Path, given: Arrays) -> dict[str, np.ndarray]:
    from tfattn import pretrained, registry
    from tfattn.tasks.masked_lm import MaskedLm

    weights = pretrained.open(folder)
    task = MaskedLm(model=registry.find("models", weights.model)(**weights.sizes()))
    report = weights.load_into(task.model, task.optional_layers)
    head = [name for name in report.unused if "decoder" not in name and "position_ids" not in name]
    if head:
        raise RuntimeError(f"tensors are unused: {', '.join(head)}")
    features = _features(given)
    everywhere = np.tile(np.arange(TOKENS, dtype="int32"), (ROWS, 1))
    logits = task({**features, "masked_lm_positions": everywhere})["masked_lm_logits"]
    return {"logits": np.asarray(logits), **_states(task.model(features))}


def _encoder(folder: Path, given: Arrays) -> dict[str, np.ndarray]:
    from tfattn import pretrained, registry

    weights = pretrained.open(folder)
    model = registry.find("models", weights.model)(**weights.sizes())
    weights.load_into(model, [model.pooler])
    return _states(model(_features(given)))


def _features(given: Arrays) -> dict[str, np.ndarray]:
    names = {"input_ids": "token_ids", "attention_mask": "padding_mask", "token_type_ids": "segment_ids"}
    return {names[name]: values.astype("int32") for name, values in given.items()}


def _states(answer: Mapping[str, Any]) -> dict[str, np.ndarray]:
    return {"hidden_states": np.stack([np.asarray(state) for state in answer["hidden_states"]])}


KINDS: dict[str, Callable[[Path, Arrays], dict[str, np.ndarray]]] = {"masked_lm": _masked_lm, "encoder": _encoder}
