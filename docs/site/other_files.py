"""Pages of files that are not Markdown files of docs/: notebooks, the results of benchmarks, and deployment."""

import json
import posixpath
import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

PROJECT = Path(__file__).resolve().parents[2]
# Files outside docs/, with their path in the site.
PAGES = {"benchmarks/RESULTS.md": "results.md", "deploy/README.md": "deployment.md"}
LINK = re.compile(r"(?<!\!)\[(?P<text>[^\]]+)\]\((?P<path>[^)#\s:]+)(?P<anchor>#[^)\s]*)?\)")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages."""
    for path, page in PAGES.items():
        files.append(File.generated(config, page, content=(PROJECT / path).read_text(encoding="utf-8")))
    for file in files.media_files():
        if file.src_uri.endswith(".ipynb"):
            files.append(File.generated(config, _page(f"docs/{file.src_uri}"), content=_notebook(file)))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Change links to project files into links to their pages; of other files, only the text is left."""
    sources = {page: path for path, page in PAGES.items()}
    folder = posixpath.dirname(sources.get(page.file.src_uri, f"docs/{page.file.src_uri}"))

    def replace(link: re.Match) -> str:
        target = _page(posixpath.normpath(posixpath.join(folder, link["path"])))
        if files.get_file_from_path(target) is None and not target.endswith(".md"):
            return link["text"]
        relative = posixpath.relpath(target, posixpath.dirname(page.file.src_uri) or ".")
        return f"[{link['text']}]({relative}{link['anchor'] or ''})"

    return LINK.sub(replace, markdown)


def _page(path: str) -> str:
    """Return the path in the site of the page of a project file."""
    if path in PAGES:
        return PAGES[path]
    path = path.removeprefix("docs/")
    return path.removesuffix(".ipynb") + ".md" if path.endswith(".ipynb") else path


def _notebook(file: File) -> str:
    """Return a notebook as Markdown."""
    cells = json.loads(file.content_string)["cells"]
    texts = [("".join(cell["source"]), cell["cell_type"]) for cell in cells]
    return "\n\n".join(text if kind == "markdown" else f"```python\n{text}\n```" for text, kind in texts) + "\n"
