"""The base class of published encoder-decoders of Hugging Face, with their rules of generation."""

from typing import Any

from tfattn.errors import CheckpointError
from tfattn.pretrained.hugging_face import CONFIG, HuggingFaceFolder

GENERATION = "generation_config.json"
# Rules that the search does not have, and the values that switch them off.
DEFAULTS = {
    "do_sample": False,
    "min_length": 0,
    "min_new_tokens": 0,
    "no_repeat_ngram_size": 0,
    "encoder_no_repeat_ngram_size": 0,
    "repetition_penalty": 1.0,
    "num_beam_groups": 1,
    "diversity_penalty": 0.0,
    "penalty_alpha": 0.0,
    "forced_bos_token_id": None,
    "begin_suppress_tokens": None,
    "sequence_bias": None,
}
STOPPING = {"False": "beams", "True": "ended"}  # by `early_stopping`


class PublishedEncoderDecoder(HuggingFaceFolder):
    """Weights of a published encoder-decoder with SentencePiece tokens."""

    model = "transformer"
    preprocessor = "sentencepiece"

    def decoding(self) -> dict[str, Any]:
        """Read the rules of the search; what is not stated is as in transformers."""
        rules = self._rules()
        self._require_defaults(rules, DEFAULTS, GENERATION)
        early = str(rules.get("early_stopping", False))
        found = {
            "num_beams": rules.get("num_beams", 1),
            "length_penalty": rules.get("length_penalty", 1.0),
            "length_penalty_offset": 0.0,
            "stopping": self._setting({"early_stopping": early}, "early_stopping", GENERATION, STOPPING),
            "forced_end": rules.get("forced_eos_token_id") is not None,
            "renormalize": bool(rules.get("renormalize_logits", False)),
        }
        if "max_new_tokens" in rules:
            return {**found, "max_length": rules["max_new_tokens"]}
        # The start token counts.
        return {**found, "max_length": rules["max_length"] - 1} if rules.get("max_length", 1) > 1 else found

    @property
    def special_ids(self) -> dict[str, Any]:
        """Read the ids before and after a text, and of tokens that are never generated; see PublishedVocabulary."""
        words = self._rules().get("bad_words_ids", [])
        if any(not isinstance(word, list) or len(word) != 1 for word in words):
            raise CheckpointError(
                "not supported",
                where=str(self.folder / GENERATION),
                expected="bad_words_ids to be single tokens",
                received=str(words)[:60],
            )
        suppressed = {*(word[0] for word in words), *self._rules().get("suppress_tokens", [])}
        return {
            "start_id": self._token("decoder_start_token_id"),
            "end_id": self._token("eos_token_id"),
            "suppressed_ids": tuple(sorted(suppressed)),
        }

    def _rules(self) -> dict[str, Any]:
        """Read generation_config.json, or the rules in config.json of older versions of transformers."""
        file = GENERATION if (self.folder / GENERATION).is_file() else CONFIG
        return {name: value for name, value in self._json(file).items() if value is not None}

    def _token(self, name: str) -> int:
        config = {**self._json(CONFIG), **self._rules()}
        value = self._setting(config, name, CONFIG)
        value = value[0] if isinstance(value, list) and len(value) == 1 else value
        if type(value) is not int or value < 0:
            raise CheckpointError(
                "not supported",
                where=str(self.folder / CONFIG),
                expected=f"{name} to be the id of a token",
                received=str(value)[:60],
            )
        return value
