"""Containers that a launcher has another program start, in a text for that: tmux new-session -d "docker run
..."."""

from collections.abc import Sequence

from hpclaunch.convert.draft import Draft
from hpclaunch.convert.mapping.docker.steps import STARTS_IN_TEXT, Started
from hpclaunch.readback.shell.values import program_of
from hpclaunch.values.conversion import Place

_LONGEST = 240  # so that the image is in it


def ask(steps: Sequence[Started], main: Started | None, draft: Draft) -> None:
    """Say them, and ask which container is the run: one that is not read may be it, with another image."""
    places: list[Place] = []
    for step in steps:
        for piece in step.pieces:
            if piece.role == "handed over":
                places.append(step.command.place)
                program = program_of(piece.words)
                why = f"it starts a container by a text for {program}, and those are not read"
                todo = "where that container is the run, or a part of it, write its image, mounts and command"
                draft.say("left", (step.command.place,), _short(piece.text), why=why, todo=todo)
    if places and main is not None:
        question = f"what each rank executes: {main.text}, or what a container executes that is not read"
        draft.unsay(("command",))
        draft.ask(("command",), question, (main.command.place, *dict.fromkeys(places)), main.text)


def _short(text: str) -> str:
    """From where the container is started."""
    found = STARTS_IN_TEXT.search(text)
    text = text[found.start() :] if found else text
    return text if len(text) < _LONGEST else f"{text[: _LONGEST - 3]}..."
