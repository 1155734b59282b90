"""SavedModels made by hand: predicting needs nothing of the code that trained."""

from pathlib import Path

import pytest
import tensorflow as tf

from tfattn.formats.training_file import TrainingFile

LABELS = ["Leak", "Électronique"]


class ByLength(tf.Module):
    """Long texts are leaks."""

    def __init__(self, fields: list[str], assets: Path):
        super().__init__()
        (assets / "labels.txt").write_text("".join(f"{label}\n" for label in LABELS))
        self.labels = tf.saved_model.Asset(str(assets / "labels.txt"))
        self.fields = fields

    def answer(self, *texts):
        length = tf.cast(sum(tf.strings.length(text, unit="UTF8_CHAR") for text in texts), tf.float32)
        leak = length / (length + 10.0)
        scores = tf.stack([leak, 1.0 - leak], axis=1)
        label_id = tf.argmax(scores, axis=1)
        return {"label": tf.gather(LABELS, label_id), "label_id": label_id, "scores": scores}


class Hours(tf.Module):
    """Reads two numbers and a text as tables do: age must be finite, hours may be missing."""

    @tf.function(
        input_signature=[
            tf.TensorSpec([None], tf.float32, "age"),
            tf.TensorSpec([None], tf.float32, "hours-per-week"),
            tf.TensorSpec([None], tf.string, "job"),
        ]
    )
    def answer(self, age, hours, job):
        with tf.control_dependencies([tf.debugging.Assert(tf.reduce_all(age < 1e9), ["`age` is no finite number"])]):
            is_missing = tf.math.is_nan(hours)
        return {"told": tf.strings.join([job, tf.strings.as_string(age + tf.where(is_missing, 0.5, hours), 1)], " ")}


def save(folder: Path, fields: list[str], scratch: Path) -> None:
    scratch.mkdir(exist_ok=True)
    model = ByLength(fields, scratch)
    texts = [tf.TensorSpec([None], tf.string, name=field) for field in fields]
    tf.saved_model.save(model, str(folder), signatures=tf.function(model.answer, input_signature=texts))
    (folder / "assets.extra").mkdir()
    columns = {field: f"Description {field}" for field in fields}
    TrainingFile(columns).write(folder / "assets.extra/source.json")


@pytest.fixture(scope="session")
def models(tmp_path_factory) -> Path:
    """A folder of models: `reports` in two versions and an unfinished third, `pairs` and `timed` in one."""
    folder = tmp_path_factory.mktemp("saved_models")
    save(folder / "reports/9", ["text"], folder / ".scratch")
    save(folder / "reports/10", ["text"], folder / ".scratch")
    (folder / "reports/11").mkdir()
    save(folder / "pairs/1", ["text_a", "text_b"], folder / ".scratch")
    hours = Hours()
    tf.saved_model.save(hours, str(folder / "timed/1"), signatures=hours.answer)
    return folder
