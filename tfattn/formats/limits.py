"""Limits of the length of texts and rows."""

from tfattn.errors import DataError

# Characters of one text, as many as a long book has, and of a whole row. Longer ones are mostly mistakes, such as a
# quote that is never closed, and would take minutes and gigabytes to encode.
LONGEST_TEXT = 1 << 20
LONGEST_ROW = 1 << 24
# Characters of a whole file, or article, that is laid into windows and never read as one sequence.
LONGEST_DOCUMENT = 1 << 28


def too_long(what: str, where: str, longest: int, *, slip: str = "") -> DataError:
    """Make the error of a text or row of more than `longest` characters; `slip` is a sentence about a likely cause."""
    return DataError(
        f"{what} is too long",
        where=where,
        expected=f"at most {longest:,} characters",
        received="more",
        remedy=f"{slip} If it really is so long, cut it: models read their first `max_length` tokens alone.".lstrip(),
    )
