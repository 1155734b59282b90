"""The export of language models: text generation, token log probabilities, beam search, scoring, and decoding steps."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from tfattn import files
from tfattn.export.attention import ATTRIBUTIONS, add_segments
from tfattn.export.decoding_steps import DecodingSteps, cache_sizes
from tfattn.export.litert_decoder import write_decoder
from tfattn.export.litert_perplexity import MAX_TEXTS
from tfattn.export.request_settings import FORMER_MAX_TOKENS, MAX_TOKENS, STOP, Settings, sampling_settings
from tfattn.export.servable_model import Columns, Comparison, ServableModel
from tfattn.export.stop_strings import complete_characters, cut_at_stop, stop_criterion
from tfattn.features import PADDING_MASK, TEXT, TOKEN_IDS
from tfattn.models.contracts.decoder import Decoder
from tfattn.preprocessing.chat_ids import special_token_ids
from tfattn.preprocessing.language import Language
from tfattn.preprocessing.token_labels import source_token_labels
from tfattn.rows import evenly_spaced
from tfattn.sampling_params import SamplingParams
from tfattn.tasks.generation import Generation, length_limit, sample_continuations, search_continuations
from tfattn.trained.ensemble import TrainedEnsemble
from tfattn.trained.text_generator import (
    SAMPLE_TOKENS,
    SharedDecoder,
    TextGenerator,
    decode_tokens,
    encode_prompts,
    row_text,
    sample_prompts,
)

CONTINUATION = "continuation"
N_BEST, LOG_PROBABILITIES, SCORE = "n_best", "log_probabilities", "score"
MAX_QUESTIONS = 50
NUM_TOP_TOKENS = 5
STOPPED, LENGTH = "stop", "length"  # values of finish_reason


def save_description(folder: Path, language: Language, model: Decoder | SharedDecoder, generation: Generation) -> None:
    """Write generation.json and token_bytes.json, which servers read.

    Args:
        folder: the folder of assets.
        language: the tokenizer.
        model: the decoder.
        generation: the recommended settings.
    """
    template = language.chat_template(generation.system)
    properties = {
        "context": model.max_sequence_length,
        "start_ids": language.start_ids,
        "prefix": language.prefix,
        "prefix_unless": language.prefix_unless,
        "end_ids": language.end_ids,
        **cache_sizes(model),
        "special_tokens": special_token_ids(language, template) if template else {},
        "chat_template": template.description if template else None,
        "defaults": Settings(generation).defaults,
    }
    files.write_json(folder / "generation.json", properties)
    files.write_json(folder / "token_bytes.json", [token.decode("latin-1") for token in language.token_bytes])


class Generator(ServableModel):
    """An export that continues texts.

        serving_default     text (B,) and optional sampling parameters, see `Settings`
                            -> text (B,) string, the continuation without the stop string; score (B,) float32, its log
                            probability; length (B,) int32, its number of tokens; finish_reason (B,) string, "stop"
                            after an end token or a stop string, "length" at the length limit
        log_probabilities   inputs of serving_default -> per generated token: token (B, L) string, log_probability (B,
                            L) float32, and the top tokens at its position, `likeliest` (B, L, 5) string and
                            `likeliest_log_probability` (B, L, 5), best first; padded with "" and 0
        n_best              text (B,), max_tokens (B,), optional
                            -> results of beam search: text, score, length, each (B, n), best first
        score               text (B,), continuation (B,)
                            -> score (B,) float32, the log probability of the continuation, and length (B,) int32, its
                            number of tokens
        tokenize, prefill, prompt_logprobs, decode_step
                            generation step by step, see `DecodingSteps`

    Prompts that are longer than the context are an error. Generated text has no incomplete characters.

    Args:
        ensemble: a single trained model.

    Raises:
        ExportError: the task does not compute in float32.
    """

    writes_own_litert = True
    headline_metrics = ("bits_per_byte", "word_perplexity", "perplexity")

    def __init__(self, ensemble: TrainedEnsemble):
        super().__init__(ensemble, name="generator")
        (task,), (self._language,) = ensemble.tasks, ensemble.preprocessors
        self._labels = source_token_labels(self._language)
        continuing = TextGenerator(ensemble)
        steps = DecodingSteps(self._language, continuing.single_steps)
        # Lambdas, because models must not be attributes: see ServableModel.
        self._continuing, self._steps = lambda: continuing, lambda: steps
        self._generation = task.generation
        self._settings = Settings(task.generation)

    @property
    def ensemble(self) -> TextGenerator:
        """The trained model, answering prompts."""
        return self._continuing()

    @property
    def _model(self) -> SharedDecoder:
        return self._continuing().model

    @property
    def raw_fields(self) -> dict[str, str]:
        return {TEXT: TEXT}

    def questions(self, rows: Sequence[Mapping[str, str]]) -> list[dict[str, str]]:
        """Return the first words of some rows, as prompts."""
        return sample_prompts(rows, limit=MAX_QUESTIONS)

    def signatures(self) -> dict[str, Any]:
        text, continuation = (tf.TensorSpec([None], tf.string, name=name) for name in (TEXT, CONTINUATION))
        return {
            "serving_default": self._settings.signature(self._continue),
            LOG_PROBABILITIES: self._settings.signature(self._log_probabilities),
            N_BEST: self._settings.signature(self._search, [MAX_TOKENS]),
            SCORE: tf.function(self._score, input_signature=[text, continuation], autograph=False),
            **self._steps().signatures(),
            # Without attributions: the gradients of a deep model would add half to the size of an export.
            **{name: view for name, view in self.attention_signatures().items() if name != ATTRIBUTIONS},
        }

    def attention_signatures(self) -> dict[str, Any]:
        text = [tf.TensorSpec([None], tf.string, name=TEXT)]
        return self._attention(
            inputs=text, read=self._read, labels=self._label_tokens, names=self._language.token_bytes
        )

    def metadata(self) -> dict[str, Any]:
        text = {"kind": "text", "max_tokens": self._model.max_sequence_length - 1}
        return {"inputs": {TEXT: text}, "entries": {}}

    def request(self, rows: Sequence[Mapping[str, str]]) -> dict[str, Any]:
        """Return a request for greedy decoding, with the settings of the trained model's predictions."""
        exact = SamplingParams(temperature=0.0).of_logits
        settings = self._settings.for_rows(len(rows), max_tokens=SAMPLE_TOKENS, **exact)
        return {TEXT: [row[TEXT] for row in rows], **settings}

    def warm_up(self, rows: Sequence[Mapping[str, str]]) -> Iterator[tuple[str, Columns]]:
        """Yield a request of a few prompts for each signature."""
        request = self.request(self.questions(rows)[:2])
        texts = request[TEXT]
        yield LOG_PROBABILITIES, request
        yield N_BEST, {TEXT: texts, **{name: request[name] for name in (MAX_TOKENS, FORMER_MAX_TOKENS)}}
        yield SCORE, {TEXT: texts, CONTINUATION: texts}
        yield from self._steps().warm_up(texts)
        yield "serving_default", {name: values[:1] for name, values in request.items()}
        yield "serving_default", request

    def compare(
        self, expected: Mapping[str, np.ndarray], received: Mapping[str, Sequence[Any]], *, tolerance: float
    ) -> Comparison:
        """Compare texts for equality and scores within the tolerance."""
        written = decode_tokens(self._language, expected["token_ids"], expected["lengths"])
        texts = [text.decode() for text in complete_characters(written).numpy()]
        agree = np.array([ours == theirs for ours, theirs in zip(texts, received[TEXT], strict=True)])
        differences = np.abs(np.asarray(received["score"], np.float64) - expected["scores"])
        allowed = tolerance * SAMPLE_TOKENS  # a score is a sum over tokens
        return Comparison(
            wrong=~(agree & (differences <= allowed)),
            report={"text_agreement": float(agree.mean()), "max_score_difference": float(differences.max())},
            words=f"texts agree on {agree.sum()} of {len(agree)} prompts, "
            f"scores differ by at most {differences.max():.2g} (allowed: {allowed:g})",
            expected=lambda row: f"{texts[row]!r} and a score within {allowed:g}",
            received=lambda row: f"{received[TEXT][row]!r} and a score off by {differences[row]:.3g}",
        )

    def write_litert(self, folder: Path, rows: Sequence[Mapping[str, Any]], *, precision: str) -> dict[str, Any]:
        (task,) = self._each_task()
        texts = [row_text(row) for row in evenly_spaced(rows, MAX_TEXTS)]
        return write_decoder(folder, task.model, self._language, texts=texts, precision=precision)

    def save_assets(self, folder: Path) -> None:
        """Write the preprocessor's files, and generation.json and token_bytes.json for users of the decoding steps."""
        super().save_assets(folder)
        save_description(folder, self._language, self._model, self._generation)

    def _continue(self, text: tf.Tensor, **settings: tf.Tensor) -> dict[str, tf.Tensor]:
        texts, written, is_stopped, limit = self._generate(text, settings)
        ended = is_stopped | (written.lengths < limit)
        return {
            "text": texts,
            "score": written.scores,
            "length": written.lengths,
            "finish_reason": tf.where(ended, STOPPED, LENGTH),
        }

    def _log_probabilities(self, text: tf.Tensor, **settings: tf.Tensor) -> dict[str, tf.Tensor]:
        _, written, *_ = self._generate(text, settings, num_top_logprobs=NUM_TOP_TOKENS)
        table = tf.constant(self._language.token_bytes)
        positions = tf.range(tf.shape(written.token_ids)[1]) < written.lengths[:, None]
        details = written.details
        return {
            "token": tf.where(positions, tf.gather(table, written.token_ids), ""),
            "log_probability": details.log_probabilities,
            "likeliest": tf.where(positions[:, :, None], tf.gather(table, details.top_ids), ""),
            "likeliest_log_probability": details.top_logprobs,
        }

    def _search(self, text: tf.Tensor, **settings: tf.Tensor) -> dict[str, tf.Tensor]:
        max_tokens = self._settings.validate(settings, tf.size(text))[MAX_TOKENS]
        token_ids, padding_mask, limit = self._prompts(text, max_tokens)
        end_id, *other_ends = self._language.end_ids
        written = search_continuations(
            self._model,
            token_ids,
            padding_mask,
            end_id=end_id,
            suppressed_ids=[*self._language.suppressed_ids, *other_ends],
            max_tokens=limit,
            num_beams=self._generation.num_beams,
            length_penalty=self._generation.length_penalty,
        )
        shape = tf.shape(written.lengths)
        texts = tf.reshape(decode_tokens(self._language, written.token_ids, written.lengths), [-1])
        return {
            "text": tf.reshape(complete_characters(texts), shape),
            "score": written.scores,
            "length": written.lengths,
        }

    def _score(self, text: tf.Tensor, continuation: tf.Tensor) -> dict[str, tf.Tensor]:
        before, after = encode_prompts(self._language, text), self._language.split(continuation)
        starts = tf.reduce_sum(tf.cast(before[1], tf.int32), axis=1)
        lengths = tf.cast(after.row_lengths(), tf.int32)
        whole = tf.concat([tf.RaggedTensor.from_tensor(before[0], starts), after], axis=1)
        with tf.control_dependencies([self._check_length(starts + lengths)]):
            token_ids = whole.to_tensor()
        mask = tf.range(tf.shape(token_ids)[1]) < (starts + lengths)[:, None]
        x, _ = self._model.read(token_ids, self._model.empty_cache(tf.shape(token_ids)[0]), mask)
        positions = tf.range(tf.reduce_max(lengths))
        read = tf.gather(x, tf.minimum(starts[:, None] - 1 + positions, tf.shape(x)[1] - 1), batch_dims=1)
        targets = after.to_tensor()
        losses = tf.nn.sparse_softmax_cross_entropy_with_logits(targets, self._model.next_logits(read))
        return {"score": -tf.reduce_sum(tf.where(positions < lengths[:, None], losses, 0.0), axis=1), "length": lengths}

    def _generate(self, text: tf.Tensor, settings: dict[str, tf.Tensor], **options: Any) -> tuple:
        """Generate; return texts, `Decoded`, whether a stop string ended a text, and length limits."""
        rows = tf.size(text)
        settings = self._settings.validate(settings, rows)
        stop = settings[STOP]
        token_ids, padding_mask, limit = self._prompts(text, settings[MAX_TOKENS])
        sampling, penalties = sampling_settings(settings)
        written = sample_continuations(
            self._model,
            token_ids,
            padding_mask,
            end_ids=self._language.end_ids,
            suppressed_ids=self._language.suppressed_ids,
            max_tokens=limit,
            sampling=sampling,
            penalties=penalties,
            is_last=stop_criterion(self._language, stop),
            **options,
        )
        texts, is_stopped = cut_at_stop(decode_tokens(self._language, written.token_ids, written.lengths), stop)
        return complete_characters(texts), written, is_stopped, limit

    def _prompts(self, text: tf.Tensor, max_tokens: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
        """Return prompts, their masks, and the limits of new tokens."""
        token_ids, padding_mask = encode_prompts(self._language, text)
        lengths = tf.reduce_sum(tf.cast(padding_mask, tf.int32), axis=1)
        with tf.control_dependencies([self._check_length(lengths + 1)]):
            limit = length_limit(self._model, padding_mask, max_tokens)
        return token_ids, padding_mask, limit

    def _read(self, text: tf.Tensor) -> tuple[dict[str, tf.Tensor], dict[str, tf.Tensor]]:
        token_ids, padding_mask = encode_prompts(self._language, text, parse_chats=True)
        with tf.control_dependencies([self._check_length(tf.reduce_sum(tf.cast(padding_mask, tf.int32), axis=1))]):
            return {TOKEN_IDS: tf.identity(token_ids), PADDING_MASK: padding_mask}, {}

    def _label_tokens(self, features: dict[str, tf.Tensor]) -> dict[str, tf.Tensor]:
        token_ids, real = features[TOKEN_IDS], features[PADDING_MASK]
        return add_segments(self._labels(token_ids, real), tf.zeros_like(token_ids), real)

    def _check_length(self, lengths: tf.Tensor) -> tf.Operation:
        context = self._model.max_sequence_length
        row = tf.strings.as_string(tf.argmax(lengths) + 1)
        longest = tf.strings.as_string(tf.reduce_max(lengths))
        parts = [
            "the text in row ",
            row,
            " needs ",
            longest,
            f" tokens with its continuation; expected at most {context}",
        ]
        return tf.debugging.Assert(tf.reduce_all(lengths <= context), [tf.strings.join(parts)])
