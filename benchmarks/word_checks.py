"""The quality of English word vectors on small lists: categories of words, and analogies.

The lists are not a public benchmark: `tfattn word-similarity` and `tfattn word-analogies` read public files.
"""

import itertools

import numpy as np

from tfattn.vectors.word_vectors import WordVectors

KINDS = (
    "spring summer autumn winter",
    "breakfast lunch dinner meal supper",
    "north south east west northern southern eastern western",
    "heart lung liver brain kidney bone blood skin muscle",
    "wife husband parents children daughters sons grandfather grandmother",
    "beer wine milk tea juice whisky water",
    "copper steel iron metal aluminium lead zinc nickel tin",
    "oil gas coal petroleum crude gasoline fuel",
    "judge court trial lawyer jury verdict prosecutor attorney",
    "novel poem poet author writer book story literature",
    "sheep cattle pigs wool lamb beef livestock",
    "football cricket rugby tennis golf baseball hockey",
    "doctor hospital patient disease medicine treatment nurse",
    "river lake sea ocean bay creek stream",
    "mountain hill valley cliff peak slope",
    "door window roof wall floor ceiling room kitchen",
    "shirt coat hat dress shoes trousers jacket",
    "angry sad afraid happy glad proud ashamed",
    "hundred thousand million billion dozen",
    "minister secretary chairman president director chief governor",
    "anger fear love hate joy grief",
    "physics chemistry biology mathematics science astronomy",
    "soldier sailor pilot officer captain general colonel sergeant",
    "monetary fiscal inflation deficit budget economy",
)
ANALOGIES = (
    "sweden swedish norway norwegian denmark danish poland polish ireland irish israel israeli iraq iraqi greece greek "
    "netherlands dutch argentina argentine",
    "child children man men woman women foot feet tooth teeth mouse mice",
    "nation nations city cities song songs law laws party parties letter letters group groups church churches",
    "play played work worked want wanted call called use used turn turned move moved live lived",
    "speak spoke break broke choose chose drive drove eat ate fall fell grow grew win won",
    "hot hotter cold colder wide wider deep deeper fast faster cheap cheaper close closer hard harder",
    "possible impossible known unknown certain uncertain able unable happy unhappy usual unusual",
    "teach teacher farm farmer write writer work worker play player lead leader sing singer",
    "nice nicely easy easily careful carefully final finally direct directly equal equally near nearly",
    "large largest high highest low lowest great greatest strong strongest young youngest old oldest",
)


def mean_average_precision(vectors: WordVectors) -> float:
    """Rank all words by their cosine to a word, and average the precision at the ranks of the words of its category."""
    found = []
    for kind in KINDS:
        words = [word for word in kind.split() if word in vectors]
        for word in words:
            ranked = [neighbor.word in words for neighbor in vectors.neighbors(word, k=1000)]
            precision = np.cumsum(ranked) / np.arange(1, len(ranked) + 1)
            found.append(float((precision * ranked).sum() / (len(words) - 1)))
    return float(np.mean(found))


def analogy_accuracy(vectors: WordVectors) -> float:
    """Compute the fraction of analogies a : b = c : ? with a correct top answer."""
    right = []
    for line in ANALOGIES:
        words = line.split()
        pairs = [pair for pair in zip(words[::2], words[1::2], strict=True) if all(word in vectors for word in pair)]
        for (a, b), (c, d) in itertools.permutations(pairs, 2):
            right.append(vectors.analogy([b, c], [a], k=1)[0].word == d)
    return float(np.mean(right))
