"""What docker gives the command on its standard input: the job's ranks read nothing that the command does not
bring itself."""

from hpclaunch.convert.draft import Draft
from hpclaunch.convert.mapping.docker.steps import Started
from hpclaunch.convert.mapping.words import inputs
from hpclaunch.readback.shell.values import known, shown

_TODO = "name a file in the command, or let a shell read it: sh -c 'program < file'"


def put(main: Started, draft: Draft) -> str:
    """What stands in front of the command, with a |, for it to read; what cannot stand there is said. docker
    gives its own input to a command with -i alone, and mpirun to the first rank alone."""
    command, layer = main.command, main.container
    if (not command.stdin and command.reads is None) or known(command.reads or ()) == "/dev/null":
        return ""
    if command.stdin is not None and command.stdin in main.words:
        return ""  # a shell that reads its text: the command has it as sh -c TEXT
    places = (command.place,)
    what = f"its input: {shown(command.reads)}" if command.reads else "its input, a text in the script"
    if layer is not None and layer.option("interactive") is None:
        draft.say("without effect", places, what, why=f"{layer.program} gives it to nobody without -i")
        return ""
    given = inputs.given(command, main.words, inside=True)
    if main.is_parallel:
        why = "mpirun gives it to the first rank alone, and the job's ranks read nothing from standard input"
        draft.say("left", places, what, why=why, todo=_TODO)
    elif given.doubt:
        why = "ranks read nothing from standard input"
        draft.say("left", places, what, why=why, todo=_TODO)
    else:
        return given.before
    return ""
