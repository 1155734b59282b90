"""The attention page: one self-contained HTML file with style, script and data, without network requests."""

import html
import re
from importlib import resources

from tfattn.attention.attention_data import AttentionData
from tfattn.attention.payload import encode
from tfattn.errors import ConfigError

# In the order of their dependencies; the page of the server uses the same scripts.
SCRIPTS = (
    "elements",
    "weights",
    "canvas",
    "head_view",
    "model_view",
    "neuron_view",
    "image_view",
    "contributions",
    "views",
)
STYLE = "views.css"
FILES = "tfattn.serving.page"
IMPORT, EXPORT = re.compile(r"^import .*\n", re.MULTILINE), re.compile(r"^export ", re.MULTILINE)
EXPORTED = re.compile(r"^export (?:async )?(?:function|const) (\w+)", re.MULTILINE)
MAX_BYTES = 16 * 2**20
FRAME = "720"  # pixels, the height in a notebook

POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'"

PAGE = """\
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<title>{title}</title>
<style>
{style}</style>
</head>
<body>
<main class="views-page"><h1>{title}</h1><div id="views"></div></main>
<noscript><p>This page requires JavaScript.</p></noscript>
<script type="text/plain" id="data">{data}</script>
<script type="module">
{script}
unpacked(document.getElementById("data").textContent).then((read) => showViews(document.getElementById("views"), read));
</script>
</body>
</html>
"""


def page(data: AttentionData) -> str:
    """Render attention data as a page.

    Raises:
        ConfigError: the page is larger than MAX_BYTES.
    """
    payload = encode(data)
    script = "".join(_plain(source(f"{name}.js")) for name in SCRIPTS)
    title = html.escape(f"Attention of {data.title}")
    text = PAGE.format(title=title, policy=POLICY, style=source(STYLE), data=payload, script=script)
    if len(text) > MAX_BYTES:
        raise ConfigError(
            "the page is too large",
            expected=f"at most {MAX_BYTES / 2**20:.0f} MiB",
            received=f"{len(text) / 2**20:.1f} MiB, of {_sizes(data)}",
            remedy="Use a shorter text, or plot a single layer: --output attention.png --layer 1.",
        )
    return text


def framed(data: AttentionData) -> str:
    """Render attention data as an iframe for notebooks."""
    content = html.escape(page(data), quote=True)
    return (
        f'<iframe srcdoc="{content}" sandbox="allow-scripts" width="100%" height="{FRAME}" style="border:0"></iframe>'
    )


def source(name: str) -> str:
    """Return the text of a script or the style sheet."""
    return resources.files(FILES).joinpath(name).read_text(encoding="utf-8")


def _plain(module: str) -> str:
    """Convert a module to a function scope that returns its exports."""
    names = ", ".join(EXPORTED.findall(module))
    return f"const {{ {names} }} = (() => {{\n{EXPORT.sub('', IMPORT.sub('', module))}return {{ {names} }};\n}})();\n"


def _sizes(data: AttentionData) -> str:
    tokens = " and ".join(f"{len(sequence):,}" for sequence in data.sequences)
    layers, heads, *_ = data.parts[0].weights.shape
    return f"{tokens} tokens, {layers} layers and {heads} heads"
