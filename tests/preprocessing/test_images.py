"""Images: decoding as in other libraries, resizing, and equality of graph, eager mode and export."""

import numpy as np
import pytest
import tensorflow as tf
from PIL import Image
from tensorflow.python.saved_model.loader_impl import parse_saved_model

from tests.data.small_images import as_array, encoded, picture
from tfattn.errors import DataError
from tfattn.graphs import operations
from tfattn.preprocessing.images import Images

KINDS = {
    "jpeg": lambda image: encoded(image, quality=95),
    "progressive": lambda image: encoded(image, progressive=True),
    "grey jpeg": lambda image: encoded(image.convert("L")),
    "cmyk": lambda image: encoded(image.convert("CMYK")),
    "png": lambda image: encoded(image, "PNG"),
    "grey png": lambda image: encoded(image.convert("L"), "PNG"),
    "grey png with alpha": lambda image: encoded(image.convert("LA"), "PNG"),
    "palette": lambda image: encoded(image.convert("P"), "PNG"),
    "two shades": lambda image: encoded(image.convert("1"), "PNG"),
    "four colours": lambda image: encoded(image.quantize(4), "PNG", bits=2),
    "gif": lambda image: encoded(image, "GIF"),
    "moving gif": lambda image: encoded(image, "GIF", save_all=True, append_images=[picture(1), picture(2)]),
    "bmp": lambda image: encoded(image, "BMP"),
}


def pixels(data, **options):
    return Images(**{"size": [12, 16], **options}).pixels(tf.constant([data])).numpy()[0].astype(int)


@pytest.mark.parametrize("kind", KINDS)
def test_every_format_is_decoded_as_by_pillow(kind):
    data = KINDS[kind](picture())
    np.testing.assert_array_equal(pixels(data), as_array(data))


def test_sixteen_bits_are_cut_to_eight_and_transparent_pixels_are_white():
    grey = np.asarray(picture().convert("L"))
    deep = encoded(Image.fromarray(grey.astype(np.uint16) * 256 + 77), "PNG")
    np.testing.assert_array_equal(pixels(deep), np.repeat(grey[:, :, None], 3, axis=2))
    clear = picture().convert("RGBA")
    clear.putalpha(Image.fromarray(np.tile(np.uint8([0, 255]), (12, 8))))
    found = pixels(encoded(clear, "PNG"))
    assert (found[:, 0::2] == 255).all()
    np.testing.assert_array_equal(found[:, 1::2], np.asarray(picture())[:, 1::2])


def test_images_of_another_size_are_resized():
    tall = Image.new("RGB", (8, 24), (200, 0, 0))
    tall.paste((0, 0, 200), (0, 8, 8, 16))  # blue in the middle
    data = encoded(tall, "PNG")
    cropped, padded, squashed = (pixels(data, size=8, fit=fit) for fit in ("crop", "pad", "squash"))
    assert (cropped == [0, 0, 200]).all(), "the middle, of the shape that is asked for"
    assert (padded[:, [0, 1, 6, 7]] == 0).all() and (padded[:, 2:5].sum(axis=2) > 150).all(), "black at both sides"
    assert squashed[0, 0, 0] > 150 and squashed[4, 0, 2] > 150 and squashed[7, 0, 0] > 150, "all of it"


@pytest.mark.parametrize("fit", ["crop", "pad", "squash"])
def test_tiny_and_thin_images_are_supported(fit):
    one = encoded(Image.new("RGB", (1, 1), (9, 8, 7)), "PNG")
    assert (pixels(one, size=4, fit=fit) == [9, 8, 7]).all()
    thin = encoded(Image.new("L", (8192, 1), 50), "PNG")
    assert pixels(thin, size=64, fit=fit).max() == 50


def test_images_are_scaled_and_empty_batches_are_supported():
    images = Images(size=8)
    white = encoded(Image.new("L", (8, 8), 255), "PNG")
    found = images({"image": tf.constant([white])})["images"]
    assert found.dtype == tf.float32 and found.shape == (1, 8, 8, 3) and (found.numpy() == 1.0).all()
    assert images({"image": tf.constant([], tf.string)})["images"].shape == (0, 8, 8, 3)
    assert images.sizes == {"image_size": 8} and Images(size=[4, 6]).sizes == {"image_size": [4, 6]}


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "image 2 is no JPEG, PNG, GIF or BMP"),
        (b"GI", "image 2 is no JPEG, PNG, GIF or BMP"),
        (encoded(picture(), "WEBP"), "image 2 is no JPEG, PNG, GIF or BMP"),
        (encoded(Image.new("L", (50_000, 2))), "image 2 has sides of more than 8,192 pixels"),
        (encoded(Image.new("L", (2, 50_000)), "PNG")[:100], "image 2 has sides of more than 8,192 pixels"),
        (encoded(Image.new("L", (50_000, 2)), "GIF")[:100], "image 2 has sides of more than 8,192 pixels"),
        (encoded(Image.new("L", (50_000, 2)), "BMP")[:100], "image 2 has sides of more than 8,192 pixels"),
        (encoded(picture(height=300, width=300))[:2000], "JPEG"),
        (encoded(picture(height=300, width=300), "PNG")[:2000], "PNG"),
    ],
)
def test_undecodable_images_are_reported_with_their_number(data, said):
    with pytest.raises(tf.errors.InvalidArgumentError, match=said):
        Images(size=8).pixels(tf.constant([encoded(picture()), data]))


def test_saved_settings_give_the_same_images_and_can_be_served(tmp_path):
    images = Images(size=[6, 8], fit="pad", max_side=100)
    images.save(tmp_path)
    other = Images(size=99)
    other.load(tmp_path)
    files = tf.constant([KINDS[kind](picture(seed)) for seed, kind in enumerate(KINDS)])
    expected = images({"image": files})["images"]
    np.testing.assert_array_equal(other({"image": files})["images"], expected)
    assert other.sizes == images.sizes and other.max_side == 100

    owner = tf.Module()
    spec = tf.TensorSpec([None], tf.string, name="image")
    owner.serve = tf.function(lambda image: images({"image": image}), input_signature=[spec], autograph=False)
    tf.saved_model.save(owner, str(tmp_path / "1"), signatures=owner.serve)
    found = tf.saved_model.load(str(tmp_path / "1")).signatures["serving_default"](image=files)["images"]
    np.testing.assert_array_equal(found, expected)
    (meta_graph,) = parse_saved_model(str(tmp_path / "1")).meta_graphs
    assert "DecodeJpeg" in operations.check(meta_graph, remedy="")


def test_damaged_settings_are_refused(tmp_path):
    (tmp_path / "images.json").write_text("{}")
    with pytest.raises(DataError, match="images.json"):
        Images(size=8).load(tmp_path)
