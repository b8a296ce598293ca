"""A script that sbatch is given by name, and that is not among the files: what is asked of it, and the
variables that it gets."""

from hpclaunch.convert.draft import Draft
from hpclaunch.convert.mapping.environment import of_no_run
from hpclaunch.convert.mapping.slurm.batch.allocation import BY_SCRIPT, NO_LIMIT, put_name_of
from hpclaunch.convert.mapping.slurm.numbers.sizes import Allocation
from hpclaunch.convert.programs import srun
from hpclaunch.convert.reading import Command, ShellReading
from hpclaunch.readback.shell.values import known, shown


def submitted(reading: ShellReading) -> Command | None:
    """The last command that submits one."""
    found = (each for each in reversed(reading.of("sbatch", "salloc")) if each.place not in reading.entered)
    return next(found, None)


def put(reading: ShellReading, command: Command, found: Allocation, draft: Draft) -> None:
    """Ask for what it may say, beside what the command tells, and put the variables that this hands on."""
    rest = srun.read(command.words)[1]
    name = shown(rest[0]) if rest else "a script"
    what = command.written or name
    todo = f"convert again with {name if rest else 'it'}"
    may = f"{name} may say it, which is not among the files"
    told = f"{name} is not among the files"
    if not rest and command.program == "salloc":
        name, todo = "the shell that salloc opens", ""
        may = f"what is typed into {name} may say it"
        told = f"it is typed into {name}"
    draft.ask(("command",), f"what each rank executes: {told}", (command.place,), what, todo=todo)
    draft.not_given = name
    if rest and any((each.key, each.why) == ("name", BY_SCRIPT) for each in draft.findings):
        draft.unsay(("name",))
        if known(rest[0]):
            put_name_of(name, (command.place,), draft)
        else:
            why = f"sbatch names a job after its script, {name}, whose name is not told"
            put_name_of(reading.script, (command.place,), draft, why)
    why = "it may say more: an image, mounts, variables, a time limit, and how its ranks are bound"
    draft.say("question", (command.place,), name, why=why, todo=todo)
    draft.findings[:] = [each for each in draft.findings if each.what != NO_LIMIT]
    for key, asked in (
        ("gpus_per_node", "how many GPUs on each node"),
        ("nodes", "how many nodes"),
        ("ranks_per_node", "how many ranks on each node"),
        ("mpi", "pmix, pmi2 or none"),
        ("time", "the time limit"),
    ):
        if (key,) not in draft.facts:
            draft.ask((key,), f"{asked}: {may}", (command.place,), what, todo=todo)
    for each, value in of_no_run.put_to(reading, command, found, draft):
        why = f"its value is {shown(value)}, which is made where the script runs"
        draft.say("left", (command.place,), each, why=why, todo=f"write env.{each}, if the ranks need it")
