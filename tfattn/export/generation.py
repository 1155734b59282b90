"""What an exported language model can be asked."""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from tfattn import files
from tfattn.export.attention import ATTRIBUTIONS, with_segments
from tfattn.export.decoding_steps import DecodingSteps
from tfattn.export.request_settings import Settings, choice_of
from tfattn.export.served import Columns, Comparison, Served
from tfattn.export.written_text import before_stop, ends_with_stop, whole_characters
from tfattn.features import PADDING_MASK, TEXT, TOKEN_IDS
from tfattn.formats.chat_template import ChatTemplate
from tfattn.preprocessing.chat_ids import special_token_ids
from tfattn.preprocessing.token_labels import source_token_labels
from tfattn.tasks.generation import length_limit, sample_continuations, search_continuations
from tfattn.trained.ensemble import TrainedEnsemble
from tfattn.trained.shared_decoder import SharedDecoder
from tfattn.trained.text_generator import MAX_NEW_TOKENS, TextGenerator, decode_tokens, encode_prompts, sample_prompts

CONTINUATION = "continuation"
N_BEST, LOG_PROBABILITIES, SCORE = "n_best", "log_probabilities", "score"
MOST_QUESTIONS = 50
NUM_LIKELIEST = 5
STOP, LENGTH = "stop", "length"  # the reasons why a text ended


class Generator(Served):
    """Continues texts.

        serving_default     text (B,) and settings, (B,) each, which need not be given: see `Settings`
                            -> text (B,) string, what comes behind it, without the stop string; score (B,) float32, the
                            logarithm of its probability; length (B,) int32, its tokens; finish_reason (B,) string,
                            "stop" where it ended by itself or with a stop string, "length" where it was cut
        log_probabilities   the same -> of each token that was written: token (B, L) string, log_probability (B, L)
                            float32, and of what is likeliest in its place likeliest (B, L, 5) string and
                            likeliest_log_probability (B, L, 5), best first; "" and 0 behind the last
        n_best              text (B,), max_new_tokens (B,)
                            -> the likeliest texts by beam search: text, score, length, each (B, n), best first
        score               text (B,), continuation (B,)
                            -> score (B,) float32, the logarithm of the probability that the continuation comes behind
                            the text, and length (B,) int32, its tokens
        tokenize, prefill, decode_step
                            the same step by step: see `DecodingSteps`

    A prompt that is longer than the model takes is refused. No text ends within a character.

    Args:
        ensemble: the trained model, one alone.

    Raises:
        ExportError: the task computes in another type than float32.
    """

    shown_metrics = ("bits_per_byte", "word_perplexity", "perplexity")

    def __init__(self, ensemble: TrainedEnsemble):
        super().__init__(ensemble, name="generator")
        (task,), (self._language,) = ensemble.tasks, ensemble.preprocessors
        self._labels = source_token_labels(self._language)
        continuing = TextGenerator(ensemble)
        steps = DecodingSteps(self._language, continuing.single_steps)
        # Not as attributes: see Served.
        self._continuing, self._steps = lambda: continuing, lambda: steps
        self._generation = task.generation
        self._settings = Settings(task.generation)

    @property
    def ensemble(self) -> TextGenerator:
        """The trained model, as it is asked."""
        return self._continuing()

    @property
    def _model(self) -> SharedDecoder:
        return self._continuing().model

    @property
    def raw_fields(self) -> dict[str, str]:
        return {TEXT: TEXT}

    def questions(self, rows: Sequence[Mapping[str, str]]) -> list[dict[str, str]]:
        """Take the beginnings of some rows."""
        return sample_prompts(rows, limit=MOST_QUESTIONS)

    def signatures(self) -> dict[str, Any]:
        text, continuation = (tf.TensorSpec([None], tf.string, name=name) for name in (TEXT, CONTINUATION))
        limit = tf.TensorSpec([None], tf.int32, name="max_new_tokens")
        return {
            "serving_default": self._settings.function(self._continue),
            LOG_PROBABILITIES: self._settings.function(self._tell_tokens),
            N_BEST: tf.function(self._search, input_signature=[text, limit], autograph=False),
            SCORE: tf.function(self._score, input_signature=[text, continuation], autograph=False),
            **self._steps().signatures(),
            # Not what tokens contribute: the gradients of a deep model make an export half as large again.
            **{name: view for name, view in self.views().items() if name != ATTRIBUTIONS},
        }

    def views(self) -> dict[str, Any]:
        text = [tf.TensorSpec([None], tf.string, name=TEXT)]
        return self._attention(inputs=text, read=self._read, labels=self._labelled, names=self._language.token_bytes)

    def about(self) -> dict[str, Any]:
        text = {"kind": "text", "max_tokens": self._model.max_sequence_length - 1}
        return {"inputs": {TEXT: text}, "entries": {}}

    def request(self, rows: Sequence[Mapping[str, str]]) -> dict[str, Any]:
        """Ask for the likeliest tokens, as the trained model is asked."""
        exact = {"temperature": 0.0, "max_new_tokens": MAX_NEW_TOKENS, "repetition_penalty": 1.0}
        exact |= {"presence_penalty": 0.0, "frequency_penalty": 0.0}
        return {TEXT: [row[TEXT] for row in rows], **self._settings.of_rows(len(rows), **exact)}

    def warm_up(self, rows: Sequence[Mapping[str, str]]) -> Iterator[tuple[str, Columns]]:
        """Yield a few prompts for each signature."""
        asked = self.request(self.questions(rows)[:2])
        texts = asked[TEXT]
        yield LOG_PROBABILITIES, asked
        yield N_BEST, {TEXT: texts, "max_new_tokens": asked["max_new_tokens"]}
        yield SCORE, {TEXT: texts, CONTINUATION: texts}
        yield from self._steps().warm_up(texts)
        yield "serving_default", {name: values[:1] for name, values in asked.items()}
        yield "serving_default", asked

    def compared(
        self, expected: Mapping[str, np.ndarray], received: Mapping[str, Sequence[Any]], *, tolerance: float
    ) -> Comparison:
        """Texts are to be the same, and their scores about the same."""
        written = decode_tokens(self._language, expected["token_ids"], expected["lengths"])
        texts = [text.decode() for text in whole_characters(written).numpy()]
        agree = np.array([ours == theirs for ours, theirs in zip(texts, received[TEXT], strict=True)])
        differences = np.abs(np.asarray(received["score"], np.float64) - expected["scores"])
        allowed = tolerance * MAX_NEW_TOKENS  # a score is the sum of as many numbers
        return Comparison(
            wrong=~(agree & (differences <= allowed)),
            report={"text_agreement": float(agree.mean()), "max_score_difference": float(differences.max())},
            words=f"texts agree on {agree.sum()} of {len(agree)} prompts, "
            f"scores differ by at most {differences.max():.2g} (allowed: {allowed:g})",
            expected=lambda row: f"{texts[row]!r} and a score within {allowed:g}",
            received=lambda row: f"{received[TEXT][row]!r} and a score off by {differences[row]:.3g}",
        )

    def save_assets(self, folder: Path) -> None:
        """Write the preprocessor's files, and what a program has to know that writes step by step."""
        super().save_assets(folder)
        template = ChatTemplate(system=self._generation.system)
        special = special_token_ids(self._language, template)
        known = {
            "context": self._model.max_sequence_length,
            "end_ids": [self._language.end_id],
            **self._steps().sizes,
            "special_tokens": special,
            "chat_template": dataclasses.asdict(template) if special else None,
            "defaults": self._settings.defaults,
        }
        files.write_json(folder / "generation.json", known)
        files.write_json(folder / "token_bytes.json", [token.decode("latin-1") for token in self._language.token_bytes])

    def _continue(self, text: tf.Tensor, **settings: tf.Tensor) -> dict[str, tf.Tensor]:
        texts, written, is_stopped, limit = self._written(text, settings)
        ended = is_stopped | (written.lengths < limit)
        return {
            "text": texts,
            "score": written.scores,
            "length": written.lengths,
            "finish_reason": tf.where(ended, STOP, LENGTH),
        }

    def _tell_tokens(self, text: tf.Tensor, **settings: tf.Tensor) -> dict[str, tf.Tensor]:
        _, written, *_ = self._written(text, settings, num_top_logprobs=NUM_LIKELIEST)
        table = tf.constant(self._language.token_bytes)
        places = tf.range(tf.shape(written.token_ids)[1]) < written.lengths[:, None]
        details = written.details
        return {
            "token": tf.where(places, tf.gather(table, written.token_ids), ""),
            "log_probability": details.log_probabilities,
            "likeliest": tf.where(places[:, :, None], tf.gather(table, details.top_ids), ""),
            "likeliest_log_probability": details.top_logprobs,
        }

    def _search(self, text: tf.Tensor, max_new_tokens: tf.Tensor) -> dict[str, tf.Tensor]:
        token_ids, padding_mask, limit = self._prompts(text, max_new_tokens)
        written = search_continuations(
            self._model,
            token_ids,
            padding_mask,
            **self._ends,
            max_new_tokens=limit,
            num_beams=self._generation.num_beams,
            length_penalty=self._generation.length_penalty,
        )
        shape = tf.shape(written.lengths)
        texts = tf.reshape(decode_tokens(self._language, written.token_ids, written.lengths), [-1])
        return {
            "text": tf.reshape(whole_characters(texts), shape),
            "score": written.scores,
            "length": written.lengths,
        }

    def _score(self, text: tf.Tensor, continuation: tf.Tensor) -> dict[str, tf.Tensor]:
        before, behind = encode_prompts(self._language, text), self._language.split(continuation)
        starts = tf.reduce_sum(tf.cast(before[1], tf.int32), axis=1)
        lengths = tf.cast(behind.row_lengths(), tf.int32)
        whole = tf.concat([tf.RaggedTensor.from_tensor(before[0], starts), behind], axis=1)
        with tf.control_dependencies([self._fits(starts + lengths)]):
            token_ids = whole.to_tensor()
        mask = tf.range(tf.shape(token_ids)[1]) < (starts + lengths)[:, None]
        x, _ = self._model.read(token_ids, self._model.empty_cache(tf.shape(token_ids)[0]), mask)
        places = tf.range(tf.reduce_max(lengths))
        read = tf.gather(x, tf.minimum(starts[:, None] - 1 + places, tf.shape(x)[1] - 1), batch_dims=1)
        targets = behind.to_tensor()
        losses = tf.nn.sparse_softmax_cross_entropy_with_logits(targets, self._model.next_logits(read))
        return {"score": -tf.reduce_sum(tf.where(places < lengths[:, None], losses, 0.0), axis=1), "length": lengths}

    def _written(self, text: tf.Tensor, settings: dict[str, tf.Tensor], **options: Any) -> tuple:
        """Return the texts, `Decoded`, which were stopped, and how many tokens each might have had."""
        rows = tf.size(text)
        settings = self._settings.checked(settings, rows)
        stop = settings["stop"]
        token_ids, padding_mask, limit = self._prompts(text, settings["max_new_tokens"])
        sampling, penalties = choice_of(settings)
        written = sample_continuations(
            self._model,
            token_ids,
            padding_mask,
            **self._ends,
            max_new_tokens=limit,
            sampling=sampling,
            penalties=penalties,
            is_last=ends_with_stop(self._language, stop),
            **options,
        )
        texts, is_stopped = before_stop(decode_tokens(self._language, written.token_ids, written.lengths), stop)
        return whole_characters(texts), written, is_stopped, limit

    def _prompts(self, text: tf.Tensor, max_new_tokens: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
        """Return the prompts, their masks, and how many tokens may come behind each."""
        token_ids, padding_mask = encode_prompts(self._language, text)
        lengths = tf.reduce_sum(tf.cast(padding_mask, tf.int32), axis=1)
        with tf.control_dependencies([self._fits(lengths + 1)]):
            limit = length_limit(self._model, padding_mask, max_new_tokens)
        return token_ids, padding_mask, limit

    def _read(self, text: tf.Tensor) -> tuple[dict[str, tf.Tensor], dict[str, tf.Tensor]]:
        token_ids, padding_mask = encode_prompts(self._language, text, parse_chats=True)
        with tf.control_dependencies([self._fits(tf.reduce_sum(tf.cast(padding_mask, tf.int32), axis=1))]):
            return {TOKEN_IDS: tf.identity(token_ids), PADDING_MASK: padding_mask}, {}

    def _labelled(self, features: dict[str, tf.Tensor]) -> dict[str, tf.Tensor]:
        token_ids, real = features[TOKEN_IDS], features[PADDING_MASK]
        return with_segments(self._labels(token_ids, real), tf.zeros_like(token_ids), real)

    def _fits(self, lengths: tf.Tensor) -> tf.Operation:
        context = self._model.max_sequence_length
        row = tf.strings.as_string(tf.argmax(lengths) + 1)
        longest = tf.strings.as_string(tf.reduce_max(lengths))
        parts = [
            "the text in row ",
            row,
            " needs ",
            longest,
            f" tokens with what comes behind it; expected at most {context}",
        ]
        return tf.debugging.Assert(tf.reduce_all(lengths <= context), [tf.strings.join(parts)])

    @property
    def _ends(self) -> dict[str, Any]:
        return {"end_id": self._language.end_id, "suppressed_ids": self._language.suppressed_ids}
