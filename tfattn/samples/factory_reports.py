"""Synthetic factory failure reports with the columns of MathWorks' factoryReports.csv.

A report is a fault from a small grammar, in a frame with a time, a source, or a statement about what is in order. The
categories share machines, verbs and nouns: power leaks away, programs and rollers hang, sparks spray, items pour, and a
report of a blown fuse may mention a dry floor. So single words do not determine the category.
"""

import csv
import random
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tfattn import files
from tfattn.errors import DataError

COLUMNS = ("Description", "Category", "Urgency", "Resolution", "Cost")

# The number of rows of each category in the real file, of 480.
CATEGORY_COUNTS = {"Mechanical Failure": 204, "Electronic Failure": 168, "Leak": 68, "Software Failure": 40}

# The resolutions of reports, with the urgencies of such reports and their costs.
RESOLUTIONS = {
    "Full Replacement": (("High", "High", "High", "Medium"), range(2700, 16201, 45)),
    "Replace Components": (("High", "High", "Medium", "Low"), range(265, 548)),
    "Readjust Machine": (("High", "Medium", "Medium", "Low"), range(31, 46)),
    "Update Firmware": (("Medium", "Low", "Low", "Low"), range(94, 145)),
    "Add to Watch List": (("Medium", "Low", "Low", "Low"), range(44, 81)),
    "No Action Planned": (("Medium", "Low", "Low", "Low"), range(1)),
}

# The alternatives of each `{word}`, which may contain other words.
WORDS = {
    # words of all categories
    "machine": "assembler|mixer|blender|sorter|scanner|robot arm|conveyor|packer|press|sorting plant|assembly machine",
    "goods": "items|parts|boxes|products|workpieces|trays|materials|bottles",
    "fluid": "coolant|oil|water|cooling liquid|lubricant|hydraulic fluid|refrigerant",
    "of": "of|in|on",
    "slightly": "slightly|a little|more and more|clearly|very",
    "loud": "loud|faint|strange|dull|sharp|constant|nasty|quiet|odd",
    "when": "at start-up|when starting|under full load|during the night shift|since the last service|after an hour|"
    "every morning|when switched on|while running|once in a while|again and again|at times|since yesterday|"
    "for no clear reason|late in the shift|in warm weather|now and then|several times a day|after cleaning",
    "someone": "operator says that|reported again:|noticed on the tour:|it seems that|third time this week:",
    # leaks
    "escapes": "drips|trickles|oozes|seeps|runs|dribbles|spills|streams|flows|leaks|drops|escapes",
    "gushes": "gushes|squirts|spouts|pours|splashes|shoots|sprays|spurts",
    "pool": "puddle|pool|lake|film|trail|wet patch",
    "vessel": "tank|hose|pipe|valve|seal|pump|gasket|reservoir|pipe joint|tube|radiator",
    "is untight": "leaks|leaks badly|leaks slightly|is not tight|lets drops through|is porous|has sprung a leak|weeps|"
    "has burst|is torn open|has come off and {gushes}",
    "wet": "wet|soaked|damp|slippery|flooded|dripping|moist",
    # electricity
    "electric": "circuit board|capacitor|power supply|transformer|relay|plug|cable|socket|wiring|motor coil|inverter|"
    "contactor|charger|terminal|rectifier|battery|switchgear",
    "burnt": "burnt|charred|melted|singed|scorched|shorted|dead|corroded|smoking|glowing|arcing|loose",
    "is burnt": "is {burnt}|is live to the touch|has burnt out|has no contact|makes a spark|overheats|shorts out",
    "fuse": "fuse|breaker|main switch|circuit breaker|motor protection|safety switch",
    "trips": "trips|blows|cuts out|does not hold|has jumped out|needs a reset",
    "dies": "switches itself off|goes dead|loses power|will not turn on|cuts out|stays dark|has no voltage|"
    "powers down|gives electric shocks|smells of burnt plastic|is too hot for a bare hand|makes lamps flicker|"
    "draws too much current",
    "hum": "hum|whine|buzz|crackle|fizzing|hiss",
    # mechanics
    "moving": "gear|bearing|belt|chain|roller|spool|piston|axle|spring|screw|hinge|bracket|guide rail|blade|gripper|"
    "housing|frame|lid|wheel|clamp|shaft|coupling|cover plate|drum|lever",
    "bent": "bent|cracked|worn|twisted|loose|jammed|snapped|split|crooked|dented|blunt|warped|stiff|stuck|chipped|"
    "rusty|broken|wobbly",
    "is bent": "is {bent}|is {slightly} {bent}|has seized|is out of line|comes off|hangs by a thread|slips off|"
    "has too much play",
    "rattles": "rattles|clanks|squeaks|grinds|shakes|knocks|screeches|clatters|creaks|thumps|vibrates|wobbles|judders",
    "banging": "banging|rattle|thud|scraping|knocking|clunk|grinding|squeal|clicking|clatter|thumping|rumble",
    "rams": "crashed into|ran into|bumps against|hits|scrapes along|brushes against|collides with",
    "obstacle": "guard rail|safety fence|wall|neighbouring machine|forklift|pallet|end stop",
    "spill": "get stuck in|fall off|jam|pour over the edge of|slip through a gap in|pile up in|drop out of|bounce off|"
    "topple over in|get caught in|leak out between the rails of|run off the side of|hang crooked in",
    "spoiled": "scratched|bent|dented|crushed|torn|crooked|cracked|broken|squashed|in pieces|out of shape",
    # programs
    "program": "program|software|control software|controller|firmware|application|driver|interface|user menu|"
    "operating system",
    "freezes": "freezes|crashes|hangs|stalls|closes itself|restarts|stops answering|aborts|locks up|loops for ever",
    "refuses": "refuses the password|cannot find the network|loses its settings|drops the connection|leaks memory|"
    "runs out of memory|shows an error message|reports an unknown code|rejects every job|forgets the recipe|"
    "reads the wrong date|does not take the update|floods the log|overwrites its data|cannot reach the server|"
    "shows a blank page|counts {goods} twice in the database",
}


@dataclass(frozen=True)
class Fault:
    """A kind of fault: its category, possible resolutions, and clauses that describe it, one per line."""

    category: str
    resolutions: tuple[str, ...]
    grammar: str

    @property
    def clauses(self) -> list[str]:
        return [line.strip() for line in self.grammar.strip().splitlines()]


FAULTS = (
    Fault("Leak", ("Replace Components", "Full Replacement"), """
        {fluid} {gushes} from the {machine}
        {fluid} {gushes} out of a {vessel} of the {machine}
        the {machine} stands in a {pool} of {fluid}
        the {machine} has lost all its {fluid}"""),
    Fault("Leak", ("Replace Components", "Add to Watch List"), """
        {fluid} {escapes} from the {machine}
        {fluid} {escapes} from a {vessel} of the {machine}
        {fluid} {escapes} down the side of the {machine}
        a {vessel} {of} the {machine} {is untight}
        the {machine} {vessel} {is untight}"""),
    Fault("Leak", ("Add to Watch List", "No Action Planned"), """
        a {pool} of {fluid} spreads below the {machine}
        the floor around the {machine} is {wet}
        the {fluid} level in the {machine} sinks
        somebody slipped on {fluid} near the {machine}"""),
    Fault("Electronic Failure", ("Replace Components", "Full Replacement"), """
        the {fuse} of the {machine} {trips}
        the {machine} trips its {fuse}
        the {electric} {of} the {machine} {is burnt}
        the {machine} {electric} {is burnt}
        {burnt} {electric} in the {machine}
        a burst of sparks {gushes} from the {machine}"""),
    Fault("Electronic Failure", ("Replace Components", "Add to Watch List"), """
        the {machine} {dies}
        the {machine} {dies}
        power leaks away in the {electric} of the {machine}
        smoke {escapes} from the {electric} of the {machine}
        {fluid} got into the {electric} of the {machine} and it {trips}"""),
    Fault("Electronic Failure", ("Add to Watch List",), """
        a {loud} {hum} comes from the {electric} of the {machine}
        a {loud} electric {hum} comes from the {machine}
        voltage drops {of} the {electric} of the {machine}
        the motor of the {machine} gets {slightly} hot"""),
    Fault("Mechanical Failure", ("Readjust Machine", "Replace Components"), """
        {goods} {spill} the {machine}
        {goods} {spill} the {machine}
        {goods} leave the {machine} {spoiled}
        {goods} come {spoiled} out of the {machine}"""),
    Fault("Mechanical Failure", ("Add to Watch List", "No Action Planned"), """
        the {machine} {rattles}
        the {machine} {moving} {rattles}
        a {loud} {banging} comes from the {machine}
        a {loud} {banging} comes from the {moving} of the {machine}"""),
    Fault("Mechanical Failure", ("Replace Components", "Full Replacement", "Readjust Machine"), """
        the {moving} {of} the {machine} {is bent}
        the {machine} {moving} {is bent}
        {bent} {moving} in the {machine}
        the {machine} coolant pump {is bent}
        the {machine} {rams} the {obstacle}"""),
    Fault("Software Failure", ("Update Firmware", "Add to Watch List"), """
        the {program} of the {machine} {freezes}
        the {machine} {program} {freezes}
        the screen of the {machine} {freezes}"""),
    Fault("Software Failure", ("Update Firmware",), """
        the {program} of the {machine} {refuses}
        the {machine} {program} {refuses}
        the {machine} {refuses}"""),
)  # fmt: skip

# Statements about what is in order, by the category that they exclude.
DENIALS = {
    "Leak": "no {fluid} is lost|all hoses are tight|the floor is dry|nothing drips|the {fluid} level is right",
    "Electronic Failure": "the fuses are intact|power is on|no cable is burnt|the motor stays cool|no smoke was seen",
    "Mechanical Failure": "nothing rattles|no part is loose|nothing is stuck|the gears turn freely|no item fell off",
    "Software Failure": "the {program} shows no error|a reboot does not help|the {program} is new|nothing crashed",
}

# A few reports do not describe the fault, so that no classifier can be perfect.
VAGUE = (
    "the {machine} makes trouble|the {machine} has failed|the {machine} does not work as it should|"
    "please look at the {machine}|the {machine} is out of order|the {machine} had to be stopped"
)
VAGUE_FRACTION = 0.02

FRAMES = (
    *["{fault}"] * 16,
    *["{fault} {when}"] * 6,
    "{when}, {fault}",
    "{someone} {fault}",
    "{fault}, but {denial}",
    "{denial}, yet {fault}",
)


def write(path: str | Path, *, seed: int = 7, rows: int = 480) -> None:
    """Write a sample of factory reports as CSV (UTF-8 with a byte order mark, as spreadsheets save it).

    Equal arguments give equal bytes; descriptions repeat only if the grammar has no others.

    Args:
        path: the file; an existing file is replaced when the new file is complete.
        seed: the random seed.
        rows: the number of reports, at least 24, so that the rarest category has two.

    Raises:
        DataError: there are fewer than 24 rows.

    Example:
        >>> write("reports.csv", rows=480)
        >>> open("reports.csv", encoding="utf-8-sig").readline()
        'Description,Category,Urgency,Resolution,Cost\\n'
    """
    if rows < 24:
        raise DataError("too few rows for four categories", where=str(path), expected="24 or more", received=str(rows))
    with files.atomic_file(path) as temporary, open(temporary, "w", encoding="utf-8-sig", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(COLUMNS)
        table.writerows(_reports(random.Random(seed), rows))


def _reports(random_source: random.Random, rows: int) -> Iterator[tuple[str, str, str, str, int]]:
    seen = set()
    for category in _categories(random_source, rows):
        for _ in range(50):
            fault, description = _describe(random_source, category)
            if description.lower() not in seen:
                break
        seen.add(description.lower())
        resolution = random_source.choice(fault.resolutions)
        urgencies, costs = RESOLUTIONS[resolution]
        yield description, category, random_source.choice(urgencies), resolution, random_source.choice(costs)


def _categories(random_source: random.Random, rows: int) -> list[str]:
    """Sample the category of each row, with the frequencies of the real file."""
    whole = sum(CATEGORY_COUNTS.values())
    counts = {category: rows * count // whole for category, count in CATEGORY_COUNTS.items()}
    counts["Mechanical Failure"] += rows - sum(counts.values())
    categories = [category for category, count in counts.items() for _ in range(count)]
    random_source.shuffle(categories)
    return categories


def _describe(random_source: random.Random, category: str) -> tuple[Fault, str]:
    """Sample a fault of a category and its description; some descriptions omit articles or capitals."""
    faults = [fault for fault in FAULTS if fault.category == category]
    fault, clause = random_source.choice([(fault, clause) for fault in faults for clause in fault.clauses])
    other = random_source.choice([name for name in DENIALS if name != category])
    vague = random_source.random() < VAGUE_FRACTION
    rules = {**WORDS, "fault": VAGUE if vague else clause, "denial": DENIALS[other]}
    sentence = _expand(random_source, random_source.choice(FRAMES), rules)
    sentence = re.sub(r"\ba(?= [aeiou])", "an", sentence)
    if random_source.random() < 0.4:
        sentence = re.sub(r"^an? |\bthe ", "", sentence)
    if random_source.random() < 0.9:
        sentence = sentence[0].upper() + sentence[1:]
    return fault, sentence + "."


def _expand(random_source: random.Random, text: str, rules: dict[str, str]) -> str:
    """Replace each `{word}` by an alternative, recursively."""
    while match := re.search(r"\{([\w ]+)\}", text):
        choice = random_source.choice(rules[match[1]].split("|"))
        text = text[: match.start()] + choice + text[match.end() :]
    return text
