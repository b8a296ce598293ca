"""What srun is told of MPI (--mpi, SLURM_MPI_TYPE) -> `mpi`."""

from hpclaunch.convert.draft import Draft
from hpclaunch.convert.mapping.ranks import rendezvous
from hpclaunch.convert.mapping.slurm.batch import hints
from hpclaunch.convert.mapping.slurm.srun.sruns import Step
from hpclaunch.convert.mapping.words.made import either_of
from hpclaunch.convert.programs import srun
from hpclaunch.convert.programs.layers import Layer, layers
from hpclaunch.convert.reading import ShellReading
from hpclaunch.readback.shell.values import known

NO_WHERE = "no line says it, and so it was the site's own default (MpiDefault of `scontrol show config`)"
_WITHOUT = "srun without --mpi"


def put(reading: ShellReading, run: Step, launcher: Layer | None, draft: Draft) -> None:
    """Put how srun's ranks find each other, by its option or variable; asked for where neither is there, and
    more than one rank may use MPI."""
    each = run.option("mpi")
    of_environment = reading.last("SLURM_MPI_TYPE")
    if each is not None:
        text, places, what = each.text, each.places, each.written
    elif of_environment is not None:
        text, places, what = known(of_environment.value), (of_environment.place,), "SLURM_MPI_TYPE"
    else:
        _no_mpi(reading, run, launcher, draft)
        return
    kind = srun.mpi_kind(text or "")
    if kind not in srun.MPI_KINDS:
        told = either_of(reading, each.value or ()) if each is not None else ""
        draft.ask(("mpi",), f"pmix, pmi2 or none: {told or f'{what} is none of them'}", places, what)
        return
    why = "the site's file says which plugin of Slurm that is" if text != kind else ""
    draft.put(("mpi",), kind, places, what, why=why)


def _no_mpi(reading: ShellReading, run: Step, launcher: Layer | None, draft: Draft) -> None:
    lines = (run.command.place,)
    by_srun = any(layer.program == "srun" for layer in layers(run.command.words))
    torch_alone = launcher is not None or rendezvous.is_used(draft)
    nodes = draft.facts.get(("nodes",))
    alone = run.ranks.nodes == 1 or (run.ranks.nodes is None and (nodes is None or nodes.value == 1))
    single = alone and run.ranks.per_node == 1
    if torch_alone or single:
        started = single and launcher is None  # torchrun is one command, and its processes are the ranks
        why = "one rank needs no MPI" if started else "the ranks find each other by MASTER_ADDR and RANK"
        became = "mpi: none, which is the default"
        what = _WITHOUT if by_srun else "a run without MPI"
        draft.say("assumed", lines, what, became=became, why=why, key="mpi")
        return
    library = hints.library(run)
    if library:
        why = f"the ranks' Intel MPI loads {library}: Slurm's own needs that, and one of PMIx would need pmix"
        draft.put(("mpi",), "pmi2", lines, "I_MPI_PMI_LIBRARY", why=why, kind="assumed")
        return
    why = NO_WHERE if by_srun else run.ranks.doubt or "no line says it"
    fits = hints.of_mpi(reading)
    question = f"pmix, pmi2 or none: {why}; none for ranks that do not use MPI{fits}"
    draft.ask(("mpi",), question, lines, _WITHOUT if by_srun else "the run")
