"""SavedModels made by hand, and one server of them all: predicting needs nothing of the code that trained."""

import shutil
from pathlib import Path

import pytest
import tensorflow as tf

from benchmarks.serving.exports import Export, reports
from benchmarks.serving.running import Running, running
from tests.serving import authors, people
from tests.serving.attack.probes import SLOW_SECONDS
from tests.serving.page import browser
from tfattn.export.serving_config import BATCHING, BATCHING_PARAMETERS
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
        ],
        autograph=False,
    )
    def answer(self, age, hours, job):
        with tf.control_dependencies([tf.debugging.Assert(tf.reduce_all(age < 1e9), ["`age` is no finite number"])]):
            is_missing = tf.math.is_nan(hours)
        return {"told": tf.strings.join([job, tf.strings.as_string(age + tf.where(is_missing, 0.5, hours), 1)], " ")}


def save(folder: Path, fields: list[str], scratch: Path) -> None:
    scratch.mkdir(exist_ok=True)
    model = ByLength(fields, scratch)
    texts = [tf.TensorSpec([None], tf.string, name=field) for field in fields]
    tf.saved_model.save(
        model, str(folder), signatures=tf.function(model.answer, input_signature=texts, autograph=False)
    )
    (folder / "assets.extra").mkdir()
    columns = {field: f"Description {field}" for field in fields}
    TrainingFile(columns).write(folder / "assets.extra/source.json")


def write_models(folder: Path) -> None:
    save(folder / "reports/9", ["text"], folder / ".scratch")
    save(folder / "reports/10", ["text"], folder / ".scratch")
    (folder / "reports/11").mkdir()
    save(folder / "pairs/1", ["text_a", "text_b"], folder / ".scratch")
    hours = Hours()
    tf.saved_model.save(hours, str(folder / "timed/1"), signatures=hours.answer)


@pytest.fixture(scope="session")
def models(once) -> Path:
    """A folder of models: `reports` in two versions and an unfinished third, `pairs` and `timed` in one."""
    return once("models", write_models)


@pytest.fixture(scope="session")
def authored(once) -> Path:
    """A folder of models with one that writes texts; only read."""
    return once("authors", authors.write)


@pytest.fixture(scope="session")
def litert_version(once) -> Path:
    """A version of the same model for LiteRT alone, with float32 weights; only read."""
    return once("litert_authors", authors.write_litert) / authors.NAME / "1"


@pytest.fixture(scope="session")
def served(models, tmp_path_factory) -> Path:
    """What `server` serves: those models, `people`, `changing`, and what tests add; batched as beside an export."""
    folder = tmp_path_factory.mktemp("served")
    shutil.copytree(models, folder, dirs_exist_ok=True)
    people.write(folder / "people" / "1")
    shutil.copytree(models / "reports/10", folder / "changing/1")
    (folder / BATCHING_PARAMETERS).write_text(BATCHING)
    return folder


@pytest.fixture(scope="session")
def server(served, until_left) -> Running:
    """The built-in server as a process, one for all tests that need no other."""
    server = running(served, config_poll_seconds=0.2, slow_client_seconds=SLOW_SECONDS)
    return until_left(Path(__file__).parent).enter_context(server)


@pytest.fixture(scope="session")
def changing(served) -> Export:
    """The model of that server whose versions come and go."""
    return Export(served / "changing")


@pytest.fixture(scope="session")
def texts() -> list[str]:
    """Factory reports to ask about."""
    return reports()


@pytest.fixture(scope="session")
def chromium(until_left) -> browser.Browser:
    program = browser.find()
    if program is None:
        pytest.skip("needs Chromium to look at the page: apt-get install chromium")
    return until_left(Path(__file__).parent).enter_context(browser.browser(program))
