"""What an image file was made of, where the script itself makes it: `apptainer pull x.sif docker://...`, and
`build` (apptainer(1), "pull" and "build")."""

import re

from hpclaunch.convert.programs.names import SINGULARITIES
from hpclaunch.convert.reading import ShellReading
from hpclaunch.readback.shell.values import known
from hpclaunch.values.conversion import Place

_MOST = 20  # commands that are looked at
_MAKES = ("pull", "build")
_SOURCE = re.compile(r"docker://(?:[^\s@]+/)?([^\s/:@]+)(?::([^\s/:@]+))?(?:@\S+)?")
_NAME = ("-n", "--name")


def source(reading: ShellReading, file: str) -> tuple[str, Place] | None:
    """Of the image `file` its docker:// source and the line that says it, None where no line does, or where
    several say another."""
    found = {}
    for command in reading.of(*SINGULARITIES)[:_MOST]:
        words = [known(word) for word in command.words[1:]]
        verb = next((index for index, word in enumerate(words) if word in _MAKES), None)
        told = _SOURCE.fullmatch(words[-1] or "") if verb is not None and len(words) > verb + 1 else None
        if verb is None or told is None or None in words[verb:]:
            continue
        between = [word or "" for word in words[verb + 1 : -1]]
        named = [word for before, word in zip(["", *between], between, strict=False) if before in _NAME]
        its = (named or between or [""])[-1]
        if not its or its.startswith("-"):
            its = f"{told[1]}_{told[2] or 'latest'}.sif"
        if its.rpartition("/")[2] == file.rpartition("/")[2]:
            found[told[0]] = command.place
    return next(iter(found.items())) if len(found) == 1 else None
