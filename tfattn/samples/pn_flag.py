"""Synthetic candidate variants of low allele frequency, real variants and noise.

The generative model: three runs (panels LODA, LODB, LODC) measure samples, each a mixture of known variants diluted to
one of four levels. A sample is sequenced at 88 loci, each with a log-normal depth around 3000 molecules, and ten of
its candidates are listed. The reads of a candidate, and the reads from errors of its locus, are binomial:

    spiked       real: the frequency is the expected frequency, up to the error of the dilution
    undeclared   real, but the expected frequency is 0
    error        noise at an ordinary locus: one or two reads, or many copies of an early error
    damage       noise at a locus where bases are damaged: many reads are wrong, in every sample
    misaligned   noise: reads from a similar position of the genome, in any number

Noise also occurs at the loci of known variants, where the expected frequency is not 0. Five callers score a candidate
by its reads, its depth and its locus. All scores are noisy, and 5000 means "saturated": the caller gives it to any
candidate at this locus or in this sample. So each caller misses some candidates that another caller finds; six further
columns are mostly 0. Neither a single column nor a linear combination separates real variants from noise. All samples
have the same loci.
"""

import csv
import math
import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tfattn import files

IDENTIFIERS = ("Sample", "Panel", "Dilution", "Locus")
LABEL = "PN_flag"
NUMBERS = (
    "Expected_Frequency",
    "Observed_Frequency",
    "Supporting_Reads",
    "Score_BG_Polishing",
    "Score_Poisson",
    "Score_Families",
    "Score_Base_Quality",
    "Score_Mapping",
    "Reads_In_Normal",
    "Clipped_Share",
    "Conflicting_Pairs",
    "Nearby_Indels",
    "Score_Strand_Bias",
    "Score_Position_Bias",
)
COLUMNS = (*IDENTIFIERS, LABEL, *NUMBERS)

SATURATED = 5000.0
MIN_SCORE = 0.1
UNDERFLOW = 600.0  # the score from which the probability of a caller underflows to 0

ROWS_PER_SAMPLE = 10
DILUTIONS = {"D1": 0.012, "D2": 0.009, "D3": 0.006, "D4": 0.004}  # frequency of a homozygous variant
DOSES = (1.0, 0.5)  # of a homozygous and a heterozygous variant
DILUTION_ERROR = 0.1  # relative
MEDIAN_DEPTH, DEPTH_SPREAD = 3000, 0.15  # molecules
MIN_READS = 5  # of a candidate; single errors have fewer
USUAL_ERRORS = 2e-4  # the fraction of wrong molecules; a caller assumes it at all loci

# Candidates of each kind in each run: 940 rows with 600 real variants, and 200 rows with 138.
RUNS = {
    "LODA": {"spiked": 270, "undeclared": 30, "error": 68, "damage": 51, "misaligned": 51},
    "LODB": {"spiked": 270, "undeclared": 30, "error": 68, "damage": 51, "misaligned": 51},
    "LODC": {"spiked": 124, "undeclared": 14, "error": 25, "damage": 18, "misaligned": 19},
}


@dataclass(frozen=True)
class CandidateKind:
    """The distribution of the columns of one kind of candidates.

    Args:
        is_real: whether PN_flag is 1.
        families: the median of Score_Families per read: copies of one molecule count once.
        quality, mapping: the medians of Score_Base_Quality and Score_Mapping.
        in_normal, conflicts, indels: the probabilities that these columns are not 0.
        strand, position: the probabilities of a strong bias.
        lost: the probability that the reads come from a position that the reference lacks, so that no position fits
            better.
    """

    is_real: bool
    families: float = 6.0
    quality: float = 250.0
    mapping: float = 250.0
    in_normal: float = 0.04
    conflicts: float = 0.04
    indels: float = 0.06
    strand: float = 0.0
    position: float = 0.0
    lost: float = 0.0


KINDS = {
    "spiked": CandidateKind(is_real=True),
    "undeclared": CandidateKind(is_real=True),
    "error": CandidateKind(is_real=False, families=1.0, quality=24.0, conflicts=0.25),
    "damage": CandidateKind(is_real=False, families=5.0, quality=150.0, in_normal=0.3, strand=0.7),
    "misaligned": CandidateKind(is_real=False, mapping=8.0, indels=0.2, position=0.7, lost=0.3),
}


@dataclass(frozen=True)
class Locus:
    """A position in the genome.

    Args:
        name: chromosome and position.
        noise: the kind of noise at the position.
        dose: the dose of the known variant; 0 if there is none.
        errors: the fraction of molecules with another base without a variant.
        is_clean: whether no normal sample has an error here, so that the score against them is always saturated.
        is_unique: whether no other position is similar, so that all reads come from here.
    """

    name: str
    noise: str
    dose: float
    errors: float
    is_clean: bool
    is_unique: bool


def write(path: str | Path, *, seed: int = 7) -> None:
    """Write the table: tab-separated, a header, 19 columns, 1,140 rows.

    The first 940 rows (panels LODA and LODB, 600 real and 340 noise) are for training, the last 200 (panel LODC, 138
    and 62) for testing; no sample is in both. Equal seeds give equal bytes.

    Args:
        path: the file; an existing file is replaced when the new file is complete.
        seed: the random seed.

    Example:
        >>> write("pn_flag.tsv")
        >>> open("pn_flag.tsv").readline().split()[:6]
        ['Sample', 'Panel', 'Dilution', 'Locus', 'PN_flag', 'Expected_Frequency']
    """
    with files.atomic_file(path) as temporary, open(temporary, "w", encoding="utf-8", newline="") as file:
        table = csv.writer(file, delimiter="\t", lineterminator="\n")
        table.writerow(COLUMNS)
        table.writerows(_rows(random.Random(seed)))


def _rows(chance: random.Random) -> Iterator[list[str]]:
    loci = _loci(chance)
    number = 100
    for run, counts in RUNS.items():
        names = [name for name, count in counts.items() for _ in range(count)]
        chance.shuffle(names)
        for first in range(0, len(names), ROWS_PER_SAMPLE):
            number += 1
            dilution = chance.choice(list(DILUTIONS))
            has_families = chance.random() < 0.95  # in others, copies of a molecule cannot be recognized
            free = list(loci)
            for name in names[first : first + ROWS_PER_SAMPLE]:
                locus = chance.choice([locus for locus in free if _happens(name, locus)])
                free.remove(locus)
                identifiers = [f"FG{number}", run, dilution, locus.name]
                numbers = _numbers(chance, name, locus, DILUTIONS[dilution], has_families)
                yield [*identifiers, str(int(KINDS[name].is_real)), *numbers]


def _loci(chance: random.Random) -> list[Locus]:
    """Draw 88 loci: 24 of known variants, 44 ordinary ones without, 10 damaged and 10 repeated ones."""
    loci = []
    for noise, known, others in (("error", 24, 44), ("damage", 2, 8), ("misaligned", 2, 8)):
        for place in range(known + others):
            is_damaged = noise == "damage"
            usual = USUAL_ERRORS * chance.lognormvariate(0, 0.4)
            loci.append(
                Locus(
                    name=f"chr{chance.randint(1, 22)}:{chance.randint(10**6, 5 * 10**7)}",
                    noise=noise,
                    dose=DOSES[place % 2] if place < known else 0.0,
                    errors=chance.uniform(1.2e-3, 4e-3) if is_damaged else usual,
                    is_clean=place % 9 == 4 and not is_damaged,
                    is_unique=place % 9 == 7 and noise != "misaligned",
                )
            )
    return loci


def _happens(kind: str, locus: Locus) -> bool:
    if KINDS[kind].is_real:
        return locus.noise == "error" and (locus.dose > 0) == (kind == "spiked")
    return locus.noise == kind


def _numbers(chance: random.Random, name: str, locus: Locus, level: float, has_families: bool) -> list[str]:
    """Draw the columns NUMBERS; `level` is the frequency of a homozygous variant in the sample."""

    def about(median: float, spread: float) -> float:
        return median * chance.lognormvariate(0, spread)

    def bias(strong: float) -> float:
        if chance.random() < strong:
            return about(40, 0.8)
        return chance.expovariate(1 / 7) if chance.random() < 0.4 else 0.0

    kind = KINDS[name]
    depth = round(about(MEDIAN_DEPTH, DEPTH_SPREAD))
    reads = _reads(chance, name, depth, locus, level)
    is_lost = chance.random() < kind.lost
    by_errors = about(_phred(reads, depth * locus.errors), 0.2)
    by_usual_errors = about(_phred(reads, depth * USUAL_ERRORS), 0.1)
    by_families = about(kind.families * reads, 0.3)
    by_mapping = about(kind.mapping, 0.5)
    scores = (
        SATURATED if locus.is_clean else by_errors,
        SATURATED if by_usual_errors > UNDERFLOW else by_usual_errors,
        by_families if has_families else SATURATED,
        about(kind.quality, 0.5),
        SATURATED if locus.is_unique or is_lost else by_mapping,
    )
    clipped = chance.uniform(0.02, 0.2) if chance.random() < 0.08 else 0.0
    return [
        f"{level * locus.dose:g}",
        f"{reads / depth:.6f}",
        str(reads),
        *(f"{min(max(score, MIN_SCORE), SATURATED):.1f}" for score in scores),
        str(chance.randint(1, 3) if chance.random() < kind.in_normal else 0),
        f"{chance.uniform(0.3, 0.9) if is_lost else clipped:.3f}",
        str(chance.randint(1, 3) if chance.random() < kind.conflicts else 0),
        str(chance.randint(1, 2) if chance.random() < kind.indels else 0),
        f"{bias(kind.strand):.1f}",
        f"{bias(kind.position):.1f}",
    ]


def _reads(chance: random.Random, name: str, depth: int, locus: Locus, level: float) -> int:
    frequency = {
        "spiked": level * locus.dose * chance.lognormvariate(0, DILUTION_ERROR),
        "undeclared": level * chance.choice(DOSES),
        "error": chance.uniform(0, 0.006) if chance.random() < 0.4 else 0.0,
        "damage": 0.0,
        "misaligned": chance.choice(list(DILUTIONS.values())) * chance.choice(DOSES),
    }[name]
    while True:
        reads = _binomial(chance, depth, frequency) + _binomial(chance, depth, locus.errors)
        if reads >= (1 if name == "error" else MIN_READS):
            return reads


def _binomial(chance: random.Random, draws: int, success: float) -> int:
    """Sample a binomial number of successes by inversion, which is exact for small numbers."""
    rest, probability, successes = chance.random(), (1 - success) ** draws, 0
    while rest > probability and successes < draws:
        rest -= probability
        probability *= (draws - successes) / (successes + 1) * success / (1 - success)
        successes += 1
    return successes


def _phred(reads: int, mean: float) -> float:
    """Return the Phred score, -10 log10, of the Poisson probability of at least so many reads."""
    term = math.exp(reads * math.log(mean) - mean - math.lgamma(reads + 1))
    tail, count = 0.0, reads
    while count < mean or term > 1e-12 * tail:
        tail += term
        count += 1
        term *= mean / count
    return max(0.0, -10 * math.log10(tail))
