"""The inputs as the operator would use them: the configurations are sourced in their order, then the script
runs. Nothing runs here: `Walker` notes the commands, and the values that variables are given."""

from collections.abc import Mapping, Sequence

from hpclaunch.convert.reading import Assigned, ShellReading, Source
from hpclaunch.convert.shell.choose import chosen
from hpclaunch.convert.shell.walker import Walker
from hpclaunch.readback.shell import inside
from hpclaunch.readback.shell.state import Variable
from hpclaunch.values.conversion import Place


def read(
    sources: Sequence[Source], environment: Mapping[str, str], script: str | None = None
) -> ShellReading:
    """Walk the sources. `environment` is what the operator exported beside them, and `script` the name of the
    source that is submitted or run; None: the one that has #SBATCH lines or starts something.

    Raises ScriptError, or InputError with the file, for a text that is no script or too much of one.
    """
    main = chosen(sources) if script is None else script
    walker = Walker(sources)
    for name, text in environment.items():
        value = (inside(text),) if text else ()
        walker.state.set(name, Variable(value, exported=True))
        walker.assigned.append(Assigned(name, (text,) if text else (), Place(f"--env {name}"), exported=True))
    for source in sources:
        if source.name != main:
            walker.walk(source.name)
    if main:
        walker.walk(main)
    return ShellReading(
        tuple(sources),
        main,
        (),
        tuple(walker.commands),
        tuple(walker.assigned),
        tuple(walker.assumed),
        {name: tuple(dict.fromkeys(places)) for name, places in walker.wanted.items()},
        tuple(walker.sourced),
        tuple(walker.statements),
        tuple(walker.unclear),
    )
