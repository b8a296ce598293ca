"""A command that may start another of the files in a way that is not known: a client of a service, which is
given an image and a text, or a program of the user's own that goes to other hosts."""

import re
from collections.abc import Iterable, Sequence
from os.path import basename

from hpclaunch.values.conversion import Finding, Place

WHY = (
    "it may start another of these files, and is no way of starting one that is known: the image, the "
    "mounts, the variables and the arguments that it gives are not in the job"
)
ADVICE = "where it does, write these in the job file, and give the arguments with --args"
# In the table of the launch, where no line tells a fact.
DOUBT = "what the command says that may start another of these files"
_BY_SHELL = r"\b(?:ba|da|k|z)?sh[ \t]+(?:-\w+[ \t]+)*(?:[^\s;&|\"']*/)?"
_BY_PATH = r"(?:^|[\s;&|(\"'])\./(?:[^\s;&|\"']*/)?"


def lines(findings: Iterable[Finding]) -> Sequence[Place]:
    """Those of such commands."""
    return tuple(dict.fromkeys(place for each in findings if each.why == WHY for place in each.places))


def may_start(written: str, own: str, files: Iterable[str]) -> bool:
    """Whether the text of a command has the name of a file that is not its own where a shell would start it:
    behind `bash`, or with `./` in front."""
    names = {basename(each) for each in files} - {basename(own)}
    found = [re.escape(each) for each in sorted(names, key=len, reverse=True) if each and each in written]
    if not found:
        return False
    return re.search(rf"(?:{_BY_SHELL}|{_BY_PATH})(?:{'|'.join(found)})(?![\w-]|\.\w)", written) is not None
