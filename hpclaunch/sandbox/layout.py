"""Where the parts of a sandbox lie."""

import hashlib
import os
from pathlib import Path

from msgspec import Struct

MARKER = "sandbox.json"


class Layout(Struct, frozen=True):
    """The folders of one sandbox.

    `folder` is the one that the user sees. `run` holds sockets, spool and temporary files: a Unix
    socket's path may have 107 bytes and munged wants every folder above its socket open to all, which a
    home folder rarely is.
    """

    folder: Path
    run: Path

    @property
    def marker(self) -> Path:
        return self.folder / MARKER

    @property
    def site(self) -> Path:
        return self.folder / "site.yaml"

    @property
    def slurm_conf(self) -> Path:
        return self.folder / "etc" / "slurm.conf"

    @property
    def services(self) -> Path:
        return self.folder / "etc" / "services.json"

    @property
    def native(self) -> Path:
        return self.folder / "native"

    def preload(self, number: int) -> Path:
        """The preload library for the nodes of a group."""
        return self.native / f"preload-{number}.so"

    @property
    def machines(self) -> Path:
        """A folder for each node's made-up machine."""
        return self.folder / "machines"

    @property
    def tasks(self) -> Path:
        """A folder for each running task, by its process id."""
        return self.run / "tasks"

    @property
    def log(self) -> Path:
        return self.folder / "log"

    @property
    def affinity(self) -> Path:
        return self.folder / "record" / "affinity.jsonl"

    @property
    def pyxis(self) -> Path:
        return self.folder / "record" / "pyxis.jsonl"

    @property
    def munge_socket(self) -> Path:
        return self.run / "munge.socket"


def at(folder: Path) -> Layout:
    """The layout of the sandbox in this folder; whether there is one is not asked."""
    folder = Path(os.path.abspath(folder))
    short = hashlib.sha256(os.fsencode(folder)).hexdigest()[:10]
    user = os.getuid()
    run = Path(f"/run/hpclaunch-{short}") if user == 0 else Path(f"/tmp/hpclaunch-{user}-{short}")
    return Layout(folder, run)
