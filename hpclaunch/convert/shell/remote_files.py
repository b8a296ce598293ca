"""A script among the sources that ssh or its like starts on hosts: ssh $h "cd DIR && bash FILE WORDS"."""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from hpclaunch.convert.programs import ssh
from hpclaunch.convert.programs.names import SHELLS
from hpclaunch.convert.reading import Loop
from hpclaunch.convert.shell import started_files
from hpclaunch.convert.shell.started_files import Script
from hpclaunch.readback.shell.values import Value, base_name, known, known_parts, shown

if TYPE_CHECKING:
    from hpclaunch.convert.shell.walker import Walker

_WORDS = re.compile(r"\w+")


def of(
    shell: "Walker", words: Sequence[Value], starts: re.Pattern[str]
) -> tuple[Value, Script | None] | None:
    """The text that the hosts are given, or the script; None where neither starts one of the sources that
    `starts` ranks."""
    if not words or base_name(words[0]) not in ssh.TABLES or len(shell.files.sources) < 2:
        return None
    remote = ssh.read(words)[1]
    if len(remote) == 3 and base_name(remote[0]) in SHELLS and known(remote[1]) == "-c":
        return (remote[2], None) if names_one(shell, remote[2], starts) else None
    script = started_files.of(shell, remote)
    is_one = script is not None and script.name and starts.search(known_parts(script.text))
    return ((), script) if is_one else None


def names_one(shell: "Walker", text: Value, starts: re.Pattern[str]) -> bool:
    """Whether a shell or a path starts one of the sources there."""
    its = known_parts(text)
    return any(
        re.search(rf"(?:\b(?:{'|'.join(sorted(SHELLS))})\s+(?:\S*/)?|\./){re.escape(base)}(?![\w.-])", its)
        for name in shell.files.names
        if name != shell.place.file
        and (base := name.rpartition("/")[2])
        and starts.search(shell.files.text(name))
    )


def loops(shell: "Walker", words: Sequence[Value]) -> tuple[Loop, ...]:
    """The loops around it but those that go over its hosts, which are one run."""
    hosts = {
        name
        for value in ssh.read(words)[0].words
        for part in value
        for name in _WORDS.findall(shown((part,)))
    }
    return tuple(
        each
        for each in shell.context.loops
        if not each.hosts and hosts.isdisjoint((each.variable, *_WORDS.findall(each.over)))
    )
