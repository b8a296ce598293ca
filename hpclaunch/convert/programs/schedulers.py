"""Commands of schedulers other than Slurm, and of services that have one: each starts a job, or ranks, of its
own."""

from hpclaunch.convert.programs.layers import length
from hpclaunch.convert.programs.plain import IN_FRONT
from hpclaunch.readback.shell.values import Value, known, program_of

_OF_COMMANDS = {
    **dict.fromkeys(("jsrun", "lrun", "blaunch", "bsub"), "LSF"),
    "aprun": "ALPS (under PBS, Moab or Cobalt)",
    "cobalt-mpiexec": "Cobalt",
    "llsubmit": "LoadLeveler",
    "qrsh": "Grid Engine",
    "qsub": "PBS or Grid Engine",
    "condor_submit": "HTCondor",
    "oarsub": "OAR",
    "mcli": "the MosaicML platform",
}
# Of programs with many commands those that start something: flux-core, doc/man1; beaker-gantry,
# gantry/commands; the beaker of Ai2; sky of SkyPilot, sky/client/cli.
_WITH_COMMANDS = {
    "flux": ("Flux", ("run", "submit", "bulksubmit", "batch", "alloc", "start", "mini")),
    "gantry": ("Beaker (gantry)", ("run",)),
    "beaker": ("Beaker", ("experiment", "session", "job")),
    "sky": ("SkyPilot", ("launch", "exec", "jobs", "spot")),
}
_STARTS = {"experiment": "create", "session": "create", "job": "create", "jobs": "launch", "spot": "launch"}


def scheduler_of(words: tuple[Value, ...]) -> str:
    """Whose command it is, "" for none of these; also where env, time or the like stand before it."""
    while words and program_of(words) in IN_FRONT and (own := length(words)):
        words = words[own:]
    program = program_of(words)
    if program not in _WITH_COMMANDS:
        return _OF_COMMANDS.get(program, "")
    name, starts = _WITH_COMMANDS[program]
    first, second = ([known(word) or "" for word in words[1:3]] + ["", ""])[:2]
    return name if first in starts and _STARTS.get(first, second) == second else ""
