"""Exports of tiny models of each task, without a SavedModel: what `tfattn.sharing` reads."""

import json
from pathlib import Path
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from tests.pretrained import decoders
from tfattn import registry
from tfattn.preprocessing.byte_bpe import ByteBpe
from tfattn.preprocessing.byte_vocabulary import ByteVocabulary
from tfattn.preprocessing.images import Images
from tfattn.preprocessing.preprocessor import Preprocessor
from tfattn.preprocessing.sentencepiece import SentencePiece
from tfattn.preprocessing.wordpiece import WordPiece
from tfattn.sharing.probes import TEXTS

# Padding is where RoBERTa has it.
WORDS = ["[UNK]", "[PAD]", "[CLS]", "[SEP]", "[MASK]", "the", "pump", "leak", "##s", "3", "##4", "'", ",", "等", "."]
BERT = {"hidden_dim": 16, "num_layers": 2, "num_heads": 2, "intermediate_dim": 24, "max_sequence_length": 24}
GPT = {"hidden_dim": 32, "num_layers": 2, "num_heads": 4, "intermediate_dim": 48, "max_sequence_length": 64}
LLAMA = {**GPT, **decoders.LLAMA}
SEQ2SEQ = {"hidden_dim": 32, "num_layers": 2, "num_heads": 2, "intermediate_dim": 40, "max_sequence_length": 24}
VIT = {"patch_size": 4, "hidden_dim": 16, "num_layers": 2, "num_heads": 2, "intermediate_dim": 24}
LABELS = {"labels": ["Leak", "Noise", "Fire"], "counts": [5, 3, 2]}

# The model and the task of each export, and its facts about targets.
CASES: dict[str, tuple[dict[str, Any], dict[str, Any], dict[str, Any]]] = {
    "classification": ({"name": "bert", **BERT}, {"name": "classification", "pooling": "pooler"}, LABELS),
    "cls": ({"name": "bert", **BERT, "activation": "relu"}, {"name": "classification", "pooling": "cls"}, LABELS),
    "multi_label": (
        {"name": "bert", **BERT},
        {"name": "multi_label_classification", "pooling": "cls", "threshold": 0.3},
        {**LABELS, "rows": 8},
    ),
    "regression": (
        {"name": "bert", **BERT},
        {"name": "regression", "pooling": "pooler", "range": [0, 5]},
        {"mean": 3.25, "deviation": 1.5, "rows": 8},
    ),
    "multiple_choice": ({"name": "bert", **BERT}, {"name": "multiple_choice", "pooling": "pooler"}, {}),
    "token_classification": (
        {"name": "bert", **BERT},
        {"name": "token_classification"},
        {"labels": ["LOC", "PER"], "counts": [5, 3]},
    ),
    "question_answering": (
        {"name": "bert", **BERT},
        {"name": "question_answering"},
        {"rows": 8, "unanswerable": 2},
    ),
    "masked_lm": ({"name": "bert", **BERT, "activation": "gelu_approximate"}, {"name": "masked_lm"}, {}),
    "bert_pretraining": ({"name": "bert", **BERT}, {"name": "bert_pretraining"}, {}),
    # Of BERT's options, DistilBERT, MPNet and ALBERT have others in transformers.
    "distilbert": ({"name": "bert", **BERT, "num_segments": 0}, {"name": "classification", "pooling": "cls"}, LABELS),
    "mpnet": (
        {"name": "bert", **BERT, "num_segments": 0, "position_buckets": 32, "layer_norm_epsilon": 1e-5},
        {"name": "regression", "pooling": "pooler"},
        {"mean": 3.25, "deviation": 1.5, "rows": 8},
    ),
    "albert": (
        {"name": "bert", **BERT, "embedding_dim": 12, "num_distinct_blocks": 1},
        {"name": "multi_label_classification", "pooling": "cls"},
        {**LABELS, "rows": 8},
    ),
    "electra": ({"name": "bert", **BERT, "embedding_dim": 12}, {"name": "classification", "pooling": "cls"}, LABELS),
    "deberta": (
        {"name": "deberta", **BERT, "position_buckets": 8, "max_relative_positions": 24},
        {"name": "classification", "pooling": "pooler"},
        LABELS,
    ),
    "gpt2": ({"name": "gpt", **GPT}, {"name": "language_modeling"}, {}),
    "llama": ({"name": "gpt", **LLAMA}, {"name": "chat"}, {}),
    "untied_llama": ({"name": "gpt", **LLAMA, "tied": False}, {"name": "language_modeling"}, {}),
    "gemma2": (
        {
            "name": "gpt",
            **LLAMA,
            "activation": "geglu_approximate",
            "norm": "both",
            "scale_embeddings": True,
            "window": 5,
            "global_layers": [1],
            "attention_soft_cap": 2.0,
            "logit_soft_cap": 3.0,
            "head_dim": 16,
        },
        {"name": "language_modeling"},
        {},
    ),
    "neox": (
        {"name": "gpt", **GPT, "positions": "rotary", "rotary_fraction": 0.5, "norm": "parallel", "activation": "gelu"},
        {"name": "language_modeling"},
        {},
    ),
    "deit": ({"name": "vit", **VIT, "distillation_token": True}, {"name": "classification"}, LABELS),
    "dinov2": ({"name": "vit", **VIT, "layer_scale": 0.5}, {"name": "classification"}, LABELS),
    "marian": (
        {
            "name": "transformer",
            **SEQ2SEQ,
            "positions": "sinusoidal_halves",
            "layer_norm_epsilon": 1e-5,
            "share_embeddings": "all",
            "activation": "silu",
        },
        {"name": "translation"},
        {},
    ),
    "t5": (
        {
            "name": "transformer",
            **SEQ2SEQ,
            "positions": "relative",
            "norm": "pre",
            "normalization": "rms_norm",
            "use_bias": False,
            "share_embeddings": "inputs",
            "activation": "geglu_approximate",
            "head_dim": 8,
        },
        {"name": "translation"},
        {},
    ),
    "vit": ({"name": "vit", **VIT, "pixel_mean": [0.4, 0.5, 0.6]}, {"name": "classification"}, LABELS),
}
IS_READABLE = np.array([0.1 + (len(token) == 1 and token.isascii()) for token in decoders.TOKENS], "float32")
PAIRS = {"question_answering": ("question", "context"), "multiple_choice": ("context", "choices")}


def write_case(folder: Path, case: str, *, model: dict | None = None, task: dict | None = None) -> Path:
    """Write the export of a case, with changes to its sections."""
    model_section, task_section, targets = CASES[case]
    return write_export(folder, case, {**model_section, **(model or {})}, {**task_section, **(task or {})}, targets)


def write_export(folder: Path, name: str, model: dict, task: dict, targets: dict) -> Path:
    """Write the folder of a version with random weights.

    Args:
        folder: the new folder.
        name: the name of the model.
        model, task: their sections of a pipeline.
        targets: the facts about the targets.
    """
    preprocessor, preprocessing = _preprocessor(folder, model, PAIRS.get(task["name"], ("text",)))
    built = _task(model, task, targets, preprocessor)
    for part in ("variables", "assets", "assets.extra"):
        (folder / part).mkdir(parents=True)
    tf.train.Checkpoint(weights=[weight.value for weight in built.weights]).write(str(folder / "variables/variables"))
    preprocessor.save(folder / "assets")
    config = {"name": name, "data": {"preprocessing": preprocessing}, "model": model, "task": task}
    columns = {"text": "Description"}
    for path, content in {
        "assets.extra/config.yaml": config,
        "assets.extra/weights.json": {"model": built.model.name, "weights": [weight.path for weight in built.weights]},
        "assets.extra/source.json": {"columns": columns, "missing": [], "suffix": ".csv", "format": None},
        "assets.extra/statistics.json": {"rows": 8, "inputs": {}, "missing": [], "targets": targets},
        "assets.extra/card.json": {
            "examples": [{"text": "The pump leaks 34, it's 等到"}],
            "metrics": {"accuracy": 0.75, "accuracy_low": 0.5, "accuracy_high": 0.9},
            "measured_on": "test",
        },
    }.items():
        (folder / path).write_text(json.dumps(content))
    if task["name"] == "chat":
        write_chat(folder)
    return folder


def write_chat(folder: Path) -> None:
    """Write the facts about generation, as exports of language models have them."""
    ids = {token: decoders.TOKENS.index(token) for token in decoders.SPECIAL[1:]}
    content = {
        "special_tokens": ids,
        "chat_template": {"begin": "<|im_start|>", "end": "<|im_end|>", "system": 'Be brief, it\'s a "test".'},
        "defaults": {"temperature": 0.7, "top_k": 50, "top_p": 1.0, "stop": []},
    }
    (folder / "assets/generation.json").write_text(json.dumps(content))


def _preprocessor(folder: Path, model: dict, fields: tuple[str, ...]) -> tuple[Preprocessor, dict]:
    if model["name"] == "vit":
        return Images(size=8), {"name": "images", "size": 8}
    if model["name"] == "gpt":
        tokenizer = ByteBpe(vocabulary="pretrained", max_length=model["max_sequence_length"])
        known = ByteVocabulary(decoders.TOKENS, tuple(decoders.MERGES), decoders.SPECIAL)
        tokenizer.adopt(vocabulary=known, pattern="digits", end_token=decoders.END)
        tokenizer.fit([])
        return tokenizer, {"name": "byte_bpe"}
    if model["name"] == "transformer":
        tokenizer = SentencePiece(vocabulary_size=120, max_length=24, model_type="unigram")
        tokenizer.fit([{"source": text, "target": text.lower()} for text in TEXTS])
        return tokenizer, {"name": "sentencepiece"}
    folder.mkdir(parents=True)
    (folder / "words.txt").write_text("".join(f"{word}\n" for word in WORDS))
    tokenizer = WordPiece(vocabulary=str(folder / "words.txt"), max_length=20, fields=fields)
    tokenizer.fit([])
    return tokenizer, {"name": "wordpiece"}


def _task(model: dict, task: dict, targets: dict, preprocessor: Preprocessor) -> keras.Model:
    """Build a task whose weights are all different, including norms and biases."""
    examples = {"columns": ["anchor", "positive"], "prompts": {}}
    given = {"targets": targets, "preprocessor": preprocessor, "examples": examples}
    names = dict.fromkeys(("language_modeling", "chat", "translation"), ("preprocessor",))
    names["embedding"] = ("targets", "examples")
    without_targets = ("masked_lm", "bert_pretraining", "multiple_choice")
    taken = names.get(task["name"], () if task["name"] in without_targets else ("targets",))
    sizes = {**{key: value for key, value in model.items() if key != "name"}, **preprocessor.sizes}
    built = registry.find("tasks", task["name"])(
        model=registry.find("models", model["name"])(**sizes),
        **{key: value for key, value in task.items() if key != "name"},
        **{name: given[name] for name in taken},
    )
    draw = np.random.default_rng(0)
    for weight in built.weights:
        if "seed" not in weight.path:
            weight.assign(draw.normal(scale=0.2, size=weight.shape) + weight.path.endswith("gamma"))
            if model["name"] == "gpt" and weight.path.endswith(("token/embeddings", "output/embeddings")):
                weight.assign(weight.numpy() * IS_READABLE[:, None])  # other tokens are never generated
    return built
