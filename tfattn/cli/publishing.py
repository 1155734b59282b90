"""The command that uploads a model to a hub."""

from pathlib import Path
from typing import Annotated

import typer

from tfattn.cli.models import Folder
from tfattn.errors import ConfigError, nearest

app = typer.Typer()


@app.command()
def push(
    model: Annotated[
        str, typer.Argument(help="An export by its name or folder, or a folder in the format of Hugging Face.")
    ],
    address: Annotated[str, typer.Argument(help="hf://OWNER/NAME, with @BRANCH or /FOLDER if needed.")],
    private: Annotated[bool, typer.Option("--private", help="Create a private repository.")] = False,
    message: Annotated[str, typer.Option("--message", help="The title of the commit.")] = "Upload a tfattn model",
    folder: Folder = Path("saved_models"),
) -> None:
    """Upload an export to a repository of the Hugging Face hub, which is created if needed; prints its address."""
    from tfattn.hub.upload import push

    print(push(_find(model, folder), address, private=private, message=message))


def _find(model: str, folder: Path) -> Path:
    """Return the folder to upload: of an export, its newest version."""
    from tfattn import files

    for path in (Path(model), folder / model):
        if path.is_dir():
            versions = files.numbered(path)
            return versions[max(versions)] if versions else path
    known = sorted(path.name for path in folder.iterdir() if path.is_dir()) if folder.is_dir() else []
    raise ConfigError(
        "there is no such model to upload",
        expected=f"a folder, or an export in {folder}/: {', '.join(known) or 'there are none yet'}",
        received=repr(model),
        remedy=nearest(model, known),
    )
