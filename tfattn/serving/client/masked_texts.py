"""What [MASK] may stand for in a text, as lines for people."""

from collections.abc import Iterator

from tfattn.errors import DataError, RefusedError
from tfattn.serving.client.predict import Predictor, said

MASK = "[MASK]"
SIGNATURE = "all_masks"


def check(text: str) -> None:
    """Refuse a text that asks nothing.

    Raises:
        DataError: it has no [MASK].
    """
    if MASK not in text:
        raise DataError(
            f"the text has no {MASK}",
            expected=f"{MASK} in capitals where a word is to be found",
            received=repr(text),
        )


def lines(model: Predictor, text: str, *, top_k: int) -> Iterator[str]:
    """Yield a line for each of the likeliest tokens of each mask: probability, token, and the text with it.

    Args:
        model: an export, or a server's model.
        text: with one [MASK] or more.
        top_k: how many tokens of each; the export has a limit of its own.

    Raises:
        ServingError: the model is no masked language model.
        DataError: the text is so long that no [MASK] is read.
    """
    try:
        (answer,) = model.predict([dict.fromkeys(model.trained_on.columns, text)], signature=SIGNATURE)
    except RefusedError as error:
        raise DataError("the model refuses the text", received=said(error)) from None
    several = answer["masks"] > 1
    for mask in range(answer["masks"]):
        if several:
            yield f"{MASK} {mask + 1} of {answer['masks']}"
        columns = (answer[name][mask][:top_k] for name in ("score", "token_str", "sequence"))
        for score, token, sequence in zip(*columns, strict=True):
            yield f"{score:.4f}  {token:<16} {sequence}"
