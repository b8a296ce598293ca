"""What an image is called that is imported once for a whole cluster, and what Enroot imports it from.

A reference with a digest is known by that alone, so that one content is one file. A tag may move: its file
has the reference's own hash in its name, and what the tag stood for when it was imported stands beside it
(rank/beside/import.sh).
"""

import hashlib
import re

from hpclaunch.plan import image as images
from hpclaunch.values.errors import InputError, Problem
from hpclaunch.values.image import is_file

# A file's name has at most 255 bytes (NAME_MAX), and the file in the making has a longer one.
_SHOWN = 80
_HASH = 16


def uri(reference: str) -> str:
    """What `enroot import` takes: docker://[USER@][REGISTRY#]IMAGE[:TAG][@DIGEST]. Raises InputError for what
    Pyxis does not take, and for what no node but one could import."""
    if is_file(reference):
        raise InputError([Problem(f"{reference} is a squashfs file already", "job", ("image",))])
    form = images.pyxis_form(reference, "")
    if form.startswith("dockerd://"):
        message = "dockerd:// is an image of one node's Docker, which the others could not import"
        raise InputError([Problem(message, "job", ("image",))])
    return f"docker://{form}"


def file_name(reference: str) -> str:
    """The name of its squashfs file: the same for each way to write one image. Raises as `uri` does."""
    bare = uri(reference).removeprefix("docker://").replace("#", "/", 1)
    name, _, digest = bare.partition("@sha256:") if "@sha256:" in bare else (bare, "", "")
    if digest:
        return f"sha256-{digest}.sqsh"
    if ":" not in name.rpartition("/")[2]:
        bare += ":latest"
    shown = re.sub(r"[^A-Za-z0-9._-]", "+", bare)[-_SHOWN:].lstrip("+.-")
    return f"{shown}-{hashlib.sha256(bare.encode()).hexdigest()[:_HASH]}.sqsh"
