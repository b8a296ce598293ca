"""How a container image is named: Docker's reference in the job file, Enroot's form under Pyxis.

Enroot 3 takes a first component for a registry only when `#` follows it (enroot doc/cmd/import.md), so
nvcr.io/nvidia/mxnet:21.09-py3 becomes nvcr.io#nvidia/mxnet:21.09-py3. Pyxis takes what begins with `/` or
`.` for a squashfs file (pyxis enroot.c).
"""

import os.path
import re

from hpclaunch.spec.scalars import shown
from hpclaunch.values.errors import InputError, Problem
from hpclaunch.values.image import is_file

_REFERENCE = re.compile(
    r"(?:[A-Za-z0-9._-]+@)?(?:[A-Za-z0-9.:_-]+\#)?"  # Enroot's own user@ and registry#
    r"[a-z0-9][a-z0-9._/-]*(?::[0-9]+/[a-z0-9._/-]+)?"
    r"(?::[A-Za-z0-9_][A-Za-z0-9_.-]{0,127})?(?:@sha256:[0-9a-f]{64})?"
)


def is_reference(text: str) -> bool:
    """Whether the text, without a scheme, is one of Docker's references or Enroot's."""
    return _REFERENCE.fullmatch(text) is not None


def pyxis_form(image: str, directory: str) -> str:
    """The value of --container-image. `directory` is where relative paths start from.

    Raises InputError for what Pyxis does not take.
    """
    scheme, separator, rest = image.partition("://")
    if not separator:
        scheme, rest = "", image
    if scheme not in ("", "docker", "dockerd"):
        advice = "export it to a .sqsh file with `enroot import`, or name a registry's image"
        _refuse(f"{scheme}:// images are not taken by Pyxis (it knows docker:// and dockerd://); {advice}")
    if not scheme and is_file(rest):
        return os.path.normpath(os.path.join(directory, rest))
    if not is_reference(rest):
        _refuse(f"{shown(image)} is no reference like nvcr.io/nvidia/pytorch:24.07-py3 and no .sqsh file")
    first, slash, path = rest.partition("/")
    if slash and "#" not in rest and ("." in first or ":" in first or first == "localhost"):
        rest = f"{first}#{path}"
    return f"dockerd://{rest}" if scheme == "dockerd" else rest


def _refuse(message: str) -> None:
    raise InputError([Problem(message, "job", ("image",))])
