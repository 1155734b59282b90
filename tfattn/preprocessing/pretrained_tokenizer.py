"""The tokenizer of a published encoder: WordPiece, byte-level BPE or unigram pieces."""

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

from pydantic import PositiveInt

from tfattn import files, hub
from tfattn.config.relations import OnlyWith
from tfattn.features import TEXT
from tfattn.preprocessing.code_points import Reference, check_reference, describe_reference
from tfattn.preprocessing.encoder_tokens import EncoderTokens, TextPieces
from tfattn.preprocessing.preprocessor import PRETRAINED
from tfattn.preprocessing.segments import SequenceSettings
from tfattn.preprocessing.special_tokens import SpecialTokens
from tfattn.preprocessing.tokenizer_json import read_tokenizer
from tfattn.preprocessing.wordpiece_files import wordpiece_json

TOKENIZER, _SETTINGS = "tokenizer.json", "tokenizer_config.json"
_REMEDY = "Prepare the data again."

_Adopted = tuple[str, str | None, int]  # the arguments of `adopt`


class Settings(SequenceSettings, Reference):
    """The content of tokenizer_config.json."""

    tokenizer_class: str
    mask_token: str | None
    vocabulary_size: int


class PretrainedTokenizer(EncoderTokens):
    """The tokenizer of a published encoder, in the graph: a text or a pair of texts.

    The algorithm is that of the published tokenizer.json: WordPiece, byte-level BPE (RoBERTa, ModernBERT) or unigram
    pieces of SentencePiece (XLM-R, ALBERT, DeBERTa). Special tokens and segments are as published: <s> text </s>, or
    [CLS] first [SEP] second [SEP]. They are not parsed in texts: `<s>` there is three characters. A text is cut after
    65,536 bytes.

    Ids and truncation are equal to those of the reference, the `tokenizers` package, and so to the fast tokenizers of
    transformers; for unigram pieces with the exceptions named in `UnigramPieces`.

    Args:
        vocabulary: `pretrained` to use the tokenizer of the pretrained weights, or the path of a tokenizer.json, which
            may be on a hub: hf://FacebookAI/roberta-base/tokenizer.json.
        max_length: the maximum sequence length in tokens, special tokens included. The longer text of a pair is cut
            first.
        doc_stride: read a long text in windows that start this many tokens apart, as WordPiece.
        max_query_length: the maximum length of the first text of a pair in windows, such as a question. By default half
            of the sequence.
        fields: the names of one text field or two.

    Raises:
        ConfigError: there are no fields or more than two, or max_length leaves no room for text.

    Example:
        tokenizer = PretrainedTokenizer(vocabulary="roberta-base/tokenizer.json", max_length=64)
        tokenizer.fit([])
        tokenizer({"text": tf.constant(["Sorter blows fuses."])})["token_ids"]  # ragged (1, (T)) int32
    """

    adopts = ("wordpiece",)

    def __init__(
        self,
        *,
        vocabulary: str = PRETRAINED,
        max_length: PositiveInt = 128,
        doc_stride: PositiveInt | None = None,
        max_query_length: Annotated[PositiveInt | None, OnlyWith("doc_stride")] = None,
        fields: tuple[str, ...] = (TEXT,),
    ):
        super().__init__(
            fields,
            max_length=max_length,
            doc_stride=doc_stride,
            max_query_length=max_query_length,
            num_marks=2 * len(fields),  # of the longest published template
            marks="special tokens",
        )
        self.vocabulary = vocabulary
        self._adopted: _Adopted | None = None
        self._text, self._size = "", 0
        self.special = SpecialTokens()

    def fit(self, rows: Iterable[dict[str, str]]) -> None:
        """Read the tokenizer.

        Raises:
            ConfigError: the vocabulary is still `pretrained`.
            DataError: the file is missing or damaged, or the tokenizer is not supported.
        """
        self.check_adopted()
        if self._adopted is not None:
            self._use(*self._adopted, where="the pretrained tokenizer")
        else:
            remedy = "Correct the path, or use `vocabulary: pretrained`."
            path = hub.local_path(self.vocabulary)
            text = files.read_bytes(path, remedy=remedy).decode("utf-8", errors="replace")
            self._use(text, None, 0, where=self.vocabulary)

    def adopt(
        self,
        *,
        tokenizer: str = "",
        mask_token: str | None = None,
        vocabulary_size: int = 0,
        vocabulary: Path | None = None,
        lower_case: bool | None = None,
        strip_accents: bool | None = None,
    ) -> None:
        """Adopt the tokenizer of published weights: a tokenizer.json, or a vocabulary as `WordPiece.adopt`.

        Args:
            tokenizer: the content of tokenizer.json.
            mask_token: the token that hides another token; None for [MASK] or <mask>.
            vocabulary_size: the number of token vectors of the model; the last vectors may have no token.
            vocabulary, lower_case, strip_accents: as `WordPiece.adopt`.
        """
        if vocabulary is not None:
            tokenizer = wordpiece_json(vocabulary, lower_case=lower_case, strip_accents=strip_accents)
        self._adopted = tokenizer, mask_token, vocabulary_size

    @property
    def needs_pretrained(self) -> bool:
        return self.vocabulary == PRETRAINED and self._adopted is None

    @property
    def adopted(self) -> dict[str, str]:
        return {} if self._adopted is None else {"tokenizer": files.digest(list(self._adopted))}

    @property
    def files(self) -> list[Path]:
        return [] if self.vocabulary == PRETRAINED else [hub.local_path(self.vocabulary)]

    def save(self, folder: Path) -> None:
        """Write tokenizer.json and tokenizer_config.json, the file names of transformers."""
        files.write_text(Path(folder) / TOKENIZER, self._text)
        settings: Settings = {
            "tokenizer_class": "PreTrainedTokenizerFast",
            "mask_token": self.special.mask,
            "vocabulary_size": self._size,
            **self.sequence_settings,
            **describe_reference(self.pieces.fingerprint),
        }
        files.write_json(Path(folder) / _SETTINGS, settings)

    def load(self, folder: Path) -> None:
        """Read what `save` wrote; the saved settings replace the arguments of the constructor.

        Raises:
            DataError: a file is missing or damaged, or the installed `tokenizers` treats characters differently from
                the version that saved the folder.
        """
        path = Path(folder) / _SETTINGS
        settings = files.read_json(path, Settings, remedy=_REMEDY)
        text = files.read_bytes(Path(folder) / TOKENIZER, remedy=_REMEDY).decode("utf-8", errors="replace")
        mask, size = settings["mask_token"], settings["vocabulary_size"]
        self._use(text, mask, size, where=str(Path(folder) / TOKENIZER))
        check_reference(settings, self.pieces.fingerprint, where=str(path))
        self.sequence_settings = settings

    @property
    def sizes(self) -> dict[str, int]:
        return {"vocabulary_size": len(self.pieces.tokens) if self._pieces else 1}

    def with_pieces(self, pieces: TextPieces) -> "PretrainedTokenizer":
        other = PretrainedTokenizer(max_length=self.max_length, fields=self.fields)
        other.special, other._text, other._size, other._pieces = self.special, self._text, self._size, pieces
        return other

    @property
    def unknown_remedy(self) -> str:
        return "Use pretrained weights whose vocabulary is of this language."

    def _use(self, text: str, mask: str | None, size: int, *, where: str) -> None:
        self._text, self._size = text, size
        self._pieces, self.special = read_tokenizer(text, where=where, mask=mask, size=size)
