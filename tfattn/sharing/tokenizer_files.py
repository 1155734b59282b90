"""The tokenizer files of Hugging Face: tokenizer.json, which has the ids of the preprocessing, and its settings."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tfattn import files
from tfattn.errors import ExportError
from tfattn.formats.chat_template import ChatTemplate
from tfattn.preprocessing.sentencepiece import SentencePiece
from tfattn.preprocessing.special_tokens import SpecialTokens
from tfattn.preprocessing.vocabulary import END, MASK, PADDING, START, UNKNOWN
from tfattn.pretrained import hugging_face_pieces as pieces
from tfattn.pretrained.hugging_face import WORDS
from tfattn.pretrained.hugging_face_tokens import SETTINGS, TOKENIZER
from tfattn.sharing import tokenizer_json
from tfattn.sharing.chat_jinja import chat_jinja
from tfattn.sharing.trained_export import ASSETS, TrainedExport

SPECIAL = "special_tokens_map.json"
_PADDINGS = (PADDING, "<pad>")
_SENTINEL = "<extra_id_"


@dataclass(frozen=True)
class TextFiles:
    """The files of a tokenizer.

    Args:
        content: the files of the vocabulary, such as tokenizer.json, by name.
        special: the special tokens by their names in transformers, such as `pad_token`.
        ids: the ids of special tokens by the names of config.json, such as `pad_token_id`.
        settings: the settings of tokenizer_config.json.
    """

    content: Mapping[str, bytes]
    special: dict[str, str]
    ids: dict[str, int]
    settings: dict[str, Any]

    def write(self, folder: Path) -> None:
        """Write the files into an existing folder."""
        for name, content in self.content.items():
            (folder / name).write_bytes(content)
        files.write_json(folder / SETTINGS, self.settings | self.special)
        files.write_json(folder / SPECIAL, self.special)


def tokenizer_files(export: TrainedExport) -> TextFiles:
    """Return the files of an export's tokenizer.

    Raises:
        ExportError: transformers has no such tokenizer.
    """
    make = _MAKERS.get(export.weights.preprocessor)
    if make is None:
        raise ExportError(
            "the tokenizer has no counterpart in transformers",
            where=str(export.folder),
            expected=f"the preprocessing {', '.join(_MAKERS)}",
            received=export.weights.preprocessor,
            remedy="Train with one of these, or serve the SavedModel: tfattn serve.",
        )
    return make(export)


def chat_template(export: TrainedExport) -> ChatTemplate | None:
    """Return the template of an export's chats; None if it has none."""
    found = (export.asset("generation.json") or {}).get("chat_template")
    return None if found is None else ChatTemplate.of(found)


def _wordpiece(export: TrainedExport) -> TextFiles:
    preprocessor = export.preprocessor
    lower_case, strip_accents = preprocessor.lower_case, preprocessor.strip_accents
    tokens = preprocessor.tokens
    content = tokenizer_json.wordpiece(tokens, lower_case=lower_case, strip_accents=strip_accents)
    names = {"unk": UNKNOWN, "sep": END, "pad": PADDING, "cls": START, "mask": MASK}
    special = {f"{name}_token": token for name, token in names.items() if token in tokens}
    ids = {"pad_token_id": tokens.index(PADDING)}
    folding = {"do_lower_case": lower_case, "strip_accents": strip_accents, "tokenize_chinese_chars": True}
    has_segments = export.arguments.get("num_segments", 2) > 0
    settings = {"tokenizer_class": "BertTokenizer", **folding, **_settings(export, has_segments=has_segments)}
    words = "".join(f"{token}\n" for token in tokens).encode()
    return TextFiles({TOKENIZER: _json(content), WORDS: words}, special, ids, settings)


def _published(export: TrainedExport) -> TextFiles:
    """Return the files of the tokenizer of a published encoder, whose tokenizer.json is part of the export."""
    content = json.loads(export.weights.tokenization()["tokenizer"])
    tokens: SpecialTokens = export.preprocessor.special
    padding = next((name for name in _PADDINGS if name in tokens.names), tokens.end)
    names = {"bos": tokens.start, "cls": tokens.start, "eos": tokens.end, "sep": tokens.end, "pad": padding}
    names |= {"mask": tokens.mask, "unk": content["model"].get("unk_token")}
    special = {f"{name}_token": token for name, token in names.items() if token is not None}
    ids = {"pad_token_id": export.preprocessor.tokens.index(padding)}
    has_segments = export.arguments.get("num_segments", 2) > 0
    settings = {"tokenizer_class": "PreTrainedTokenizerFast", **_settings(export, has_segments=has_segments)}
    return TextFiles({TOKENIZER: _json(content)}, special, ids, settings)


def _byte_bpe(export: TrainedExport) -> TextFiles:
    return _of_decoder(export, tokenizer_json.byte_bpe(export.weights.tokenization()))


def _piece_bpe(export: TrainedExport) -> TextFiles:
    return _of_decoder(export, tokenizer_json.piece_bpe(export.weights.tokenization()))


def _of_decoder(export: TrainedExport, content: dict[str, Any]) -> TextFiles:
    language = export.preprocessor
    end, start = language.end_token, language.start_token or language.end_token
    special = {"bos_token": start, "eos_token": end, "unk_token": content["model"].get("unk_token") or end}
    special["pad_token"] = next((name for name in _PADDINGS if name in language.tokens), end)
    names = {"bos_token_id": start, "eos_token_id": end, "pad_token_id": special["pad_token"]}
    ids = {name: language.tokens.index(token) for name, token in names.items()}
    # Other classes replace the pre-tokenizer of tokenizer.json by their own.
    settings = {"tokenizer_class": "PreTrainedTokenizerFast", **_settings(export, has_segments=False)}
    settings |= {"clean_up_tokenization_spaces": False, "truncation_side": "left"}
    if (template := chat_template(export)) is not None:
        settings["chat_template"] = chat_jinja(template)
    return TextFiles({TOKENIZER: _json(content)}, special, ids, settings)


def _settings(export: TrainedExport, *, has_segments: bool) -> dict[str, Any]:
    inputs = ["input_ids", *(["token_type_ids"] if has_segments else []), "attention_mask"]
    return {"model_max_length": export.weights.max_length, "model_input_names": inputs}


def _json(content: dict[str, Any]) -> bytes:
    return (json.dumps(content, indent=2, ensure_ascii=False) + "\n").encode()


def _translation(export: TrainedExport) -> TextFiles:
    """Return the files of a translation tokenizer: of T5 for relative positions, else of Marian."""
    language: SentencePiece = export.preprocessor
    for tokens in (language.tokens, language.target_tokens):
        if not {pieces.PADDING, pieces.UNKNOWN} <= set(tokens):
            raise ExportError(
                "the tokenizer has no counterpart in transformers",
                where=str(export.folder),
                expected=f"the tokens {pieces.PADDING} and {pieces.UNKNOWN}",
                received=", ".join(tokens[:5]),
            )
    names = ("sentencepiece",) if language.joint else ("source", "target")
    models = [files.read_bytes(export.folder / ASSETS / f"{name}.model", remedy="") for name in names]
    special = {"eos_token": language.tokens[language.end_id], "unk_token": pieces.UNKNOWN, "pad_token": pieces.PADDING}
    ids = {
        "pad_token_id": language.tokens.index(pieces.PADDING),
        "eos_token_id": language.end_id,
        "decoder_start_token_id": language.start_id,
    }
    settings: dict[str, Any] = {"model_max_length": export.weights.max_length}
    if export.arguments["positions"] == "relative":
        sentinels = sum(token.startswith(_SENTINEL) for token in language.tokens)
        settings |= {"tokenizer_class": "T5Tokenizer", "extra_ids": sentinels}
        return TextFiles({pieces.T5_MODEL: models[0]}, special, ids, settings)
    separate = language.tokens != language.target_tokens
    settings |= {"tokenizer_class": "MarianTokenizer", "source_lang": "source", "target_lang": "target"}
    content = {
        pieces.SOURCE_MODEL: models[0],
        pieces.TARGET_MODEL: models[-1],
        pieces.VOCABULARY: _ids_of(language.tokens),
    }
    if separate:
        content[pieces.TARGET_VOCABULARY] = _ids_of(language.target_tokens)
    return TextFiles(content, special, ids, settings | {"separate_vocabs": separate})


def _ids_of(tokens: list[str]) -> bytes:
    return json.dumps({token: number for number, token in enumerate(tokens)}, ensure_ascii=False).encode()


_MAKERS: dict[str, Callable[[TrainedExport], TextFiles]] = {
    "byte_bpe": _byte_bpe,
    "piece_bpe": _piece_bpe,
    "pretrained_tokenizer": _published,
    "sentencepiece": _translation,
    "wordpiece": _wordpiece,
}
