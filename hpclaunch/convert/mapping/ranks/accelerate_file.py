"""What the file of accelerate's configuration says of nodes and ranks, where it was given.

Keys are those of accelerate/commands/config/config_args.py of 1.15: num_processes counts those of all
num_machines, and an option of the command line counts more than either (_validate_launch_command of
accelerate/commands/launch.py).
"""

import re
from os.path import basename

from hpclaunch.convert.draft import Draft
from hpclaunch.convert.mapping.slurm.numbers.settled import by_role
from hpclaunch.convert.programs.layers import Layer
from hpclaunch.convert.reading import Command, ShellReading
from hpclaunch.readback.shell.values import shown
from hpclaunch.values.conversion import Place

_ROLE = "accelerate"
_NUMBER = re.compile(
    r"^[ \t{]*[\"']?(num_machines|num_processes)[\"']?[ \t]*:[ \t]*[\"']?(\d{1,6})\b", re.MULTILINE
)


def say_default(command: Command, layer: Layer, draft: Draft) -> None:
    """Say of a launch that names no file that accelerate reads the one of `accelerate config`, where the user
    has it, for what the command line does not tell (default_config_file of config_args.py)."""
    exported = {name for name, _ in (*command.environment, *command.prefix)}
    numbers = {"num_machines": "nnodes", "num_processes": "num_processes"}
    missing = [name for name, option in numbers.items() if layer.option(option) is None]
    if missing and layer.option("config_file") is None and "ACCELERATE_CONFIG_FILE" not in exported:
        why = f"where `accelerate config` made a default_config.yaml, that may say {' and '.join(missing)}"
        todo = "where the user had such a file see that the job has what it says"
        draft.say("assumed", (command.place,), "accelerate without --config_file", why=why, todo=todo)


def told(reading: ShellReading, layer: Layer) -> dict[str, tuple[int, Place]] | None:
    """The numbers of the file that --config_file names, each with its line; None where it was not given. It
    is of one machine where it does not say of how many."""
    option = layer.option("config_file")
    if option is None or not option.value:
        return None
    name = basename(shown(option.value))
    for file in by_role(reading).get(_ROLE, ()):
        if basename(file.name) == name:
            found = {"num_machines": (1, Place(file.name))}
            for each in _NUMBER.finditer(file.text):
                line = file.text.count("\n", 0, each.start(1)) + 1
                found[each[1]] = (int(each[2]), Place(file.name, line))
            return found
    return None
