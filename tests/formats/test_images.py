"""Images are recognized by their first bytes, and undecodable images are refused before decoding."""

import pytest
from PIL import Image

from tests.data.small_images import encoded, picture
from tfattn.errors import DataError
from tfattn.formats.images import check_image, header_of


@pytest.mark.parametrize(
    ("kind", "options"), [("JPEG", {}), ("JPEG", {"progressive": True}), ("PNG", {}), ("GIF", {}), ("BMP", {})]
)
def test_kind_and_size_are_those_of_the_file(kind, options):
    header = header_of(encoded(picture(height=12, width=16), kind, **options))
    assert (header.kind, header.height, header.width) == (kind, 12, 16)


@pytest.mark.parametrize(("kind", "name"), [("WEBP", "WebP"), ("TIFF", "TIFF")])
def test_other_kinds_are_named(kind, name):
    with pytest.raises(DataError) as error:
        check_image(encoded(picture(), kind), "cat.jpg")
    assert str(error.value) == (
        f"cat.jpg: the file is not a supported image: expected JPEG, PNG, GIF or BMP, received {name}. "
        "Convert it to JPEG, PNG, GIF or BMP."
    )


@pytest.mark.parametrize(
    ("data", "received"),
    [
        (b"", "no bytes"),
        (b"some text, no image", "bytes that start with b'some tex'"),
        (encoded(picture())[:20], "bytes that start with b'\\xff\\xd8"),
        (b"\xff\xd8\xff" + b"x" * 100, "bytes that start with"),
        (encoded(picture(), "PNG")[:20], "bytes that start with b'\\x89PNG"),
    ],
)
def test_a_file_that_is_not_an_image_is_refused(data, received):
    with pytest.raises(DataError) as error:
        check_image(data, "cat.jpg")
    assert str(error.value).startswith("cat.jpg: the file is not a supported image") and received in str(error.value)
    assert error.value.remedy == "Fetch it again, or remove it."


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "GIF", "BMP"])
def test_a_huge_image_is_refused_by_its_header(kind):
    data = encoded(Image.new("L", (50_000, 2)), kind)[:700]  # its pixels are not even there
    with pytest.raises(DataError, match="too large.*sides of at most 8,192 pixels, received 50,000 x 2.*`max_side`"):
        check_image(data, "wide")
    assert check_image(data, "wide", max_side=50_000).width == 50_000


def test_an_image_without_a_pixel_is_damaged():
    data = bytearray(encoded(picture(), "PNG"))
    data[16:20] = bytes(4)
    with pytest.raises(DataError, match="damaged: expected pixels, received a PNG of 0 x 12"):
        check_image(bytes(data), "none.png")
