"""Invented candidate variants of low allele frequency, as a laboratory lists them: which are real (PN_flag 1), which noise.

The generative model. Three runs (panels LODA, LODB and LODC) measure samples that hold a mixture of known variants,
diluted to one of four levels. Every sample is sequenced at a panel of 68 loci to a depth that is log-normal around 4500
molecules, and ten of its candidates are listed. The reads of a candidate are binomial around its frequency, and so is
what the errors of its locus add:

    spiked       real: the frequency is the expected one, but for the pipette
    undeclared   real as well, though nobody expected it: the expected frequency is 0
    error        noise: a few reads by the errors of an ordinary locus
    damage       noise: a locus at which bases are damaged, so that many reads err in every sample
    misaligned   noise: reads of a similar place elsewhere in the genome, in any number

Noise may stand at the locus of a known variant too: then the expected frequency is not 0, and the observed one is
whatever it is. Five callers judge each candidate by its reads, depth and locus. All scores are noisy, and 5000 says
"saturated": a caller could not have said anything else, at this locus or for this sample, so that it says nothing about
the candidate. What one caller is blind for another one sees, and the rest is in six columns that are mostly 0. No
column tells real from noise by itself, and no weighted sum of them does; the rows of one sample share its depth and
dilution, and the same loci recur in all samples.
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

# Candidates of each kind in each run. LODA and LODB: 940 rows, 600 of them real; LODC: 200 rows, 138 of them real.
REAL, NOISE = ("spiked", "undeclared"), ("error", "damage", "misaligned")
RUNS = {
    "LODA": {"spiked": 258, "undeclared": 42, "error": 68, "damage": 51, "misaligned": 51},
    "LODB": {"spiked": 258, "undeclared": 42, "error": 68, "damage": 51, "misaligned": 51},
    "LODC": {"spiked": 119, "undeclared": 19, "error": 25, "damage": 18, "misaligned": 19},
}
ROWS_PER_SAMPLE = 10

DILUTIONS = {"D1": 0.011, "D2": 0.008, "D3": 0.0055, "D4": 0.0035}  # the frequency of a homozygous variant
MEDIAN_DEPTH, DEPTH_SPREAD = 4500, 0.25
PIPETTE = 0.1  # relative error of a mixture
FEWEST_READS = 5  # with which a real variant becomes a candidate at all
USUAL_ERRORS = 2e-4  # for each molecule, which one of the callers takes for granted everywhere


@dataclass(frozen=True)
class Locus:
    """A place in the genome.

    Args:
        name: chromosome and position.
        errors: of reads that show another base, the share that no variant explains.
        dose: of the known variant here: 1 homozygous, 0.5 heterozygous, 0 none.
        is_clean: no normal sample ever showed an error here: what is compared with them is beyond all measure.
        is_unique: no other place is similar: reads cannot be better aligned.
        is_damaged, is_repeated: the kind of noise that happens here.
    """

    name: str
    errors: float
    dose: float = 0.0
    is_clean: bool = False
    is_unique: bool = False
    is_damaged: bool = False
    is_repeated: bool = False


@dataclass(frozen=True)
class Sample:
    """A tube that is sequenced; where `has_families` is false, molecules cannot be told apart in its reads."""

    name: str
    run: str
    dilution: str
    has_families: bool


def write(path: str | Path, *, seed: int = 7) -> None:
    """Writes the table: tab-separated, a header, 19 columns, 1,140 rows.

    The first 940 rows (panels LODA and LODB, 600 real and 340 noise) are meant for training, the last 200 (panel LODC,
    138 and 62) for the test; no sample stands in both. Equal seeds write equal bytes.

    Args:
        path: the file to write; an existing one is replaced when the new one is complete.
        seed: what the candidates are drawn with.

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
    panel = _panel(chance)
    number = 101
    for run, counts in RUNS.items():
        kinds = [kind for kind, count in counts.items() for _ in range(count)]
        chance.shuffle(kinds)
        for first in range(0, len(kinds), ROWS_PER_SAMPLE):
            sample = Sample(f"FG{number}", run, chance.choice(list(DILUTIONS)), chance.random() < 0.93)
            number += 1
            free = list(panel)
            for kind in kinds[first : first + ROWS_PER_SAMPLE]:
                locus = chance.choice([locus for locus in free if _happens(kind, locus)])
                free.remove(locus)
                yield [sample.name, run, sample.dilution, locus.name, str(int(kind in REAL)), *_numbers(chance, kind, sample, locus)]


def _panel(chance: random.Random) -> list[Locus]:
    """68 loci: 30 of known variants, 10 damaged and 10 repeated ones (some of known variants), 18 others."""
    dose = [1.0, 0.5] * 15 + [1.0, 0.0, 0.0, 0.5, 0.0] * 4 + [0.0] * 18
    panel = []
    for place, known in enumerate(dose):
        is_damaged, is_repeated = 30 <= place < 40, 40 <= place < 50
        panel.append(
            Locus(
                name=f"chr{chance.randint(1, 22)}:{chance.randint(10**6, 10**8)}",
                errors=chance.uniform(1.2e-3, 4e-3) if is_damaged else USUAL_ERRORS * chance.lognormvariate(0, 0.4),
                dose=known,
                is_clean=not is_damaged and chance.random() < 0.2,
                is_unique=chance.random() < 0.2,
                is_damaged=is_damaged,
                is_repeated=is_repeated,
            )
        )
    return panel


def _happens(kind: str, locus: Locus) -> bool:
    if kind in ("damage", "misaligned"):
        return locus.is_damaged if kind == "damage" else locus.is_repeated
    if locus.is_damaged or locus.is_repeated:
        return False
    return kind == "error" or (locus.dose > 0) == (kind == "spiked")


def _numbers(chance: random.Random, kind: str, sample: Sample, locus: Locus) -> list[str]:
    depth = round(MEDIAN_DEPTH * chance.lognormvariate(0, DEPTH_SPREAD))
    expected = DILUTIONS[sample.dilution] * locus.dose
    reads = _reads(chance, kind, depth, sample, locus)
    spoiled = kind == "misaligned"
    blurred = lambda value, spread: value * chance.lognormvariate(0, spread)
    # What a caller makes of the reads, by kind.
    polishing = SATURATED if locus.is_clean else blurred(_surprise(reads, depth * locus.errors), 0.2)
    poisson = blurred(_surprise(reads, depth * USUAL_ERRORS), 0.1)
    families = blurred({"error": 1.2, "damage": 5.0}.get(kind, 6.0) * reads, 0.3) if sample.has_families else SATURATED
    quality = blurred({"error": 30, "damage": 150}.get(kind, 250), 0.6)
    unseen = spoiled and chance.random() < 0.3  # the place that the reads came from is not in the reference
    mapping = SATURATED if unseen or (locus.is_unique and not spoiled) else blurred(9 if spoiled else 250, 0.6)
    # What is mostly 0.
    normal = _poisson_like(chance, 1.5) if kind == "damage" and chance.random() < 0.3 else int(chance.random() < 0.04)
    clipped = chance.uniform(0.3, 0.9) if unseen else chance.uniform(0.02, 0.2) * (chance.random() < 0.08)
    conflicts = int(chance.random() < (0.25 if kind == "error" else 0.04)) * chance.randint(1, 3)
    indels = int(chance.random() < (0.2 if spoiled else 0.06)) * chance.randint(1, 2)
    strand = blurred(40, 0.8) if kind == "damage" and chance.random() < 0.7 else chance.expovariate(0.15) * (chance.random() < 0.4)
    position = blurred(40, 0.8) if spoiled and chance.random() < 0.7 else chance.expovariate(0.15) * (chance.random() < 0.4)
    scores = (polishing, poisson if poisson < 600 else SATURATED, families, quality, mapping)
    return [
        f"{expected:g}",
        f"{reads / depth:.6f}",
        str(reads),
        *(f"{min(max(score, 0.1), SATURATED):.1f}" for score in scores),
        str(normal),
        f"{clipped:.3f}",
        str(conflicts),
        str(indels),
        f"{strand:.1f}",
        f"{position:.1f}",
    ]


def _reads(chance: random.Random, kind: str, depth: int, sample: Sample, locus: Locus) -> int:
    frequency = 0.0
    if kind in REAL:
        dose = locus.dose or chance.choice([0.5, 1.0])
        frequency = DILUTIONS[sample.dilution] * dose * chance.lognormvariate(0, PIPETTE)
    elif kind == "error":
        frequency = chance.uniform(0, 0.006) if chance.random() < 0.4 else 0.0
    elif kind == "misaligned":
        frequency = chance.choice(list(DILUTIONS.values())) * chance.choice([0.5, 1.0])
    fewest = 1 if kind == "error" else FEWEST_READS
    while True:
        reads = _binomial(chance, depth, frequency) + _binomial(chance, depth, locus.errors)
        if reads >= fewest:
            return reads


def _binomial(chance: random.Random, draws: int, share: float) -> int:
    """By inversion: exact, and the same on every machine."""
    rest, successes = chance.random(), 0
    probability = (1 - share) ** draws
    while rest > probability and successes < draws:
        rest -= probability
        probability *= (draws - successes) / (successes + 1) * share / (1 - share)
        successes += 1
    return successes


def _poisson_like(chance, mean):
    return _binomial(chance, 100, mean / 100)


def _surprise(reads: int, mean: float) -> float:
    """-10 log10 of the probability of at least so many reads, where `mean` are expected (Poisson)."""
    term = math.exp(reads * math.log(mean) - mean - math.lgamma(reads + 1))
    tail, count = 0.0, reads
    while term > 1e-12 * tail or count < mean:
        tail += term
        count += 1
        term *= mean / count
    return max(0.0, -10 * math.log10(tail))
