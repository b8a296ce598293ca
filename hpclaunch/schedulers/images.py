"""Images in a folder that all nodes of a cluster see: imported, listed, removed when nobody needs them."""

import os
import time
from collections.abc import Iterable, Sequence
from datetime import datetime

import msgspec
from msgspec import Struct

from hpclaunch.records.record import Record
from hpclaunch.schedulers import lifecycle
from hpclaunch.schedulers.contract import Warn
from hpclaunch.schedulers.slurm_commands import QUERY_S, Commands

_IMPORT_MINUTES = 120
_QUEUE_S = 600.0
_SHELL = ("/bin/sh", "-c")
# Where Enroot's credentials are, and by which proxy a registry is reached.
_INHERITED = (
    "ENROOT_CONFIG_PATH",
    "http_proxy",
    "https_proxy",
    "no_proxy",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
)


class Image(Struct, frozen=True):
    """A squashfs file, and what it was imported from. `digest` is the registry's, or "" where neither it nor
    the reference told one: then `sha256` is the file's own. `used` is when somebody last asked for it, in
    seconds since 1970."""

    name: str
    image: str
    digest: str
    sha256: str
    bytes: int
    imported: str
    used: int


class _Said(Struct, frozen=True):
    """What import.sh writes beside a file."""

    image: str
    digest: str
    sha256: str
    imported: str


class Removal(Struct, frozen=True):
    """What became of an image that may go: `removed`, or why it stays."""

    image: Image
    removed: bool
    why: str = ""


class _Container(Struct, frozen=True):
    image: str = ""
    shared: str = ""


class _Common(Struct, frozen=True):
    container: _Container | None = None


class _Plan(Struct, frozen=True):
    """What is read of the plan in a record."""

    common: _Common


class Store:
    """The images of one folder. `text` is that of rank/beside/images.sh; `commands` run where it is seen."""

    def __init__(self, commands: Commands, folder: str, text: str, warn: Warn):
        self.folder = folder
        self._commands = commands
        self._text = text
        self._warn = warn

    def images(self) -> list[Image]:
        """Those that were imported, by name. Raises SchedulerError."""
        found = []
        for line in self._ask("list").splitlines():
            parts = line.split(" ", 3)
            try:
                size, used, name, said = parts
                told = msgspec.json.decode(said, type=_Said)
                found.append(
                    Image(name, told.image, told.digest, told.sha256, int(size), told.imported, int(used))
                )
            except ValueError:  # msgspec's errors are such
                self._warn(f"{parts[2] if len(parts) > 2 else line}: what is noted of it was not understood")
        return sorted(found, key=lambda each: each.name)

    def bring(self, name: str, uri: str, text: str, on_node: Sequence[str] | None) -> None:
        """Imports an image unless it is there. `text` is that of import.sh; `on_node` are options of srun
        for a step on a compute node, None for where the commands run. Raises SchedulerError."""
        script = [*_SHELL, text, "hpclaunch-import", os.path.join(self.folder, name), uri]
        if on_node is not None:
            step = [
                "srun",
                "--job-name=hpclaunch-image",
                "--nodes=1",
                "--ntasks=1",
                f"--time={_IMPORT_MINUTES}",
            ]
            quiet = ["--quit-on-interrupt", "--input=none", "--chdir=/"]
            script = [*step, *quiet, *on_node, *script]
        self._commands.run(script, _IMPORT_MINUTES * 60 + _QUEUE_S, self._variables())

    def prune(
        self, older_s: int, records: Iterable[Record], unread: Sequence[str], dry: bool
    ) -> list[Removal]:
        """Removes images that nobody has used for so long, and tells of each that is old enough. One that a
        job of these records needs that has not ended stays. Where such a job may be in a record that cannot
        be read, of which `unread` tells, all stay. Raises SchedulerError."""
        oldest = int(time.time()) - older_s
        running, ended, in_the_way = self._uses(records)
        in_the_way += unread
        found = []
        for image in self.images():
            if max(image.used, ended.get(image.name, 0)) > oldest:
                continue
            if image.name in running:
                found.append(Removal(image, False, f"job {running[image.name]} uses it"))
            elif in_the_way:
                advice = "its job may need this image. Where it has ended, remove that folder"
                found.append(Removal(image, False, f"{in_the_way[0]}: {advice}"))
            elif dry:
                found.append(Removal(image, False, "it would be removed"))
            else:
                said = self._ask("remove", image.name, str(oldest)).strip()
                found.append(Removal(image, said in ("removed", "gone"), "" if said == "removed" else said))
        return found

    def _ask(self, *words: str) -> str:
        what, *rest = words
        command = [*_SHELL, self._text, "hpclaunch-images", what, self.folder, *rest]
        return self._commands.run(command, QUERY_S)[0]

    def _variables(self) -> dict[str, str]:
        if type(self._commands) is not Commands:  # what this shell has is nothing to a login node
            return {}
        return {name: os.environ[name] for name in _INHERITED if name in os.environ}

    def _uses(self, records: Iterable[Record]) -> tuple[dict[str, str], dict[str, int], list[str]]:
        """Name -> a job that has not ended, and name -> when the last one ended, in seconds since 1970; and
        what is wrong with the plans of others that have not ended."""
        mine: dict[str, tuple[Record, str]] = {}
        damaged: dict[str, tuple[Record, str]] = {}
        for record in records:
            try:
                name = self._name_in(record)
            except (OSError, ValueError) as error:
                damaged[record.tag] = record, f"the plan in {record.folder} cannot be read ({error})"
                continue
            if name:
                mine[record.tag] = record, name
        asked = [record for record, _ in (*mine.values(), *damaged.values())]
        statuses = lifecycle.refresh(asked, self._warn)
        running: dict[str, str] = {}
        ended: dict[str, int] = {}
        for tag, (record, name) in mine.items():
            status = statuses.get(tag)
            if status is None or not status.has_ended:
                running[name] = record.state().job_id or tag if status else tag
            elif status.ended:
                ended[name] = max(ended.get(name, 0), _seconds(status.ended))
        in_the_way = []
        for tag, (_, why) in damaged.items():
            status = statuses.get(tag)
            if status is None or not status.has_ended:
                in_the_way.append(why)
        return running, ended, in_the_way

    def _name_in(self, record: Record) -> str:
        """The name of the file of this folder that the record's job has for its image, "" for none. Raises
        OSError and ValueError where its plan cannot be read."""
        plan = msgspec.json.decode((record.folder / "plan.json").read_bytes(), type=_Plan)
        box = plan.common.container
        path = (box.shared or box.image) if box is not None else ""
        folder, _, name = os.path.normpath(path).rpartition("/")
        return name if path and folder == os.path.normpath(self.folder) else ""


def _seconds(moment: str) -> int:
    try:
        return int(datetime.fromisoformat(moment.replace("Z", "+00:00")).timestamp())
    except ValueError:
        return 0
