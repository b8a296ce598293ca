"""The files that output goes to, and the processes that input comes from."""

import re
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from hpclaunch.convert.reading import Output
from hpclaunch.convert.shell.names import python
from hpclaunch.readback.shell.expand import Expander
from hpclaunch.readback.shell.flow import Flow
from hpclaunch.readback.shell.pieces import Command, Process
from hpclaunch.readback.shell.reads import Input
from hpclaunch.readback.shell.statements import Redirection
from hpclaunch.readback.shell.values import Unknown, Value, known

if TYPE_CHECKING:
    from hpclaunch.convert.shell.walker import Walker

_WRITING = frozenset((">", ">>", ">|", "&>", "&>>", ">&", "<>"))
_DESCRIPTOR = re.compile(r"[0-9]+-?|-")


def outputs(found: Sequence[Redirection], expander: Expander, here: Value) -> tuple[Output, ...]:
    """The files of these redirections, in the folder `here`. `descriptor` is "1", "2" and so on, "&" for
    both."""
    result = []
    for each in found:
        if each.operator not in _WRITING or _process(each):
            continue
        if each.operator == ">&" and _DESCRIPTOR.fullmatch(each.target.written):
            continue
        path = python(expander.value(each.target))
        both = each.operator.startswith("&") or (each.operator == ">&" and not each.descriptor)
        descriptor = "&" if both else each.descriptor or "1"
        result.append(Output(path, each.operator.endswith(">>"), descriptor, folder=here))
    return tuple(result)


def processes(found: Sequence[Redirection]) -> Iterator[str]:
    """The commands within > >( and )."""
    for each in found:
        process = _process(each)
        if process:
            yield process.written[2:-1]


def inputs(found: Sequence[Redirection]) -> list[str]:
    """The commands within < <( and )."""
    return [
        piece.written[2:-1]
        for each in found
        if each.operator == "<" and len(each.target.pieces) == 1
        for piece in each.target.pieces
        if isinstance(piece, Process)
    ]


def _process(redirection: Redirection) -> Process | None:
    pieces = redirection.target.pieces
    first = pieces[0] if len(pieces) == 1 else None
    return first if isinstance(first, Process) and redirection.operator != "<" else None


def with_processes(
    shell: "Walker", found: Sequence[Redirection], way: Callable[[], Flow]
) -> Callable[[], Flow]:
    """A way with the output of <( ) as input, where that is redirected. The process was gone through before,
    as a word of the redirection: what that recorded goes, and it is gone through with the input of the
    command's own shell, once."""
    given = inputs(found)
    if not given:
        return way
    outer, begun = shell.input, len(shell.commands)

    def gone() -> Flow:
        before = shell.input
        if len(given) == 1:
            del shell.commands[begun:]
        shell.input = outer
        text = shell.written_by(Command(shell.parsed(given[-1]), True))
        told = known(text) is not None
        shell.input = Input("a process", text, None if told else (Unknown("output", given[-1]),))
        try:
            return way()
        finally:
            shell.input = before

    return gone
