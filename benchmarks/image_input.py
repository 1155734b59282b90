"""Images per second from records to batches, with decoding and augmentation, and the input wait of training steps."""

import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import keras
import numpy as np
import tensorflow as tf

from benchmarks.reading import exhaust
from benchmarks.results import Table
from benchmarks.timing import comparison, medians
from tfattn.data.augmentation import Augmentation
from tfattn.data.batching import Batching
from tfattn.data.examples.class_targets import Classes
from tfattn.data.examples.examples import Examples
from tfattn.data.examples.transforms import FromRecords
from tfattn.data.preparation.prepare import prepare
from tfattn.data.reader import Reader
from tfattn.data.section import Data
from tfattn.data.sources.image_folder import ImageFolder
from tfattn.data.split_config import Split
from tfattn.models.vit import Vit
from tfattn.preprocessing.images import Images
from tfattn.tasks.classification import Classification

SIDE, EACH, CLASSES, BATCH, ROUNDS, STEPS = 32, 400, 10, 128, 5, 20
RECIPE = Augmentation(shift=4, flip="alternating", cutout=8)
EVERYTHING = Augmentation(resized_crop=0.5, shift=4, flip="alternating", colour_jitter=0.2, cutout=8, mixup=0.2)
# The model of pipelines/cifar10_vit.yaml.
VIT = {"patch_size": 4, "hidden_dim": 128, "num_layers": 6, "num_heads": 4, "intermediate_dim": 256}


def main() -> list[Table]:
    """Read shuffled epochs of random JPEG files; the peer is a tf.data pipeline with augmentation layers of Keras."""
    with tempfile.TemporaryDirectory() as scratch:
        photos = Path(scratch) / "photos"
        write(photos)
        readers = {
            "tfattn, pixels kept, shifts, flips, cutout": reader(photos, "pixels", RECIPE),
            "tfattn, pixels kept, unchanged": reader(photos, "pixels", Augmentation()),
            "tfattn, pixels kept, everything": reader(photos, "pixels", EVERYTHING),
            "tfattn, files kept, shifts, flips, cutout": reader(photos, "files", RECIPE),
        }
        epochs = {name: reader.dataset(0) for name, reader in readers.items()}
        epochs["Keras, image_dataset_from_directory, shifts, flips"] = keras_dataset(photos)
        candidates = {name: lambda epoch=epoch: exhaust(epoch) for name, epoch in epochs.items()}
        images = len(next(iter(readers.values())).source_rows)
        seconds = medians(candidates, rounds=ROUNDS)
        title = f"reading {images:,} images of {SIDE} x {SIDE}, shuffled and changed"
        rates = comparison(title, seconds, unit="images", amount=images)
        return [rates, measure_input_wait(readers)]


def write(folder: Path) -> None:
    """Write random smooth images as JPEG files of the size of CIFAR-10 images."""
    random = np.random.default_rng(0)
    for label in range(CLASSES):
        (folder / f"class_{label}").mkdir(parents=True)
        coarse = tf.constant(random.integers(0, 256, (EACH, 8, 8, 3)), tf.float32)
        for number, image in enumerate(tf.cast(tf.image.resize(coarse, [SIDE, SIDE]), tf.uint8)):
            (folder / f"class_{label}/{number}.jpg").write_bytes(tf.io.encode_jpeg(image).numpy())


def reader(photos: Path, keep: str, augmentation: Augmentation) -> Reader:
    """Prepare the images, unless they are prepared, and open them."""
    batching = Batching(batch_size=BATCH)
    data = Data(
        source=ImageFolder(path=str(photos)),
        preprocessing=Images(size=SIDE, keep=keep),
        batching=batching,
        split=Split(validation=0.1),
        targets=Classes(),
        examples=Examples(),
    )
    folder = photos.parent / keep
    if not folder.exists():
        prepare(data, folder, 0)
    transforms = [FromRecords(data.preprocessing), *augmentation.transforms()]
    return Reader(folder, "train", batching=batching, seed=0, shuffle=True, transforms=transforms)


def keras_dataset(photos: Path) -> tf.data.Dataset:
    """Return the peer: files are decoded in each epoch, and batches augmented by layers."""
    moves = keras.Sequential(
        [keras.layers.RandomTranslation(0.125, 0.125, fill_mode="reflect"), keras.layers.RandomFlip("horizontal")]
    )
    options = {"image_size": (SIDE, SIDE), "batch_size": BATCH, "seed": 0, "verbose": False}
    read = keras.utils.image_dataset_from_directory(photos, **options)
    return read.map(lambda x, y: (moves(x / 255.0, training=True), y), tf.data.AUTOTUNE).prefetch(2)


def measure_input_wait(readers: Mapping[str, Reader]) -> Table:
    """Train some steps with each input pipeline, and measure the wait for batches."""
    task = Classification(
        model=Vit(image_size=SIDE, **VIT),
        targets={"labels": [f"class_{label}" for label in range(CLASSES)], "counts": [EACH] * CLASSES},
    )
    optimizer = keras.optimizers.AdamW(1e-4)
    optimizer.build(task.trainable_variables)

    @tf.function(reduce_retracing=True)
    def step(batch):
        with tf.GradientTape() as tape:
            (losses,) = task.loss_terms(task(batch, training=True), batch).values()
            loss = tf.reduce_mean(losses)
        optimizer.apply(tape.gradient(loss, task.trainable_variables))
        return loss

    rows = []
    for name, source in readers.items():
        step(next(iter(source.dataset(0))))  # traces
        spent, waited = _times(iter(source.dataset(1)), step)
        rows.append([name, f"{1000 * spent:.0f}", f"{1000 * waited:.2f}", f"{waited / (spent + waited):.2%}"])
    columns = ["", "milliseconds a step", "of waiting", "share of waiting"]
    title = f"waiting for a batch of {BATCH}, ViT of {VIT['num_layers']} x {VIT['hidden_dim']}, float32"
    return Table(
        title=title, columns=columns, rows=rows, notes=("The first batch, which starts the pipeline, is left out.",)
    )


def _times(batches: Iterator, step) -> tuple[float, float]:
    """Return the mean seconds of a step, and of the wait for its batch."""
    next(batches)
    spent = waited = 0.0
    for _ in range(STEPS):
        started = time.perf_counter()
        batch = next(batches)
        ready = time.perf_counter()
        float(step(batch))
        waited, spent = waited + ready - started, spent + time.perf_counter() - ready
    return spent / STEPS, waited / STEPS
