"""Maximum lengths of texts and rows."""

from tfattn.errors import DataError

# Characters of a text, enough for a long book, and of a row. Longer texts are mostly mistakes, such as an unclosed
# quote, and would take minutes and gigabytes to encode.
MAX_TEXT_LENGTH = 1 << 20
MAX_ROW_LENGTH = 1 << 24
# Characters of a file or article that is divided into windows.
MAX_DOCUMENT_LENGTH = 1 << 28


def too_long(what: str, where: str, longest: int, *, cause: str = "") -> DataError:
    """Create the error of a text or row of more than `longest` characters; `cause` is a likely cause and its remedy."""
    return DataError(
        f"{what} is too long",
        where=where,
        expected=f"at most {longest:,} characters",
        received="more",
        remedy=f"{cause} If it is right, cut it: models read only the first `max_length` tokens.".lstrip(),
    )
