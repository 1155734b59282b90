"""Image transforms: their effect, and dependence only on seed, epoch and image."""

import numpy as np
import pytest
import tensorflow as tf

from tests.data.small_images import write_folder
from tfattn.data.augmentation import Augmentation
from tfattn.data.batching import Batching
from tfattn.data.examples.class_targets import Classes
from tfattn.data.examples.examples import Examples
from tfattn.data.examples.transforms import FromRecords, epoch_key, seeds_of
from tfattn.data.image_transforms import ColourJitter, Cutout, Flip, ResizedCrop, Shift
from tfattn.data.preparation.prepare import prepare
from tfattn.data.rand_augment import MAX_TRANSLATION, OPERATIONS, _moved, _recolored
from tfattn.data.reader import Reader
from tfattn.data.section import Data
from tfattn.data.sources.image_folder import ImageFolder
from tfattn.data.split_config import Split
from tfattn.preprocessing.images import Images

SIZE = (6, 8)
ALL = Augmentation(
    resized_crop=0.5,
    shift=2,
    flip="alternating",
    colour_jitter=0.3,
    rand_augment=0.5,
    cutout=3,
    mixup=0.5,
    cutmix=1.0,
)


def images(count=200):
    return np.random.default_rng(0).random((count, *SIZE, 3), np.float32)


def changed(transform, pixels, *, epoch=0):
    """The images of an epoch, by numbers from 0."""
    transform = transform.in_epoch(seed=3, epoch=epoch)
    seeds = seeds_of(tf.range(len(pixels)), epoch_key(seed=3, epoch=epoch))
    return transform({"images": tf.constant(pixels)}, seeds)["images"].numpy()


def test_a_shift_moves_whole_pixels_and_mirrors_the_side():
    pixels = images()
    padded = np.pad(pixels, ((0, 0), (2, 2), (2, 2), (0, 0)), "reflect")
    windows = [(y, x) for y in range(5) for x in range(5)]
    found = []
    for number, image in enumerate(changed(Shift(2), pixels)):
        equal = [(y, x) for y, x in windows if np.array_equal(padded[number, y : y + 6, x : x + 8], image)]
        assert len(equal) == 1
        found += equal
    assert set(found) == set(windows), "every one comes"


def test_a_shift_larger_than_the_image_reflects_its_pixels():
    assert changed(Shift(50), images(9)).shape == (9, *SIZE, 3)


def test_random_flips_occur_in_half_of_the_images():
    pixels = images()
    flipped = [
        np.array_equal(one, image[:, ::-1]) for one, image in zip(changed(Flip("random"), pixels), pixels, strict=True)
    ]
    assert 70 < sum(flipped) < 130
    same = [np.array_equal(one, image) for one, image in zip(changed(Flip("random"), pixels), pixels, strict=True)]
    assert (np.array(flipped) ^ np.array(same)).all()


def test_alternating_flips_show_both_sides_in_two_epochs():
    pixels = images()
    first, second, third = (changed(Flip("alternating"), pixels, epoch=epoch) for epoch in range(3))
    np.testing.assert_array_equal(first, second[:, :, ::-1])
    np.testing.assert_array_equal(first, third)
    assert 70 < sum(np.array_equal(one, image) for one, image in zip(first, pixels, strict=True)) < 130


def test_a_crop_is_a_part_of_at_least_the_minimum_size():
    ramp = np.zeros((300, *SIZE, 3), np.float32)
    ramp[..., 0], ramp[..., 1] = np.linspace(0, 1, 8), np.linspace(0, 1, 6)[:, None]
    found = changed(ResizedCrop(0.5), ramp)
    width = found[:, 0, -1, 0] - found[:, 0, 0, 0]
    height = found[:, -1, 0, 1] - found[:, 0, 0, 1]
    assert found.min() >= 0 and found.max() <= 1
    areas = width * height
    assert areas.min() > 0.4 and areas.max() <= 1.0 and areas.std() > 0.05
    shapes = width / height
    assert shapes.min() > 0.74 and shapes.max() < 1.34


def test_cutout_masks_a_square_centered_in_the_image():
    pixels = images()
    is_cut = (changed(Cutout(3), pixels) == 0.5).all(axis=-1)
    counts = is_cut.sum(axis=(1, 2))
    assert counts.max() == 9 and counts.min() >= 4 and 0 < (counts < 9).mean() < 0.8
    np.testing.assert_array_equal(changed(Cutout(3), pixels)[~is_cut], pixels[~is_cut])
    assert is_cut.any(axis=0).all(), "every pixel is hidden now and then"


def test_colour_jitter_keeps_valid_colours():
    found = changed(ColourJitter(0.2), images())
    assert found.min() >= 0 and found.max() <= 1 and found.shape == (200, *SIZE, 3)
    grey = np.full((50, *SIZE, 3), 0.5, np.float32)
    brightness = changed(ColourJitter(0.2), grey)
    assert 0.4 <= brightness.min() < 0.43 and 0.57 < brightness.max() <= 0.6
    assert np.ptp(brightness, axis=(1, 2, 3)).max() < 1e-6, "grey stays grey"


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    folder = tmp_path_factory.mktemp("images")
    data = Data(
        source=ImageFolder(path=str(write_folder(folder / "photos", each=12))),
        preprocessing=Images(size=list(SIZE)),
        batching=Batching(batch_size=8),
        split=Split(validation=0.125),
        targets=Classes(),
        examples=Examples(),
    )
    prepare(data, folder / "prepared", 7)
    return data, folder / "prepared"


def seen(prepared, *, epoch=1, seed=5, augmentation=ALL, **options):
    """By the number of the record, all that a batch holds of it."""
    data, folder = prepared
    transforms = [FromRecords(data.preprocessing), *augmentation.transforms()]
    batching = Batching(batch_size=8)
    reader = Reader(folder, "train", batching=batching, seed=seed, shuffle=True, transforms=transforms)
    found = {}
    for batch in reader.dataset(epoch, **options):
        values = {
            name: value.numpy().reshape(-1, *value.shape[2:]) if options.get("updates") else value.numpy()
            for name, value in batch.items()
        }
        for place, row in enumerate(values["record_ids"].tolist()):
            if row >= 0:
                found[row] = {name: value[place].tobytes() for name, value in values.items()}
    return found


def test_transforms_do_not_depend_on_replicas_updates_workers_or_resumes(prepared):
    whole = seen(prepared)
    assert len(whole) == 21 and {"mixed_label_ids", "mixed_shares"} <= next(iter(whole.values())).keys()
    assert seen(prepared, replicas=2) == whole == seen(prepared, replicas=4, accumulation=2)
    assert seen(prepared, replicas=2, updates=2) == whole
    workers = [seen(prepared, replicas=4, local=range(begin, begin + 2)) for begin in (0, 2)]
    assert workers[0] | workers[1] == whole and not workers[0].keys() & workers[1].keys()
    rest = seen(prepared, start=1)
    assert len(rest) == 13 and rest.items() <= whole.items()


def test_transforms_differ_by_epoch_and_seed(prepared):
    drawn = [seen(prepared), seen(prepared, epoch=2), seen(prepared, seed=6)]
    pixels = [{number: row["images"] for number, row in one.items()} for one in drawn]
    assert all(pixels[0][number] != other[number] for other in pixels[1:] for number in pixels[0])


def test_mixtures_combine_two_images_of_a_batch(prepared):
    data, folder = prepared
    alone = {
        number: np.frombuffer(row["images"], np.float32)
        for number, row in seen(prepared, augmentation=Augmentation(shift=2)).items()
    }
    labels = {number: row["label_ids"] for number, row in seen(prepared, augmentation=Augmentation()).items()}
    mixed = seen(prepared, augmentation=Augmentation(shift=2, mixup=1.0))
    partners = {}
    for number, row in mixed.items():
        share = np.frombuffer(row["mixed_shares"], np.float32)[0]
        assert 0 <= share <= 0.5
        image = np.frombuffer(row["images"], np.float32)
        errors = {other: np.abs(alone[number] * (1 - share) + alone[other] * share - image).max() for other in alone}
        partners[number] = min(errors, key=errors.get)
        assert errors[partners[number]] < 1e-5
        assert row["mixed_label_ids"] == labels[partners[number]] and row["label_ids"] == labels[number]
    assert all(partners[partners[number]] == number for number in partners), "partners are each other's"


def test_cutmix_replaces_a_rectangle_by_that_of_another_image(prepared):
    alone, mixed = (
        {
            number: (np.frombuffer(row["images"], np.float32).reshape(*SIZE, 3), row)
            for number, row in seen(prepared, augmentation=augmentation).items()
        }
        for augmentation in (Augmentation(), Augmentation(cutmix=1.0))
    )
    shares = []
    for number, (image, row) in mixed.items():
        own = (image == alone[number][0]).all(-1)
        share = np.frombuffer(row["mixed_shares"], np.float32)[0]
        others = [other for other, (pixels, _) in alone.items() if other != number and (pixels == image)[~own].all()]
        if own.all():  # the odd image of a batch is its own partner; a small rectangle may have no pixel
            assert share == 0 or row["mixed_label_ids"] == row["label_ids"]
            continue
        assert abs((~own).mean() - share) < 1e-6
        rows, columns = np.nonzero((~own).any(1))[0], np.nonzero((~own).any(0))[0]
        assert (~own).sum() == len(rows) * len(columns) == (np.ptp(rows) + 1) * (np.ptp(columns) + 1)
        assert any(alone[other][1]["label_ids"] == row["mixed_label_ids"] for other in others)
        shares.append(share)
    assert max(shares) > 0.5 > min(shares)


@pytest.mark.parametrize("name", OPERATIONS)
def test_operations_of_rand_augment(name):
    pixels = tf.constant(images(8) * 0.5 + 0.2)
    choice, strength = tf.fill([8], OPERATIONS.index(name)), tf.fill([8], 0.7)
    found = _recolored(_moved(pixels, choice, strength), choice, strength).numpy()
    assert found.shape == pixels.shape and found.min() >= 0 and found.max() <= 1
    assert (np.abs(found - pixels).max() < 1e-5) == (name == "identity")
    if name == "posterize":
        assert len(np.unique(found)) <= 2**5
    if name == "autocontrast":
        np.testing.assert_allclose(
            [found.min((1, 2)), found.max((1, 2))], [np.zeros((8, 3)), np.ones((8, 3))], atol=1e-5
        )


def test_geometric_operations_move_pixels_as_their_names_say():
    pixels = np.zeros((1, 9, 9, 3), np.float32)
    pixels[0, 2, 4] = 1.0

    def brightest(name, strength):
        moved = _moved(tf.constant(pixels), tf.constant([OPERATIONS.index(name)]), tf.constant([strength])).numpy()[0]
        return np.unravel_index(moved[..., 0].argmax(), (9, 9))

    one_pixel = 1 / (MAX_TRANSLATION * 9)
    assert brightest("translate_x", one_pixel) == (2, 3) and brightest("translate_y", -one_pixel) == (3, 4)
    assert brightest("rotate", 1.0)[1] != 4 and brightest("shear_x", 1.0)[0] == 2


def test_mixture_weights_follow_the_distribution():
    from tfattn.data.image_mixing import _quantiles

    drawn = np.random.default_rng(0).beta(0.4, 0.4, 100_000)
    expected = np.quantile(np.minimum(drawn, 1 - drawn), [0.1, 0.5, 0.9])
    np.testing.assert_allclose(np.quantile(_quantiles(0.4), [0.1, 0.5, 0.9]), expected, atol=0.005)
