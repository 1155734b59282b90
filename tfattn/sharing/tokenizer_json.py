"""The content of tokenizer.json for the tokenizers of the preprocessing."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tokenizers import AddedToken, Tokenizer, decoders, models, processors

from tfattn.preprocessing.byte_vocabulary import ByteVocabulary, Merge
from tfattn.preprocessing.piece_vocabulary import BLANK, PieceVocabulary
from tfattn.preprocessing.sentencepiece_proto import CONTROL, NORMAL, UNKNOWN, USER_DEFINED
from tfattn.preprocessing.vocabulary import CONTINUES, END, MASK, PADDING, START
from tfattn.preprocessing.vocabulary import UNKNOWN as UNKNOWN_WORD
from tfattn.preprocessing.wordpiece_files import wordpiece_tokenizer
from tfattn.pretrained.hugging_face_tokens import pre_tokenizer, prefix_steps

Content = dict[str, Any]


def wordpiece(tokens: Sequence[str], *, lower_case: bool, strip_accents: bool) -> Content:
    """Return the content for BERT's WordPiece.

    Args:
        tokens: the tokens, in the order of their ids.
        lower_case, strip_accents: the normalization.
    """
    tokenizer = wordpiece_tokenizer(tokens, lower_case=lower_case, strip_accents=strip_accents)
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{START}:0 $A:0 {END}:0",
        pair=f"{START}:0 $A:0 {END}:0 $B:1 {END}:1",
        special_tokens=[(token, tokenizer.token_to_id(token)) for token in (START, END)],
    )
    tokenizer.decoder = decoders.WordPiece(prefix=CONTINUES)
    special = [token for token in (PADDING, UNKNOWN_WORD, START, END, MASK) if token in tokens]
    tokenizer.add_special_tokens(_added(special, is_special=True))
    return json.loads(tokenizer.to_str())


def byte_bpe(tokenization: Mapping[str, Any]) -> Content:
    """Return the content for the arguments of `ByteBpe.adopt`."""
    known: ByteVocabulary = tokenization["vocabulary"]
    tokenizer = Tokenizer(models.BPE(_ids(known.tokens), list(known.merges), ignore_merges=known.has_whole_pieces))
    tokenizer.decoder = decoders.ByteLevel()
    _add_tokens(tokenizer, known.special, known.text_tokens, tokenization.get("start_token"))
    content = {**json.loads(tokenizer.to_str()), "pre_tokenizer": pre_tokenizer(tokenization["pattern"])}
    return {**content, "normalizer": {"type": "NFC"} if tokenization.get("normalization") == "nfc" else None}


def piece_bpe(tokenization: Mapping[str, Any]) -> Content:
    """Return the content for the arguments of `PieceBpe.adopt`."""
    known: PieceVocabulary = tokenization["vocabulary"]
    kinds = {piece.text: piece.kind for piece in known.proto.pieces}
    unknown = next((text for text, kind in kinds.items() if kind == UNKNOWN), None)
    tokenizer = Tokenizer(
        models.BPE(_ids(known.tokens), _merges(known), unk_token=unknown, fuse_unk=True, byte_fallback=True)
    )
    blank = decoders.Replace(BLANK, " ")
    strips = [decoders.Strip(" ", 1, 0)] if known.prefix != "never" else []
    tokenizer.decoder = decoders.Sequence([blank, decoders.ByteFallback(), decoders.Fuse(), *strips])
    special = [text for text, kind in kinds.items() if kind in (CONTROL, UNKNOWN)]
    in_texts = [text for text, kind in kinds.items() if kind == USER_DEFINED]
    _add_tokens(tokenizer, special, in_texts, tokenization["start_token"])
    return {**json.loads(tokenizer.to_str()), **prefix_steps(known.prefix)}


def _merges(known: PieceVocabulary) -> list[Merge]:
    """Return all pairs of pieces that make another piece, those of higher scores first.

    Source: the conversion of SentencePiece models in transformers.
    """
    scores = {piece.text: piece.score for piece in known.proto.pieces if piece.kind == NORMAL}
    ids = {text: number for number, text in enumerate(known.tokens)}
    found = []
    for text, score in scores.items():
        pairs = [(text[:cut], text[cut:]) for cut in range(1, len(text))]
        pairs = [pair for pair in pairs if pair[0] in scores and pair[1] in scores]
        found += [(-score, *pair) for pair in sorted(pairs, key=lambda pair: (ids[pair[0]], ids[pair[1]]))]
    return [(left, right) for _, left, right in sorted(found, key=lambda merge: merge[0])]


def _add_tokens(tokenizer: Tokenizer, special: Iterable[str], in_texts: Iterable[str], start: str | None) -> None:
    """Add the tokens of a decoder, and the start token before a text."""
    tokenizer.add_special_tokens(_added(special, is_special=True))
    tokenizer.add_tokens(_added(in_texts, is_special=False))
    if start is not None:
        tokenizer.post_processor = processors.TemplateProcessing(
            single=f"{start}:0 $A:0",
            pair=f"{start}:0 $A:0 {start}:0 $B:0",
            special_tokens=[(start, tokenizer.token_to_id(start))],
        )


def _ids(tokens: Iterable[str]) -> dict[str, int]:
    return {token: number for number, token in enumerate(tokens)}


def _added(tokens: Iterable[str], *, is_special: bool) -> list[AddedToken]:
    # Tokens of blanks are found after the normalizer, which writes blanks as pieces do.
    return [AddedToken(token, special=is_special, normalized=BLANK in token) for token in tokens]
