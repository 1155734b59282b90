"""The page of views: one HTML file with its style, its script and its data, which asks nothing of any network."""

import html
import re
from importlib import resources

from tfattn.attention.payload import encode
from tfattn.attention.views import Views
from tfattn.errors import ConfigError

# In the order in which one needs the other; the page of a server shows the same.
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
MOST_BYTES = 16 * 2**20
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
<noscript><p>This page needs its script, which it brings along.</p></noscript>
<script type="text/plain" id="data">{data}</script>
<script type="module">
{script}
unpacked(document.getElementById("data").textContent).then((read) => showViews(document.getElementById("views"), read));
</script>
</body>
</html>
"""


def page(views: Views) -> str:
    """Write views as a page.

    Raises:
        ConfigError: the file would be so large that browsers are slow to open it.
    """
    data = encode(views)
    script = "".join(_plain(source(f"{name}.js")) for name in SCRIPTS)
    title = html.escape(f"Attention of {views.title}")
    written = PAGE.format(title=title, policy=POLICY, style=source(STYLE), data=data, script=script)
    if len(written) > MOST_BYTES:
        raise ConfigError(
            "the page would be too large",
            expected=f"at most {MOST_BYTES / 2**20:.0f} MiB",
            received=f"{len(written) / 2**20:.1f} MiB, of {_sizes(views)}",
            remedy="Take a shorter text, or draw one layer of it: --output attention.png --layer 1.",
        )
    return written


def framed(views: Views) -> str:
    """Write views as an element of a notebook, in a frame of its own."""
    content = html.escape(page(views), quote=True)
    return (
        f'<iframe srcdoc="{content}" sandbox="allow-scripts" width="100%" height="{FRAME}" style="border:0"></iframe>'
    )


def source(name: str) -> str:
    """Read a script or the style."""
    return resources.files(FILES).joinpath(name).read_text(encoding="utf-8")


def _plain(module: str) -> str:
    """Turn a module into a part of one script: a block of its own, of which the others see what it exports."""
    names = ", ".join(EXPORTED.findall(module))
    return f"const {{ {names} }} = (() => {{\n{EXPORT.sub('', IMPORT.sub('', module))}return {{ {names} }};\n}})();\n"


def _sizes(views: Views) -> str:
    tokens = " and ".join(f"{len(one):,}" for one in views.sequences)
    layers, heads, *_ = views.parts[0].weights.shape
    return f"{tokens} tokens, {layers} layers and {heads} heads"
