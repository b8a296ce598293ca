"""What a script does when its shell ends or is told a signal: trap of bash."""

from typing import TYPE_CHECKING

from hpclaunch.convert.reading import ENDS, TRAP
from hpclaunch.convert.shell.names import with_names
from hpclaunch.readback.shell.errors import ScriptError
from hpclaunch.readback.shell.state import Variable
from hpclaunch.readback.shell.values import Value, known

if TYPE_CHECKING:
    from hpclaunch.convert.shell.walker import Walker

_LONGEST = 100_000


def note(shell: "Walker", words: list[Value]) -> None:
    """Walk the commands of a trap, those of the script's own end when it comes to that: `at_end`."""
    first = shell.given + len(shell.unnamed)
    text, unknown = with_names(words[1], lambda name: True, first) if len(words) > 2 else ("", {})
    if text in ("", "-") or len(text) > _LONGEST:
        return
    for name, part in unknown.items():
        shell.state.set(name, Variable((part,)))
    shell.unnamed |= unknown
    signals = [known(word) or "" for word in words[2:]]
    with shell.within(function=f"{TRAP} {' '.join(signals)}"):
        commands = shell.parsed(text)
        if ENDS.isdisjoint(signals) or shell.context.shells or shell.children:
            shell.apart(commands)
        else:
            shell.at_the_end.append((commands, shell.line, shell.context))


def at_end(shell: "Walker") -> None:
    """Walk what the script's own shell does when it ends, with the values that variables have then."""
    for commands, line, context in shell.at_the_end:
        shell.line, shell.context = line, context
        try:
            shell.apart(commands)
        except ScriptError as error:
            shell.note(f"a trap of what is no command: {error.message}")
