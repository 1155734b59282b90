"""The colours of figures and pages, by name: a tone for light screens and paper, and a tone for dark screens."""

TONES = {
    "ink": ("#1f2933", "#e3e8ee"),
    "soft": ("#5f6c7b", "#9fabb8"),
    "line": ("#d9dee4", "#3a444f"),
    "ground": ("#f4f6f8", "#11161b"),
    "paper": ("#ffffff", "#1b2128"),
    "blue": ("#2f6db5", "#74abec"),
    "orange": ("#e08a1e", "#f0a94d"),
    "green": ("#4f8a4b", "#80c07b"),
    "purple": ("#7a5ba6", "#b59be0"),
    "red": ("#c4453c", "#f0837b"),
}
LIGHT = {name: light for name, (light, _) in TONES.items()}
DARK = {name: dark for name, (_, dark) in TONES.items()}

INK, SOFT, LINE, GROUND, PAPER = (LIGHT[name] for name in ("ink", "soft", "line", "ground", "paper"))
SERIES = BLUE, ORANGE, GREEN, PURPLE, RED = tuple(LIGHT[name] for name in ("blue", "orange", "green", "purple", "red"))
