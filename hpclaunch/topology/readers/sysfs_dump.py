"""What capture.sh prints: files of /sys and /proc of a machine that is not this one.

The files are put down again in a temporary folder, so that one reader reads both kinds. The text comes from
elsewhere: only the paths that capture.sh writes are taken, and nothing of them leads out of the folder.
"""

import os
import posixpath
import re
import tempfile
from typing import Any

import msgspec
from msgspec import Struct

from hpclaunch.topology.readers import sysfs
from hpclaunch.topology.readers.text import Line, lines, unread, wrong
from hpclaunch.topology.seen import Origin, Seen

FORMAT = "sysfs capture"
_HEADER = re.compile(r"^# hpclaunch capture (\d{1,4})[ \t]*$", re.MULTILINE)
_ENTRY = re.compile(r"([FL])\t(/(?:sys|proc)(?:/[\w:.,@+-]+)+)\t(.*)", re.ASCII)
_MOST = 50_000  # entries; a machine with 512 CPUs has about 8,000


def looks_like(text: str) -> bool:
    """Whether capture.sh printed this."""
    return _HEADER.search(text) is not None


def read(text: str, file: str) -> Seen:
    """What the files tell. Raises InputError where they do not make a machine."""
    header = _HEADER.search(text)
    if header is None or header.group(1) != "1":
        raise wrong(file, "made by another version of hpclaunch: capture again with `topo discover --script`")
    entries: dict[str, tuple[str, list[str]]] = {}
    left: list[Line] = []
    for line in lines(text, file, comments=False):
        # `lines` puts away tabs' neighbours at the end: an empty value has none.
        match = _ENTRY.fullmatch(line.text) or _ENTRY.fullmatch(line.text + "\t")
        if match is None or ".." in match.group(2).split("/"):
            if line.text.strip() and not line.text.startswith("#"):
                left.append(line)
            continue
        kind, path, value = match.groups()
        entries.setdefault(path, (kind, []))[1].append(value.strip())
    if len(entries) > _MOST:
        raise wrong(file, f"{len(entries):,} files are no capture of one machine")
    with tempfile.TemporaryDirectory(prefix="hpclaunch-") as root:
        try:
            _put_down(root, entries)
        except OSError as error:
            raise wrong(file, f"the paths in it cannot be those of one machine: {error.strerror}") from None
        seen: Seen = _renamed(sysfs.read_live(root), file)
    return msgspec.structs.replace(seen, unread=(*seen.unread, *unread(Origin(file, FORMAT), left)))


def _put_down(root: str, entries: dict[str, tuple[str, list[str]]]) -> None:
    """Files where they really are: below the target of each link above them."""
    links = {path: values[0] for path, (kind, values) in entries.items() if kind == "L"}
    for path, target in links.items():
        if posixpath.normpath(target) == target and target.startswith("/sys/") and target != path:
            os.makedirs(root + target, exist_ok=True)
    for path, target in links.items():
        real = _resolved(path, links)
        if os.path.isdir(root + target) and not os.path.lexists(root + real):
            os.makedirs(os.path.dirname(root + real), exist_ok=True)
            os.symlink(os.path.relpath(root + target, os.path.dirname(root + real)), root + real)
    for path, (kind, values) in entries.items():
        real = root + _resolved(path, links)
        if kind == "F" and not os.path.lexists(real):
            os.makedirs(os.path.dirname(real), exist_ok=True)
            with open(real, "x", encoding="utf-8") as stream:
                stream.write("\n".join(values) + "\n")


def _resolved(path: str, links: dict[str, str]) -> str:
    """The path with the links of the folders above it followed, the longest first; a link once."""
    for _ in range(4):
        above = path.rpartition("/")[0]
        while above and above not in links:
            above = above.rpartition("/")[0]
        if not above or not links[above].startswith("/sys/") or ".." in links[above].split("/"):
            return path
        path = links[above] + path[len(above) :]
    return path


def _renamed(value: Any, file: str) -> Any:
    """The same with every origin in it saying where the capture is, not the temporary folder."""
    if isinstance(value, Origin):
        return Origin(file, FORMAT)
    if isinstance(value, Struct):
        fields = {name: _renamed(getattr(value, name), file) for name in value.__struct_fields__}
        return type(value)(**fields)
    if isinstance(value, tuple):
        return tuple(_renamed(each, file) for each in value)
    return value
