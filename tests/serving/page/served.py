"""Two small models to serve."""

from pathlib import Path

import tensorflow as tf
from tensorflow.core.protobuf.saved_model_pb2 import SavedModel

from tfattn.serving.signature import CLASSIFY

LABELS = ["Leak", "机械", "<img src=x onerror=\"document.title='owned'\">"]


class Reports(tf.Module):
    """Reports of leaks leak; the second label has what is left, and half of it where a report has markup."""

    def scores(self, text):
        leak = tf.where(tf.strings.regex_full_match(text, "(?is).*(leak|pooling).*"), 0.75, 0.125)
        markup = tf.where(tf.strings.regex_full_match(text, "(?is).*<.*"), (1.0 - leak) / 2.0, 0.0)
        return tf.stack([leak, 1.0 - leak - markup, markup], axis=1)

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="text")])
    def serve(self, text):
        scores = self.scores(text)
        label_id = tf.argmax(scores, axis=1)
        return {"label": tf.gather(LABELS, label_id), "label_id": label_id, "scores": scores}

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="inputs")])
    def classify(self, inputs):
        text = tf.io.parse_example(inputs, {"text": tf.io.FixedLenFeature([], tf.string)})["text"]
        scores = self.scores(text)
        return {"classes": tf.broadcast_to(tf.constant(LABELS), tf.shape(scores)), "scores": scores}


class Numbers(tf.Module):
    """A list of two numbers, a number, and an integer that JavaScript cannot hold; the answer has no rows."""

    @tf.function(
        input_signature=[
            tf.TensorSpec([None, 2], tf.float32, name="pair"),
            tf.TensorSpec([None], tf.float32, name="factor"),
            tf.TensorSpec([], tf.int64, name="count"),
        ]
    )
    def serve(self, pair, factor, count):
        return {"scaled": pair * factor[:, None], "next": count + 1, "broken": factor / 0.0}


def save(model: tf.Module, folder: Path, **signatures) -> None:
    tf.saved_model.save(model, str(folder), signatures=signatures)
    saved = SavedModel.FromString((folder / "saved_model.pb").read_bytes())
    if "classify" in signatures:  # TensorFlow itself writes one kind of method only
        saved.meta_graphs[0].signature_def["classify"].method_name = CLASSIFY
    (folder / "saved_model.pb").write_bytes(saved.SerializeToString())
