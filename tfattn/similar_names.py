"""The names that a mistyped, abbreviated or differently called name most probably means.

Searched in this order: the same name in another spelling (`FT-Transformer`), an abbreviation (`ft_transformer`),
another word for the same part (`lr`), typing errors (`epcohs`), and a part of a name (`heads`).
"""

import difflib
import re
from collections.abc import Iterable

# What other tools and people call a key, a part or a command: word -> our names, in order of preference.
SYNONYMS: dict[str, tuple[str, ...]] = {
    "adam": ("adamw",),
    "architecture": ("model",),
    "average": ("averaging", "ema"),
    "batches": ("batching",),
    "betas": ("beta_1",),
    "bs": ("batch_size",),
    "checkpoint": ("pretrained",),
    "class_names": ("labels",),
    "classes": ("labels",),
    "classify": ("classification", "predict"),
    "clip": ("clip_norm",),
    "clm": ("language_modeling",),
    "columns": ("fields",),
    "config": ("show",),
    "create": ("init",),
    "cross_validation": ("folds",),
    "cv": ("folds",),
    "d_ff": ("intermediate_dim",),
    "d_model": ("hidden_dim",),
    "dataset": ("data",),
    "deploy": ("serve",),
    "dev": ("validation",),
    "dim_feedforward": ("intermediate_dim",),
    "dropout_rate": ("dropout",),
    "dtype": ("precision",),
    "embed": ("features",),
    "embed_dim": ("hidden_dim", "embedding_dim"),
    "embedding_size": ("hidden_dim", "embedding_dim"),
    "file": ("path",),
    "filename": ("path",),
    "filters": ("feature_channels",),
    "fit": ("train",),
    "fp16": ("precision",),
    "gpu": ("device",),
    "grad_clip": ("clip_norm",),
    "gradient_accumulation_steps": ("accumulation",),
    "heads": ("num_heads",),
    "hidden_dropout_prob": ("dropout",),
    "hidden_size": ("hidden_dim",),
    "infer": ("predict",),
    "inference": ("predict",),
    "intermediate_size": ("intermediate_dim",),
    "kv_heads": ("num_key_value_heads",),
    "layers": ("num_layers",),
    "lm": ("language_modeling",),
    "lowercase": ("lower_case",),
    "lr": ("learning_rate",),
    "lr_scheduler": ("schedule",),
    "lstm": ("bilstm",),
    "max_epochs": ("epochs",),
    "max_grad_norm": ("clip_norm",),
    "max_len": ("max_length", "max_sequence_length"),
    "max_new_tokens": ("max_tokens",),
    "max_seq_len": ("max_length", "max_sequence_length"),
    "max_seq_length": ("max_length", "max_sequence_length"),
    "max_steps": ("steps",),
    "metric": ("monitor",),
    "mlm": ("masked_lm",),
    "mlp_dim": ("intermediate_dim",),
    "n_embd": ("hidden_dim",),
    "n_head": ("num_heads",),
    "n_layer": ("num_layers",),
    "ner": ("token_classification",),
    "new": ("init",),
    "num_attention_heads": ("num_heads",),
    "num_epochs": ("epochs",),
    "num_hidden_layers": ("num_layers",),
    "num_train_epochs": ("epochs",),
    "num_workers": ("workers", "processes"),
    "nmt": ("translation",),
    "optim": ("optimizer",),
    "out": ("output",),
    "port": ("rest_port",),
    "preprocess": ("preprocessing", "prepare"),
    "qa": ("question_answering",),
    "random_seed": ("seed",),
    "random_state": ("seed",),
    "rnn": ("bilstm", "rnn_encoder_decoder"),
    "save_dir": ("folder",),
    "sep": ("delimiter",),
    "separator": ("delimiter",),
    "scheduler": ("schedule",),
    "seq2seq": ("rnn_encoder_decoder", "translation"),
    "seq_len": ("max_length", "max_sequence_length"),
    "seq_length": ("max_length", "max_sequence_length"),
    "start": ("serve", "init"),
    "test": ("evaluate",),
    "text_generation": ("language_modeling",),
    "threads": ("worker_threads",),
    "tokenizer": ("preprocessing",),
    "tune": ("compare", "train"),
    "val": ("validation",),
    "validate": ("check",),
    "verify": ("check",),
    "vocab": ("vocabulary",),
    "vocab_size": ("vocabulary_size",),
    "warmup_ratio": ("warmup",),
    "warmup_steps": ("warmup",),
    "wd": ("weight_decay",),
    "weights": ("pretrained",),
    "word2vec": ("skip_gram",),
}
# The keys of a keyboard with Latin letters, to compare letters that are next to each other.
_ROWS = ("1234567890", "qwertyuiop", "asdfghjkl", "zxcvbnm")
_NEIGHBORS = {
    frozenset((letter, other))
    for row, letters in enumerate(_ROWS)
    for index, letter in enumerate(letters)
    for other in letters[index + 1 : index + 2] + "".join(_ROWS[row + 1 : row + 2])[max(index - 1, 0) : index + 1]
}


def similar_names(word: str, names: Iterable[str], limit: int = 1) -> list[str]:
    """Return the names that a word most probably means, best first; an empty list if no name is similar.

    Args:
        word: the word.
        names: the known names.
        limit: the maximum number of names.

    Example:
        >>> similar_names("lr", ["learning_rate", "weight_decay"])
        ['learning_rate']
        >>> similar_names("epcohs", ["epochs", "steps"])
        ['epochs']
    """
    word = _plain(str(word))
    known: dict[str, str] = {}
    for name in names:
        known.setdefault(_plain(name), name)
    for candidates in (
        [name for name in known if _joined(name) == _joined(word)],
        [name for name in known if name != word and _abbreviates(word, name)],
        [name for name in SYNONYMS.get(word, ()) if name in known],
        [name for name in known if name.startswith(f"{word}_")],
        _mistyped(word, known),
        [name for name in known if _is_part(word, name)],
        difflib.get_close_matches(word, known, n=limit),
    ):
        if candidates:
            return [known[name] for name in candidates[:limit]]
    return []


def is_sure(word: str, name: str) -> bool:
    """Return whether a word hardly means another name: it has at most one typing error, or is a synonym.

    Example:
        >>> is_sure("lr", "learning_rate"), is_sure("epochs", "steps")
        (True, False)
    """
    word, name = _plain(word), _plain(name)
    means = _joined(word) == _joined(name) or _abbreviates(word, name) or name in SYNONYMS.get(word, ())
    return means or typing_errors(word, name, 1.0) <= 1.0


def typing_errors(word: str, name: str, most: float = float("inf")) -> float:
    """Count the typing errors that make a word of a name; infinity if there are more than `most`.

    A missing, additional, wrong or swapped letter is an error, and half an error if it is likely: a letter that is
    typed once or twice instead of twice or once, or the letter of a neighboring key.

    Example:
        >>> typing_errors("epcohs", "epochs"), typing_errors("epoch", "epochs"), typing_errors("epoochs", "epochs")
        (1.0, 1.0, 0.5)
    """
    if abs(len(word) - len(name)) > 2 * most:
        return float("inf")
    before: list[float] = []
    row = [_extra(name, 0, end) for end in range(len(name) + 1)]
    for i, letter in enumerate(word, start=1):
        older, before = before, row
        row = [_extra(word, 0, i)]
        for j, other in enumerate(name, start=1):
            best = before[j - 1] + _wrong(letter, other)
            best = min(best, before[j] + _extra(word, i - 1, i), row[j - 1] + _extra(name, j - 1, j))
            if i > 1 and j > 1 and letter != other and letter == name[j - 2] and word[i - 2] == other:
                best = min(best, older[j - 2] + 1.0)
            row.append(best)
        if min(row) > most:
            return float("inf")
    return row[-1]


def _mistyped(word: str, names: Iterable[str]) -> list[str]:
    """List the names with few typing errors for their length, fewest errors first."""
    most = max(1.0, len(word) / 3.5) if len(word) > 1 else 0.0
    errors = {name: typing_errors(word, name, most) for name in names if name != word}
    found = [name for name, count in errors.items() if count <= most]
    similarity = {name: difflib.SequenceMatcher(None, word, name).ratio() for name in found}
    return sorted(found, key=lambda name: (errors[name], -similarity[name]))


def _wrong(letter: str, other: str) -> float:
    return 0.0 if letter == other else 0.5 if frozenset((letter, other)) in _NEIGHBORS else 1.0


def _extra(word: str, start: int, end: int) -> float:
    """Return the cost of the letters word[start:end], which the other word does not have."""
    return sum(0.5 if index and word[index - 1] == word[index] else 1.0 for index in range(start, end))


def _plain(name: str) -> str:
    return re.sub(r"[-\s]", "_", name.strip().casefold())


def _joined(name: str) -> str:
    return name.replace("_", "")


def _abbreviates(word: str, name: str) -> bool:
    """Return whether a word is a name with initials for some of its parts, such as ft for feature_tokenizer."""
    parts = name.split("_")
    for piece in word.split("_"):
        if parts[:1] == [piece]:
            del parts[0]
        elif len(piece) > 1 and piece == "".join(part[:1] for part in parts[: len(piece)]):
            del parts[: len(piece)]
        else:
            return False
    return not parts


def _is_part(word: str, name: str) -> bool:
    """Return whether a word is the start of a name, or some of its parts; words of 1 and 2 letters are not compared."""
    return len(word) > 2 and (name.startswith(word) or f"_{word}_" in f"_{name}_" or word.startswith(f"{name}_"))
