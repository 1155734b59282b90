"""How much text belongs together at most."""

from tfattn.errors import DataError

# Characters of one text, as much as a long book has, and of all that belongs to a row. What is longer is a slip most
# often, such as a quote that is never closed, and would take minutes and gigabytes to encode.
LONGEST_TEXT = 1 << 20
LONGEST_ROW = 1 << 24


def too_long(what: str, where: str, longest: int, *, slip: str = "") -> DataError:
    """The error that says that more characters belong together than are read; `slip` is what may have made it so."""
    return DataError(
        f"{what} is too long",
        where=where,
        expected=f"at most {longest:,} characters",
        received="more",
        remedy=f"{slip} If it really is so long, cut it: models read their first `max_length` tokens alone.".lstrip(),
    )
