"""The `augmentation` of a pipeline's data: how training images are changed, other ways in each epoch."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field, PositiveFloat, PositiveInt

from tfattn.config.types import Rate
from tfattn.data.image_transforms import ColourJitter, Cutout, Flip, ResizedCrop, Shift
from tfattn.data.mixup import MixUp
from tfattn.data.transforms import Transform


@dataclass(frozen=True, kw_only=True)
class Augmentation:
    """Changes of training images, in this order, each drawn by (seed, epoch, image); none that is not named.

    Any number of replicas sees the same, and so does a run that is resumed. Images that measure stay as they are.

    Args:
        resized_crop: the least part of an image's area that is taken in place of the whole, such as 0.5; its width is
            3/4 to 4/3 of its height, and it is resized to the same size.
        shift: the most pixels by which an image is moved in each direction; what comes in is mirrored at the side.
        flip: left to right: "random" draws for each image in every epoch, "alternating" in the first, and then flips
            each in every other one, so that it is seen both ways.
        colour_jitter: how much brightness, contrast and saturation change at most, such as 0.2.
        cutout: the side in pixels of a grey square that hides a part of the image.
        mixup: mixes images in pairs, and their labels, by shares of Beta(mixup, mixup), such as 0.2.

    Example:
        augmentation = Augmentation(shift=4, flip="alternating", cutout=8)
        reader = Reader(folder, "train", transforms=[FromRecords(images), *augmentation.transforms()], **options)
    """

    resized_crop: Annotated[float, Field(gt=0.0, lt=1.0)] | None = None
    shift: PositiveInt | None = None
    flip: Literal["random", "alternating"] | None = None
    colour_jitter: Annotated[Rate, Field(gt=0.0)] | None = None
    cutout: PositiveInt | None = None
    mixup: PositiveFloat | None = None

    def transforms(self) -> Sequence[Transform]:
        """List the changes, in order."""
        kinds = {
            ResizedCrop: self.resized_crop,
            Shift: self.shift,
            Flip: self.flip,
            ColourJitter: self.colour_jitter,
            Cutout: self.cutout,
            MixUp: self.mixup,
        }
        return [kind(value) for kind, value in kinds.items() if value is not None]
