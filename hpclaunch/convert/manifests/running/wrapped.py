"""Ranks that a pod starts in a way in which no launcher is read: in the words of a program that nobody told
hpclaunch, by a program that starts torchrun itself, or by a loop that starts its rounds in the background."""

import re
from collections.abc import Iterator, Sequence

from msgspec import Struct

from hpclaunch.convert.manifests.running.shelltext import ShellText
from hpclaunch.convert.programs.beside import that
from hpclaunch.convert.programs.names import BY_MPI, BY_TORCH, FOR_EACH_GPU, STEPS, any_of
from hpclaunch.readback.shell import inside, shfmt, tree
from hpclaunch.readback.shell.errors import ScriptError
from hpclaunch.readback.shell.values import Value, base_name, known
from hpclaunch.values.errors import HpclaunchError

# Of those with several commands the one that starts processes.
_PROGRAMS = tuple({*STEPS, *BY_MPI, *BY_TORCH} - {"accelerate", "colossalai"})
_STARTS = re.compile(
    rf"(?:^|[\s'\"/;&|])({any_of(_PROGRAMS)}|accelerate launch|colossalai run)[\s'\"]+(?:-|\S+\.py\b|\S*\$)"
)
_OF_ITS_OWN = re.compile(rf"(?:\S*/)?({FOR_EACH_GPU})(?:\s|$)")
_ARRAY = re.compile(r"\$\{(\w+)\[[@*]\]\}")
_NO_START = that("says", "looks", "fetches", "files", "copies") | {"apt", "apt-get", "conda", "make"}
_INSTALLS = frozenset(("install", "pip", "add"))
_LOOPS = re.compile(r"\b(?:for|while|until)\b")


def launcher_in(words: Sequence[Value], shell: ShellText | None) -> str:
    """The launcher that stands in words of another program, "" for none."""
    rows = _rows(words, shell)
    found = next(filter(None, (_found(_STARTS, row) for row in rows)), "")
    if found or shell is None:
        return found
    for name in [name for row in rows for word in row[:1] for name in _arrays(word)]:
        filled = re.search(rf"(?:^|[\s;&]){name}\+?=\((?P<words>[^()]*)\)", shell.text)
        if filled is not None and (start := _STARTS.search(" ".join(filled["words"].split()))):
            return start[1]
    return ""


def starts_others(words: Sequence[Value], shell: ShellText | None) -> str:
    """What starts other processes of the run by itself, "" for nothing that is known to."""
    found = next(filter(None, (_found(_OF_ITS_OWN, row) for row in _rows(words, shell))), "")
    return found or (_in_background(shell.text) if shell is not None else "")


def _rows(words: Sequence[Value], shell: ShellText | None) -> list[tuple[Value, ...]]:
    return [unit.words for unit in shell.units if unit.words] if shell is not None else [tuple(words)]


def _found(names: re.Pattern[str], row: Sequence[Value]) -> str:
    texts = [known(word) or "" for word in row]
    if not texts or base_name(row[0]) in _NO_START or not _INSTALLS.isdisjoint(texts):
        return ""
    whole = " ".join(texts)
    found = names.match(whole) if names is _OF_ITS_OWN else names.search(whole)
    return found[1] if found is not None else ""


def _arrays(word: Value) -> Iterator[str]:
    for part in word:
        if (found := _ARRAY.fullmatch(getattr(part, "name", ""))) is not None:
            yield found[1]


def _in_background(text: str) -> str:
    """A program of Python that each round of a loop starts in the background."""
    if "&" not in text or not _LOOPS.search(text):
        return ""
    try:
        file, _ = shfmt.parsed(inside(text), 1)
    except (ScriptError, HpclaunchError):
        return ""
    waiting: list[tuple[object, bool]] = [(file.stmts, False)]
    while waiting:
        node, in_loop = waiting.pop()
        call = node.cmd if isinstance(node, tree.Stmt) and node.background and in_loop else None
        if isinstance(call, tree.CallExpr):
            words = call.args[:1]
            first = "".join(getattr(part, "value", "") for word in words for part in word.parts)
            if re.fullmatch(r"(?:.*/)?python[\d.]*", first):
                return f"{first.rpartition('/')[2]} in the background of a loop"
        if isinstance(node, list | tuple):
            waiting += [(each, in_loop) for each in node]
        elif isinstance(node, Struct):
            inner = in_loop or isinstance(node, tree.ForClause | tree.WhileClause)
            waiting += [(getattr(node, name), inner) for name in node.__struct_fields__]
    return ""
