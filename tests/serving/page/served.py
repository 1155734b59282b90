"""Small models to serve, two of them with cards."""

import base64
from pathlib import Path

import tensorflow as tf
from tensorflow.core.protobuf.saved_model_pb2 import SavedModel

from tfattn.serving.api.signature import CLASSIFY

LABELS = ["Leak", "机械", "<img src=x onerror=\"document.title='owned'\">"]


class Reports(tf.Module):
    """Reports of leaks leak; the second label has what is left, and half of it where a report has markup."""

    def scores(self, text):
        leak = tf.where(tf.strings.regex_full_match(text, "(?is).*(leak|pooling).*"), 0.75, 0.125)
        markup = tf.where(tf.strings.regex_full_match(text, "(?is).*<.*"), (1.0 - leak) / 2.0, 0.0)
        return tf.stack([leak, 1.0 - leak - markup, markup], axis=1)

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="text")], autograph=False)
    def serve(self, text):
        scores = self.scores(text)
        label_id = tf.argmax(scores, axis=1)
        return {"label": tf.gather(LABELS, label_id), "label_id": label_id, "scores": scores}

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="inputs")], autograph=False)
    def classify(self, inputs):
        text = tf.io.parse_example(inputs, {"text": tf.io.FixedLenFeature([], tf.string)})["text"]
        scores = self.scores(text)
        return {"classes": tf.broadcast_to(tf.constant(LABELS), tf.shape(scores)), "scores": scores}


class Looks(tf.Module):
    """Words that look at the first word of the text with three quarters of their attention, and at themselves."""

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="text")], autograph=False)
    def serve(self, text):
        return {"label": text, "scores": tf.ones([tf.size(text), 1])}

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="text")], autograph=False)
    def attention(self, text):
        words = tf.strings.split(text).to_tensor()
        length = tf.shape(words)[1]
        weights = 0.25 * tf.eye(length) + 0.75 * tf.one_hot(tf.zeros([length], tf.int32), length)
        numbers = tf.broadcast_to(tf.range(length), tf.shape(words))
        return {
            "tokens": words,
            "word_texts": words,
            "words": numbers,
            "segments": tf.where(words == "", -1, 0),
            "is_special": numbers < 0,
            "encoder_weights": tf.broadcast_to(weights, [tf.size(text), 2, 3, length, length]),
        }


class Numbers(tf.Module):
    """A list of two numbers, a number, and an integer that JavaScript cannot hold; the answer has no rows."""

    @tf.function(
        input_signature=[
            tf.TensorSpec([None, 2], tf.float32, name="pair"),
            tf.TensorSpec([None], tf.float32, name="factor"),
            tf.TensorSpec([], tf.int64, name="count"),
        ],
        autograph=False,
    )
    def serve(self, pair, factor, count):
        return {"scaled": pair * factor[:, None], "next": count + 1, "broken": factor / 0.0}


def save(model: tf.Module, folder: Path, **signatures) -> None:
    tf.saved_model.save(model, str(folder), signatures=signatures)
    saved = SavedModel.FromString((folder / "saved_model.pb").read_bytes())
    if "classify" in signatures:  # TensorFlow itself writes one kind of method only
        saved.meta_graphs[0].signature_def["classify"].method_name = CLASSIFY
    (folder / "saved_model.pb").write_bytes(saved.SerializeToString())


class Customers(tf.Module):
    """Customers of more than ten months stay; of those without months nobody knows."""

    @tf.function(
        input_signature=[
            tf.TensorSpec([None], tf.string, name="plan"),
            tf.TensorSpec([None], tf.float32, name="months"),
        ],
        autograph=False,
    )
    def serve(self, plan, months):
        stays = tf.where(tf.math.is_nan(months), 0.5, tf.where(months > 10.0, 0.75, 0.25))
        is_known = tf.reduce_any(tf.equal(plan[:, None], ["", *PLANS]), axis=1)
        return {
            "label": tf.where(stays > 0.5, STAYS, LEAVES),
            "label_id": tf.cast(stays > 0.5, tf.int64),
            "probability": stays,
            "scores": tf.stack([1.0 - stays, stays], axis=1),
            "in_prediction_set": tf.stack([1.0 - stays, stays], axis=1) > 0.25,
            "column_attention": tf.stack([stays, 1.0 - stays], axis=1),
            "outside_training_range": tf.where(months > 100.0, "months", ""),
            "unknown_categories": tf.where(is_known, "", "plan"),
        }


class Greetings(tf.Module):
    """Greets in Hebrew, up to five characters."""

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="text")], autograph=False)
    def serve(self, text):
        length = tf.strings.length(text, unit="UTF8_CHAR")
        greeting = tf.strings.join(["שלום ", tf.strings.substr(text, 0, 5, unit="UTF8_CHAR")])
        return {"text": greeting, "score": -0.25 * tf.ones_like(length, tf.float32), "truncated": length > 5}


class Prices(tf.Module):
    """A house of so many rooms costs a third of a million more for each, and half of it is known by its tags."""

    @tf.function(input_signature=[tf.TensorSpec([None], tf.float32, name="rooms")], autograph=False)
    def predict(self, rooms):
        return {"prediction": rooms / 3.0, "outside_training_range": tf.where(rooms > 9.0, "rooms", "")}

    @tf.function(input_signature=[tf.TensorSpec([None], tf.float32, name="rooms")], autograph=False)
    def tags(self, rooms):
        scores = tf.stack([rooms / 8.0, 1.0 - rooms / 8.0, tf.fill(tf.shape(rooms), 0.625)], axis=1)
        return {"scores": scores, "is_label": scores >= 0.625}


class Blanks(tf.Module):
    """Fills in the same three words for each [MASK], and takes no text without one."""

    def filled(self, text):
        parts = tf.strings.split(text, "[MASK]")
        masks = tf.cast(parts.row_lengths() - 1, tf.int32)
        asserted = tf.debugging.Assert(tf.reduce_all(masks > 0), ["the text in row 1 has no [MASK]"])
        with tf.control_dependencies([asserted]):
            shape = [tf.size(text), tf.reduce_max(masks), len(WORDS)]
        words = tf.broadcast_to(tf.constant(WORDS), shape)
        first, last = (tf.broadcast_to(parts.to_tensor()[:, place, None, None], shape) for place in (0, -1))
        sequence = tf.strings.join([first, words, last])
        scores = tf.broadcast_to(tf.constant([0.5, 0.25, 0.0625]), shape)
        return {
            "masks": masks,
            "score": scores,
            "sequence": sequence,
            "token": tf.zeros(shape, tf.int32),
            "token_str": words,
        }

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="text")], autograph=False)
    def serve(self, text):
        return {name: value if name == "masks" else value[:, 0] for name, value in self.filled(text).items()}

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="text")], autograph=False)
    def every(self, text):
        return self.filled(text)


class Vectors(tf.Module):
    """Tells the same words of every word but `x`, of which there is no vector."""

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="word")])
    def serve(self, word):
        return {"vector": tf.zeros([tf.size(word), 3]), "known": word != "x", "count": tf.zeros_like(word, tf.int64)}

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="word"), tf.TensorSpec([], tf.int32, name="k")])
    def neighbors(self, word, k):
        asserted = tf.debugging.Assert(tf.reduce_all(word != "x"), ["there is no vector of the word `x` in row 1"])
        with tf.control_dependencies([asserted]):
            shape = [tf.size(word), len(WORDS)]
        scores = tf.broadcast_to(tf.constant([0.75, 0.5, -0.25]), shape)
        return {"word": tf.broadcast_to(tf.constant(WORDS), shape)[:, :k], "score": scores[:, :k]}


class Endings(tf.Module):
    """Chooses the ending with the most bytes, and refuses a context without any."""

    @tf.function(
        input_signature=[
            tf.TensorSpec([None], tf.string, name="context"),
            tf.TensorSpec([None, None], tf.string, name="choices"),
        ],
        autograph=False,
    )
    def serve(self, context, choices):
        lengths = tf.cast(tf.strings.length(choices), tf.float32)
        label_id = tf.argmax(lengths, axis=1)
        return {
            "choice": tf.gather(choices, label_id, batch_dims=1),
            "label_id": label_id,
            "scores": lengths / tf.reduce_sum(lengths, axis=1, keepdims=True),
            "truncated": tf.strings.length(context) > 100,
        }


class Images(tf.Module):
    """Tells dark images from bright ones, and refuses what is no image."""

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="image")], autograph=False)
    def serve(self, image):
        def bright(data):
            with tf.control_dependencies([tf.debugging.Assert(tf.strings.length(data) > 0, ["image 1 is none"])]):
                pixels = tf.io.decode_image(data, channels=3, expand_animations=False)
            return tf.reduce_mean(tf.cast(pixels, tf.float32)) / 255.0

        scores = tf.map_fn(bright, image, fn_output_signature=tf.float32)
        label_id = tf.cast(scores > 0.5, tf.int64)
        return {
            "label": tf.gather(SHADES, label_id),
            "label_id": label_id,
            "scores": tf.stack([1.0 - scores, scores], axis=1),
        }


WORDS = ["天", "<b>store</b>", "park"]
# Known in this order, which is neither that of letters nor of lengths.
PLANS = ["yearly", "monthly", '<b onclick="document.title=1">']
STAYS, LEAVES = "stays", "<i>leaves</i>"
CUSTOMERS_CARD = {
    "exported": "2026-01-02T12:00:00+00:00",
    "inputs": {
        "months": {"kind": "number", "column": "月份", "may_be_missing": True, "low": 1, "high": 72},
        "plan": {"kind": "category", "column": "plan", "values": PLANS, "no_value": ""},
    },
    "examples": [{"months": 12, "plan": "monthly"}, {"months": None, "plan": None}],
    "entries": {
        **dict.fromkeys(("scores", "in_prediction_set"), [LEAVES, STAYS]),
        "column_attention": ["months", "plan"],
    },
    "positive": STAYS,
    "threshold": 0.5,
    "coverage": 0.9,
    "metrics": {
        "accuracy": 0.9,
        "accuracy_low": 0.85,
        "accuracy_high": 0.95,
        "baseline_accuracy": 0.7,
        "roc_auc": 0.875,
    },
    "measured_on": "test",
}
VECTORS_CARD = {
    "exported": "2026-01-02T12:00:00+00:00",
    "inputs": {"word": {"kind": "category", "column": "word", "values": None, "no_value": None}},
    "examples": [{"word": "king"}],
    "entries": {},
    "metrics": {"spearman": 0.5},
    "measured_on": "validation",
}
ROOMS = {"rooms": {"kind": "number", "column": "rooms", "may_be_missing": False, "low": 1, "high": 9}}
ENDINGS = ["sits.", "<b>runs</b> home"]
ENDINGS_CARD = {
    "exported": "2026-01-02T12:00:00+00:00",
    "inputs": {
        "context": {"kind": "text", "column": "sent1", "max_tokens": 64},
        "choices": {"kind": "texts", "column": "choices", "max_tokens": 64},
    },
    "examples": [{"context": "He", "choices": ENDINGS}],
    "entries": {},
    "metrics": {"accuracy": 0.5, "baseline_accuracy": 0.25},
    "measured_on": "validation",
}
SHADES = ["dark", "<b>bright</b>"]
WHITE = tf.io.encode_png(tf.fill([3, 5, 3], tf.constant(255, tf.uint8))).numpy()
IMAGES_CARD = {
    "exported": "2026-01-02T12:00:00+00:00",
    "inputs": {"image": {"kind": "image", "column": "image", "height": 32, "width": 32, "max_bytes": 100_000}},
    "examples": [{"image": {"b64": base64.b64encode(WHITE).decode()}}],
    "entries": {"scores": SHADES},
    "metrics": {"accuracy": 0.9, "baseline_accuracy": 0.5},
    "measured_on": "validation",
}
PRICES_CARD = {
    "exported": "2026-01-02T12:00:00+00:00",
    "inputs": ROOMS,
    "examples": [{"rooms": 2}],
    "entries": {},
    "metrics": {
        "mean_absolute_error": 0.123456,
        "mean_absolute_error_low": 0.1,
        "mean_absolute_error_high": 0.15,
        "baseline_mean_absolute_error": 0.5,
        "r2": 0.75,
    },
    "measured_on": "test",
}
TAGS = ["large", "small", "<i>new</i>"]
TAGS_CARD = {
    "exported": "2026-01-02T12:00:00+00:00",
    "inputs": ROOMS,
    "examples": [{"rooms": 6}],
    "entries": {"scores": TAGS, "is_label": TAGS},
    "threshold": 0.625,
    "metrics": {"micro_f1": 0.9, "baseline_micro_f1": 0.95},
    "measured_on": "test",
}
GREETINGS_CARD = {
    "exported": "2026-01-02T12:00:00+00:00",
    "inputs": {"text": {"kind": "text", "column": "text", "max_tokens": 5}},
    "examples": [{"text": "عالم"}],
    "entries": {},
    "metrics": {"bleu": 34.25, "bleu_low": 32.0, "bleu_high": 36.0, "baseline_bleu": 33.0, "perplexity": 19.0843},
    "measured_on": "validation",
}
