"""Variables of the script that srun takes for its sizes, where its own options do not say them."""

from hpclaunch.convert.draft import Draft
from hpclaunch.convert.mapping.slurm.asked import of_batch
from hpclaunch.convert.mapping.slurm.sruns import Step
from hpclaunch.convert.reading import ShellReading
from hpclaunch.readback.shell.values import known

# What srun takes for an option of its own: the option, the key of the job, and what is asked of it.
_SIZES = {
    "SLURM_NTASKS": ("ntasks", "ranks_per_node", "how many ranks on each node, and in all"),
    "SLURM_NTASKS_PER_NODE": ("ntasks-per-node", "ranks_per_node", "how many ranks on each node"),
    "SLURM_JOB_NUM_NODES": ("nodes", "nodes", "how many nodes the run has"),
}


def ask(reading: ShellReading, run: Step, draft: Draft) -> None:
    """SLURM_NTASKS of the script is -n of a srun that has none, SLURM_JOB_NUM_NODES its -N, and where nobody
    told sbatch of tasks SLURM_NTASKS_PER_NODE that option (srun(1), "INPUT ENVIRONMENT VARIABLES")."""
    if run.command.program != "srun":
        return
    given = {**dict(run.command.environment), **dict(run.command.prefix)}
    told = {each.name for each in (*run.asked, *of_batch(reading)) if each.name.startswith("ntasks")}
    for name, (option, key, question) in _SIZES.items():
        each = reading.last(name)
        if name not in given or each is None or run.option(option) is not None:
            continue
        if each.place.file.startswith("--env ") or (option == "ntasks-per-node" and told):
            continue
        text = known(given[name])
        is_known = draft.is_size(text) if option == "ntasks" else text == str(draft.number(key) or "")
        if is_known:
            continue
        draft.unsay((key,))
        shows = f"{name}={text or '...'}"
        draft.ask((key,), f"{question}: srun takes {shows} for it", (each.place, run.command.place), shows)
