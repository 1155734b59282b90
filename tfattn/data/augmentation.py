"""The `augmentation` section: random changes of training images, which differ in each epoch."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field, PositiveFloat, PositiveInt

from tfattn.config.types import Rate
from tfattn.data.examples.transforms import Transform
from tfattn.data.image_mixing import ImageMixing
from tfattn.data.image_transforms import ColourJitter, Cutout, Flip, ResizedCrop, Shift
from tfattn.data.rand_augment import RandAugment


@dataclass(frozen=True, kw_only=True)
class Augmentation:
    """Random augmentation of training images, in this order, by (seed, epoch, image). By default nothing is changed.

    The result does not depend on the number of replicas or on the resumption of a run. Evaluation images are not
    changed.

    Args:
        resized_crop: minimum fraction of the area of a random crop, such as 0.5. The aspect ratio of the crop is 3/4 to
            4/3, and the crop is resized to the size of the image.
        shift: maximum translation in pixels in each direction, with reflection padding.
        flip: horizontal flip: "random" for each image in every epoch; "alternating" is random in the first epoch, and
            then flips each image in every other epoch.
        colour_jitter: maximum relative change of brightness, contrast and saturation, such as 0.2.
        rand_augment: magnitude of RandAugment, two random geometric or color operations on each image, such as 0.5.
        cutout: side in pixels of a grey square that covers a part of the image.
        mixup: MixUp of pairs of images and labels with weights from Beta(mixup, mixup), such as 0.2.
        cutmix: CutMix of pairs of images and labels with areas from Beta(cutmix, cutmix), such as 1.0. With `mixup`,
            one of both is chosen at random for each image.

    Example:
        augmentation = Augmentation(shift=4, flip="alternating", cutout=8)
        reader = Reader(folder, "train", transforms=[FromRecords(images), *augmentation.transforms()], **options)
    """

    resized_crop: Annotated[float, Field(gt=0.0, lt=1.0)] | None = None
    shift: PositiveInt | None = None
    flip: Literal["random", "alternating"] | None = None
    colour_jitter: Annotated[Rate, Field(gt=0.0)] | None = None
    rand_augment: Annotated[float, Field(gt=0.0, le=1.0)] | None = None
    cutout: PositiveInt | None = None
    mixup: PositiveFloat | None = None
    cutmix: PositiveFloat | None = None

    def transforms(self) -> Sequence[Transform]:
        """List the transforms, in order."""
        kinds = {
            ResizedCrop: self.resized_crop,
            Shift: self.shift,
            Flip: self.flip,
            ColourJitter: self.colour_jitter,
            RandAugment: self.rand_augment,
            Cutout: self.cutout,
        }
        transforms = [kind(value) for kind, value in kinds.items() if value is not None]
        mixes_pairs = self.mixup is not None or self.cutmix is not None
        return [*transforms, *([ImageMixing(mixup=self.mixup, cutmix=self.cutmix)] if mixes_pairs else [])]
