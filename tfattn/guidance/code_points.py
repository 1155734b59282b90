"""Sets of Unicode characters as ranges of code points, and how UTF-8 writes them."""

from collections.abc import Iterable, Iterator, Sequence

Range = tuple[int, int]  # the first and the last
Ranges = tuple[Range, ...]

LAST = 0x10FFFF
SURROGATES = (0xD800, 0xDFFF)  # which are no characters, and which UTF-8 cannot write
EVERY: Ranges = ((0, SURROGATES[0] - 1), (SURROGATES[1] + 1, LAST))


def united(ranges: Iterable[Range]) -> Ranges:
    """Sort ranges and join those that touch."""
    found: list[Range] = []
    for low, high in sorted(ranges):
        if found and low <= found[-1][1] + 1:
            found[-1] = (found[-1][0], max(found[-1][1], high))
        else:
            found.append((low, high))
    return tuple(found)


def common(one: Iterable[Range], other: Iterable[Range]) -> Ranges:
    """Return what two sets have in common."""
    left, right = list(united(one)), list(united(other))
    found: list[Range] = []
    while left and right:
        low, high = max(left[0][0], right[0][0]), min(left[0][1], right[0][1])
        if low <= high:
            found.append((low, high))
        (left if left[0][1] < right[0][1] else right).pop(0)
    return tuple(found)


def without(ranges: Iterable[Range], excluded: Iterable[Range]) -> Ranges:
    """Return the characters of a set that another does not have."""
    gaps, low = [], 0
    for first, last in united(excluded):
        if low < first:
            gaps.append((low, first - 1))
        low = last + 1
    return common(ranges, [*gaps, *([(low, LAST)] if low <= LAST else [])])


def byte_sequences(ranges: Iterable[Range]) -> Iterator[Sequence[Range]]:
    """Yield how UTF-8 writes the characters of a set: each time a range for the first byte, the second, and so on."""
    for low, high in without(ranges, [SURROGATES]):
        yield from _of_range(low, high)


def _of_range(low: int, high: int) -> Iterator[Sequence[Range]]:
    for last in (0x7F, 0x7FF, 0xFFFF):  # of those with one byte, two, three
        if low <= last < high:
            yield from _of_range(low, last)
            yield from _of_range(last + 1, high)
            return
    first, last = chr(low).encode(), chr(high).encode()
    for behind in range(1, len(first)):
        mask = (1 << 6 * behind) - 1  # the bits that this many last bytes hold
        if low & ~mask == high & ~mask:
            continue
        if low & mask:
            yield from _of_range(low, low | mask)
            yield from _of_range((low | mask) + 1, high)
            return
        if high & mask != mask:
            yield from _of_range(low, (high & ~mask) - 1)
            yield from _of_range(high & ~mask, high)
            return
    yield tuple(zip(first, last, strict=True))
