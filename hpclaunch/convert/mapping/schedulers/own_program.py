"""The program that a script for another scheduler than Slurm starts itself, with no launcher of ranks."""

from hpclaunch.convert.draft import Draft
from hpclaunch.convert.mapping.around import rounds, surroundings
from hpclaunch.convert.mapping.environment import set_again
from hpclaunch.convert.mapping.environment.exported import Ranks
from hpclaunch.convert.mapping.environment.exported import put as put_exported
from hpclaunch.convert.mapping.ranks import launchers, torch_variables
from hpclaunch.convert.mapping.slurm.numbers.sizes import Allocation
from hpclaunch.convert.mapping.slurm.srun import run_command
from hpclaunch.convert.mapping.slurm.starts import alone
from hpclaunch.convert.mapping.words.inputs import Given
from hpclaunch.convert.mapping.words.made import in_doubt
from hpclaunch.convert.programs.layers import Layer
from hpclaunch.convert.programs.torch import starts_per_node
from hpclaunch.convert.reading import Command, ShellReading
from hpclaunch.readback.shell.values import known
from hpclaunch.values.conversion import Place


def put(reading: ShellReading, draft: Draft) -> bool:
    """The command, its folder and variables, and how many ranks a launcher such as torchrun makes of it, as
    far as it is told. A script for any scheduler runs on the first node, as sbatch's does. Returns whether
    there is one."""
    run = alone.step(reading, Allocation())
    if run is None:
        return False
    place = run.command.place
    launcher = next((each for each in run.inner if launchers.is_launcher(each)), None)
    if launcher is None:
        draft.put(("ranks_per_node",), 1, (place,), "one process, as no launcher starts more")
        todo = "where it starts ranks by itself write how many, and what each executes"
        _say_first_node(run.text, place, "what it starts there itself", todo, draft)
    else:
        put_launcher(reading, run.command, launcher, draft)
    rounds.say_rounds(run.command, draft)
    made = in_doubt(reading, [word for command in reading.commands for word in command.words])
    # Of a loop that is no sweep here nobody's shell has the variable.
    made = [*made, *(each.variable for each in run.command.loops if each.variable)]
    stand_ins = dict.fromkeys(made, "")
    export = run_command.export_of(reading, run)
    ranks = Ranks(export, stand_ins=stand_ins, gpus=draft.number("gpus_per_node"))
    later = put_exported(reading, run.command, ranks, draft)
    before = surroundings.put(reading, run.command, draft, image=False)
    words = run_command.words_of(reading, run, run.inner, launcher, draft)
    later += set_again.exports(reading, run.command, before, draft)
    around = run_command.Around(later, before, Given(), stand_ins)
    run_command.put(reading, run, words, around, draft, image=False)
    return True


def put_launcher(reading: ShellReading, command: Command, launcher: Layer, draft: Draft) -> None:
    """What torchrun or the like says of the ranks: those of one node, and the others have none where it does
    not go there by itself."""
    launchers.put_launcher(reading, command, launcher, draft)
    if alone.nodes_of((launcher,), Allocation()) == 1:
        todo = "write `nodes: 1`, unless something else starts it on the others"
        _say_first_node(launcher.program, command.place, "no ranks of it", todo, draft)
    option = starts_per_node(torch_variables.of_command(launcher, command))
    text = known(option.value or ()) if option is not None else None
    if option is not None and text and text.isdecimal() and int(text):
        draft.put(("ranks_per_node",), int(text), (command.place,), option.written)


def _say_first_node(what: str, place: Place, what_they_have: str, todo: str, draft: Draft) -> None:
    nodes = draft.number("nodes") or 1
    if nodes > 1:
        others = (
            f"the other {nodes - 1} have {what_they_have}" if nodes > 2 else f"the other has {what_they_have}"
        )
        why = f"it runs on the first node alone, and {others}"
        draft.say("left", (place,), what, why=why, todo=todo)
