"""Maximum lengths of texts and rows."""

from tfattn.errors import DataError

# Characters of a text, enough for a long book, and of a row. Longer texts are mostly mistakes, such as an unclosed
# quote, and would take minutes and gigabytes to encode.
LONGEST_TEXT = 1 << 20
LONGEST_ROW = 1 << 24
# Characters of a file or article that is divided into windows.
LONGEST_DOCUMENT = 1 << 28


def too_long(what: str, where: str, longest: int, *, slip: str = "") -> DataError:
    """Create the error of a text or row of more than `longest` characters; `slip` names a likely cause."""
    return DataError(
        f"{what} is too long",
        where=where,
        expected=f"at most {longest:,} characters",
        received="more",
        remedy=f"{slip} If it really is so long, cut it: models read their first `max_length` tokens alone.".lstrip(),
    )
