"""Doors that the original leaves open: passwords on command lines, keys that stay behind, hosts that nobody
checks. No finding has a secret in it."""

import re
import shlex
from collections.abc import Iterator
from contextlib import suppress
from itertools import pairwise

from hpclaunch.convert.defects import search
from hpclaunch.convert.defects.search import Parsed
from hpclaunch.convert.options import Options
from hpclaunch.convert.programs.names import DOCKERS, REMOTE, SHELLS, STEPS
from hpclaunch.convert.reading import ShellReading
from hpclaunch.convert.secrets.names import is_secret
from hpclaunch.convert.secrets.texts import lines, values
from hpclaunch.readback.shell import tree
from hpclaunch.readback.shell.values import known
from hpclaunch.values.conversion import Finding, Place

_PASSWORD_OPTION = re.compile(r"--?(password|passwd|pass|token|api[-_]?key|secret)(=.+)?", re.I)
_IN_ADDRESS = re.compile(r"(?<!\w)\w+://[^/\s:@$]+:[^/\s@$]+@")
# What takes a line out of a file, or puts another file in its place.
_REMOVES = re.compile(r"(sed|grep|mv|cp)\b")
_SHORT = {"sshpass": "-p", "curl": "-u", "wget": "--password"}

_ATTACHED = frozenset(("mysql", "mysqldump", "mysqladmin", "mariadb"))  # -pPASSWORD; -p alone asks
_LOGS_IN = frozenset(DOCKERS)
_TAKE_PASSWORDS = _LOGS_IN | _ATTACHED | _SHORT.keys() | {"sudo"}
_BY_INPUT = "sudo gets its password from a file or a pipe, and whoever may read that has it"
_WORD = re.compile(r"[a-z_]{1,6}")  # a kind of token, or a field's name


def find(reading: ShellReading, parsed: list[Parsed], options: Options) -> Iterator[Finding]:
    """Secrets in the text, and keys and hosts that are trusted too far."""
    told: set[tuple[str, int]] = set()
    for each in _on_command_lines(reading, parsed):
        told |= {
            (place.file, line)
            for place in each.places
            for line in range(place.line, max(place.last, place.line) + 1)
        }
        yield each
    for source in (*reading.sources, *reading.beside):
        for line, name in lines(source.text).items():
            if (source.name, line) not in told:
                yield _in_text(Place(source.name, line), name)
    for text in parsed:
        for call in text.calls:
            yield from _ssh(text, call)
        yield from _keys_left(text)


def _in_text(place: Place, name: str) -> Finding:
    return Finding(
        "defect",
        (place,),
        f"a secret stands in the text ({name})",
        why="everybody who can read this file has it, and so has its history",
        todo="change the secret, and take it from a file or a variable that only its owner reads",
    )


def _on_command_lines(reading: ShellReading, parsed: list[Parsed]) -> Iterator[Finding]:
    given = [each for each in reading.arguments or () if each]
    for assigned in reading.assigned:
        if any(each in (known(assigned.value) or "") for each in given):
            continue  # who converts it has typed it, and no line has it
        if is_secret(assigned.name) and values(f"{assigned.name}='{known(assigned.value) or ''}'"):
            yield Finding(
                "defect",
                (assigned.place,),
                f"the value of {assigned.name} stands in the text",
                why="everybody who can read this file has it, and so has its history",
                todo=f"change the secret, and give its name alone: secrets: [{assigned.name}]",
            )
    for each in parsed:
        for call in each.calls:
            yield from _passwords(each, call)


def _passwords(parsed: Parsed, call: tree.CallExpr) -> Iterator[Finding]:
    for words in _commands([search.literal(word) or "" for word in call.args]):
        what, how = _password(words[0].rpartition("/")[2], words[1:])
        if what:
            yield _secret(parsed.place(call), what, how)
            return


def _commands(words: list[str]) -> Iterator[list[str]]:
    """The command, and those that it starts (srun, ssh) or has in a text for a shell (bash -c)."""
    yield words
    if words[0].rpartition("/")[2] not in (*STEPS, *REMOTE, *SHELLS):
        return
    texts = [word for before, word in pairwise(words) if before.startswith("-") and before.endswith("c")]
    if words[0].rpartition("/")[2] in REMOTE:
        texts += [word for word in words[1:] if " " in word]
    for text in texts:
        with suppress(ValueError):
            words = [*words, *shlex.split(text)]
    starts = (at for at, word in enumerate(words) if word.rpartition("/")[2] in _TAKE_PASSWORDS)
    yield from (words[at:] for at in starts)


def _password(name: str, words: list[str]) -> tuple[str, str]:
    """What shows that a password is in a command, and how it is; "" where none is."""
    if name == "sudo" and any(re.fullmatch(r"-[a-zA-Z]*S", word) or word == "--stdin" for word in words):
        return "`sudo -S`", _BY_INPUT
    login = name in _LOGS_IN and "login" in words[:1]
    for index, word in enumerate(words):
        option = _PASSWORD_OPTION.fullmatch(word)
        following = words[index + 1] if index + 1 < len(words) else ""
        value = (option[2] or following) if option else ""
        given = option and (option[2] or (following and not following.startswith("-")))
        if option and option[1].endswith("token") and _WORD.fullmatch(value):
            continue
        attached = _SHORT.get(name) == word[:2] and (word[2:] or following)
        attached = attached or (name in _ATTACHED and word.startswith("-p") and word[2:])
        if given or attached or (login and word.startswith("-p") and (word[2:] or following)):
            if name in _ATTACHED and not option:
                return f"-p of {name}", "a password is on a command line"
            shown = option[1] if option else word[:2].lstrip("-")
            return f"`{name} ... {'--' if option else '-'}{shown}`", "a password is on a command line"
        if _IN_ADDRESS.search(word):
            return f"`{name} ... ://USER:PASSWORD@`", "a password is in an address on a command line"
    return "", ""


def _secret(place: Place, what: str, how: str) -> Finding:
    why = f"{how}: every user of the node can see it with ps, and the text keeps it"
    return Finding(
        "defect",
        (place,),
        what,
        why=how if how == _BY_INPUT else why,
        todo="change the password; credentials belong into Enroot's or Docker's own file, other "
        "secrets under the key `secrets`",
    )


def _ssh(parsed: Parsed, call: tree.CallExpr) -> Iterator[Finding]:
    text = parsed.text(call)
    if re.search(r"StrictHostKeyChecking[= ]no", text):
        yield Finding(
            "defect",
            (parsed.place(call),),
            "`StrictHostKeyChecking=no`",
            why="any machine that answers in the node's place is taken for it",
        )


def _keys_left(parsed: Parsed) -> Iterator[Finding]:
    appends = [
        node
        for node in parsed.nodes
        if isinstance(node, tree.Redirect)
        and node.op == ">>"
        and node.word
        and "authorized_keys" in parsed.text(node.word)
    ]
    befores = (line.rpartition("authorized_keys")[0] for line in parsed.source.text.splitlines())
    removes = any(_REMOVES.search(before) for before in befores)
    if appends and not removes:
        yield Finding(
            "defect",
            tuple(map(parsed.place, appends)),
            "`>> authorized_keys`",
            why="the key of each job stays in ~/.ssh/authorized_keys when the job is gone: whoever "
            "finds its private half can log in",
            todo="look through ~/.ssh/authorized_keys for keys of old jobs, and take them out",
        )
