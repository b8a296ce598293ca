"""What a job does on nodes beside its ranks, outside any container: POSIX sh texts for `/bin/sh -c`.

host       FOLDER NAME=value... -- =word...: a command in that folder, or / where it is not there
import     FILE URI: the image is imported to that squashfs file, once, whoever else does the same now
images     list FOLDER | remove FOLDER NAME SECONDS: files that were imported so
check      SETTING=VALUE... -- COMMAND...: whether the node is fit for ranks
preflight  CLAIM WANTED SECONDS all|first NODES SRUN-WORD...: runs that on nodes, and prints the good ones
links      CLAIM WANTED SECONDS FLOOR NODES SRUN-WORD...: the same, by an all_reduce over nodes
together   COMMAND...: what measures it, on each of them
keep       NAME: when its standard input ends Pyxis' container of that name is removed from this node
stage-in   SOURCE TARGET NAME...: folders copied to this node, as pods do it (pod/stage_in)
inside     RANK RANKS =word...: for bash, the command where that rank of a running job is
webhook    URL TOKEN: posts JSON from standard input; names of variables may stand for the values
"""

import os.path
from typing import Literal

_FOLDER = os.path.dirname(__file__)
_COPY = os.path.join(os.path.dirname(_FOLDER), "pod", "stage_in", "copy.sh")


def text(
    name: Literal[
        "check",
        "host",
        "images",
        "import",
        "inside",
        "keep",
        "links",
        "preflight",
        "stage-in",
        "together",
        "webhook",
    ],
) -> str:
    """The text of that name."""
    own = _read(os.path.join(_FOLDER, f"{name}.sh"))
    return own + _read(_COPY) if name == "stage-in" else own


def _read(path: str) -> str:
    with open(path, encoding="utf-8") as file:
        return file.read()
