"""What is exported to the ranks -> `env`, `inherit` and `secrets`.

sbatch and srun hand on the whole environment (--export=ALL, their default): all that the operator's
configuration exports reaches each rank. The tool's ranks get what the job file names.
"""

import re
from collections.abc import Collection, Mapping, Sequence

from msgspec import Struct

from hpclaunch.convert.draft import Draft
from hpclaunch.convert.mapping.environment import (
    demanded,
    of_the_line,
    of_the_node,
    perhaps_exported,
    sourced,
    starting_lines,
    values_not_told,
    without_value,
)
from hpclaunch.convert.mapping.environment.owners import Owner, owner
from hpclaunch.convert.mapping.environment.reached import Handed, reached
from hpclaunch.convert.mapping.ranks import rendezvous
from hpclaunch.convert.mapping.slurm.batch.asked import NODES, READ_BY_SBATCH, TIME
from hpclaunch.convert.mapping.slurm.batch.export import Export
from hpclaunch.convert.mapping.words.texts import line
from hpclaunch.convert.mapping.words.variables import names_in
from hpclaunch.convert.programs.layers import layers
from hpclaunch.convert.programs.slurm_variables import OF_RANK
from hpclaunch.convert.reading import Command, ShellReading
from hpclaunch.convert.secrets.names import is_secret, names_file
from hpclaunch.convert.secrets.values import FROM_SUBMITTER
from hpclaunch.readback.shell.values import Value, known, shown
from hpclaunch.values.conversion import Finding

_OF_THE_ORIGINAL = (
    "a host of the original's, which the job may not have: hpclaunch sets it to the job's first node"
)
_OF_ITSELF = (
    "there each node of several finds itself alone, and no rank of another: hpclaunch sets it to the job's "
    "first node"
)
_HERE = re.compile(r"|localhost|127(?:\.\d+){3}|::1|0\.0\.0\.0")
_HCA = re.compile(r"=?(mlx5_(ib)?\d+(:\d+)?,?)+")
_ALL_GPUS = re.compile(r"\d+(,\d+)*|all")
# What becomes of a variable by whose it is: why, and for those that are left what to do.
_REPLACED: dict[Owner, str] = {
    "srun": "srun takes it for an option of its own; the job's keys say it, and Slurm sets it in each rank",
    "shell": "it is the shell's own",
    "configuration": "it steers the launcher, and the job's own keys say what it does; ranks that read it "
    "find it in env alone",
    "daemons": "srun starts the ranks itself",
    "runtime": "it is for the program that makes the container: the job's own keys say it, or what is told "
    "of that program's options",
}
# The keys of the job that say what a configuration's variables do; where it has none of them, only a program
# that reads the variable knows of it.
_SAID_BY = {
    **dict.fromkeys(NODES, ("nodes",)),
    **dict.fromkeys(TIME, ("time",)),
    "CONT": ("image",),
    "NEXP": ("trials", "count"),
}
_LEFT: dict[Owner, tuple[str, str]] = {
    "sbatch": (
        "only sbatch reads it",
        "see whether the job needs it: it may be an option for sites.NAME.sbatch",
    ),
    "pyxis": (
        "Pyxis takes it for an option of its own from 0.21 on, where srun's own options do not say it",
        "where the run needs it write it in the job file: image, mounts, workdir or container",
    ),
    "enroot": ("Pyxis does not hand it on to Enroot", "ask the site to set it in enroot.conf"),
}
_OF_PMI = ("PMI_", "PMIX_")
# torch/distributed/elastic/agent/server/local_elastic_agent.py sets these in each process, deepspeed's
# launcher/launch.py those of whole jobs; accelerate starts its processes by torch (commands/launch.py).
_OF_LAUNCHER = frozenset(("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE"))
_GIVE_THEIRS = frozenset(
    (
        *("torchrun", "torch.distributed.launch", "deepspeed", "accelerate", "colossalai", "baguarun"),
        *("bagua.distributed.launch", "bagua.distributed.run", "oneflow.distributed.launch"),
    )
)
# What srun takes for an option that a job file has no key for.
_ORDER = (
    "srun puts ranks on the nodes as a file lists them, each node as many as it has lines (srun(1), "
    "--distribution=arbitrary), and a job file has no key for that",
    "see whether each node has `ranks_per_node` of its lines, and where the order matters whether "
    "`locality: unit` does as well",
)
# apptainer(1), "Environment variables".
_ADDS_TO_PATH = re.compile(r"^(?:SINGULARITY|APPTAINER)ENV_(?:PREPEND|APPEND)_PATH$")
_ADDED = (
    "it adds folders to the PATH that the image has, and no key of a job does",
    "let the command begin with it: export PATH=FOLDER:$PATH",
)
_MAY_LACK = (
    "; the script went on where nobody gave it, and such a job is not sent: take it out of secrets there"
)
_PATH_OF_IMAGE = "Pyxis never hands it on: the image has its own"


class Ranks(Struct, frozen=True):
    """What decides which variables the ranks are handed. `export` is what the run's options say of it,
    `options` are variables that gave the run an option, which is told, and `slurm` Slurm's own, which are no
    part of what was exported. `read_inside` are those that a given script of the ranks reads, `trial` and
    `swept` those that `trials` and `sweep` set, `stand_ins` names of the job's for what the script computes.
    `starters` are the programs that start the ranks, of the line and of a text for a shell in it. `gpus` is
    how many a node has; `container`: the ranks are in one, and the script is not."""

    export: Export
    options: Collection[str] = ()
    slurm: Mapping[str, int] = {}
    read_inside: Collection[str] = ()
    trial: str = ""
    swept: Collection[str] = ()
    stand_ins: Mapping[str, str] = {}
    starters: Collection[str] = ()
    gpus: int | None = None
    container: bool = False


def _is_unset(each: Finding, name: str) -> bool:
    """Whether it says that the variable is not set, as nobody gave it."""
    return (each.kind, each.what, each.became) == ("assumed", name, "not set")


def put(reading: ShellReading, command: Command, ranks: Ranks, draft: Draft) -> list[tuple[str, Value]]:
    """Put into the draft what is exported to the command. Returns the variables whose values are known only
    beside the rank: the command's text must set them."""
    later: list[tuple[str, Value]] = []
    to_fill = draft.to_fill_in
    handed = reached(reading, command, ranks.export, draft)
    own = command.place in ranks.export.places  # what its own options give it, a program is to read
    by_option = {name for name, value in ranks.export.given if own and value is not None}
    by_line = [(each.name, each.value) for each in handed if each.name not in by_option]
    of_line = of_the_line.names(reading, command, by_line)
    starting_lines.say(handed, set(reading.used_by(command)) - by_option, draft)
    perhaps = perhaps_exported.names(reading, command)
    starters = (*ranks.starters, *(layer.program for layer in layers(command.words)))
    by_launcher = not _GIVE_THEIRS.isdisjoint(starters)
    of_node = of_the_node.names(command)
    for each in handed:
        name, value, places = each.name, each.value, each.places
        if name in ranks.options or (name in to_fill and each.places[0].file.startswith("--env ")):
            continue
        if name in ranks.slurm and known(value) == str(ranks.slurm[name]):
            continue
        if name == ranks.trial:
            draft.say("replaced", places, name, why="`trials` sets it, another one for each trial")
        elif name in ranks.swept:
            draft.say("replaced", places, name, why="`sweep` sets it, for each point")
        elif name in _OF_LAUNCHER and by_launcher:
            why = "what starts the processes gives each its own, and hpclaunch does so now"
            draft.say("replaced", places, f"{name}={each.short}", why=why)
        elif by_launcher and name in of_node and known(value) is not None:
            later += of_the_node.put(name, value, places, draft)
        elif _is_unused(reading, each):
            why = "no line of the files names it"
            draft.say("without effect", places, f"{name}={each.short}", why=why)
        elif _of_the_launch(reading, each, draft, ranks):
            continue
        elif is_secret(name) and not names_file(name, known(value) or ""):
            why = f"{FROM_SUBMITTER}{_MAY_LACK}" if known(value) == "" else FROM_SUBMITTER
            draft.put(("secrets", draft.count("secrets")), name, places, name, why=why)
            # It is none that nobody gave: the submitter gives it.
            draft.findings[:] = [each for each in draft.findings if not _is_unset(each, name)]
        elif name in of_line and name not in ranks.read_inside:
            why = "the script makes the line of its run of it, and no program is known to read it"
            todo = f"where one does write env.{name}"
            draft.say("assumed", places, name, became="words of the command", why=why, todo=todo)
        elif known(value) is not None:
            _known(each, known(value) or "", draft)
            perhaps_exported.say(reading, perhaps, name, places, draft)
        else:
            in_rounds = {loop.variable for loop in command.loops} - set(ranks.swept)
            if names_in(value) & in_rounds and line([value], ranks.stand_ins).doubt:
                question = f"{name}={each.short} is another one in each round of the loop"
                draft.ask(("env", name), question, places, name)
                found = []
            else:
                found = values_not_told.put(
                    reading,
                    each,
                    command,
                    draft,
                    stand_ins=ranks.stand_ins,
                    gpus=ranks.gpus,
                    in_container=ranks.container,
                )
                later += found
            if found or ("env", name) in draft.facts or draft.lists("inherit", name):
                perhaps_exported.say(reading, perhaps, name, places, draft)
    if by_launcher and draft.number("nodes") != 1:
        of_the_node.say_made(reading, command, draft)
    demanded.put(reading, command, ranks.export, draft)
    without_value.put(reading, command, ranks.export, draft)
    demanded.say_stand_ins(reading, handed, command, draft)
    return [*later, *_set_behind(later, handed, draft)]


def _set_behind(
    later: Sequence[tuple[str, Value]], handed: Sequence[Handed], draft: Draft
) -> list[tuple[str, Value]]:
    """Variables of which another one needs the value that they had before the script gave them theirs: env
    would give them that at once."""
    needed = {name for _, value in later for name in names_in(value)} - {name for name, _ in later}
    found = []
    for each in handed:
        fact = draft.facts.get(("env", each.name))
        if each.name not in needed or each.name in rendezvous.COMPUTED or fact is None or fact.is_open:
            continue
        draft.unsay(("env", each.name))
        del draft.facts["env", each.name]
        why = "another variable is made of the value that it has before, and so the command sets it"
        draft.say(
            "carried",
            each.places,
            each.name,
            became=f"command: export {each.name}={shown(each.value)}",
            why=why,
            key="command",
        )
        found.append((each.name, each.value))
    return found


def _of_the_launch(reading: ShellReading, each: Handed, draft: Draft, ranks: Ranks) -> bool:
    """Whether the variable is about the launch itself; a finding says what became of it."""
    name, text, whose = each.name, known(each.value), owner(each.name)
    if name in READ_BY_SBATCH or (whose == "srun" and each.places[0].file.startswith("--env ")):
        return True  # an option, which has its finding; or a number that Slurm gives
    if whose == "srun" and name.startswith(_OF_PMI):
        why = "Slurm's plugins for PMI-2 and PMIx set it in each rank, where mpi is one of these"
        todo = f"where mpi is none and the program reads it write it under env.{name}"
        draft.say("left", each.places, f"{name}={each.short}", why=why, todo=todo)
        return True
    if whose in _LEFT or name == "SLURM_HOSTFILE":
        why, todo = _LEFT.get(whose, _ORDER)
        what = name if whose == "enroot" else f"{name}={each.short}"
        draft.say("left", each.places, what, why=why, todo=todo)
        return True
    if whose == "runtime" and not ranks.container:
        return False  # what the ranks' own command starts may read it
    if _ADDS_TO_PATH.search(name):
        draft.say("left", each.places, f"{name}={each.short}", why=_ADDED[0], todo=_ADDED[1])
        return True
    if _is_for_a_program(each, draft, ranks):
        return False
    why = _REPLACED.get(whose, "")
    if name == "PATH" and ranks.container:
        why = _PATH_OF_IMAGE
    elif name in ranks.read_inside and whose not in ("srun", "shell"):
        return False
    elif whose == "rendezvous" and (text is None or (name == "WORLD_SIZE" and draft.is_size(text))):
        of_rank = sorted(OF_RANK & names_in(each.value))
        if of_rank and not (
            sourced.by_ranks(reading, each.places[0].file) or of_the_node.is_for_srun(reading)
        ):
            own = f"{' and '.join(of_rank)} {'is' if len(of_rank) == 1 else 'are'} 0"
            why = f"the script's own shell makes it, where {own}, and all ranks got the same"
            draft.say("defect", each.places, f"{name}={each.short}", why=why)
        draft.put(("rendezvous",), "torch", each.places, name, why=rendezvous.SETS_ALL)
        rendezvous.say_other_name(reading, name, each.places, draft)
        return True
    elif name == "MASTER_ADDR" and (is_on_several := _is_of_one(text, draft)) is not None:
        draft.put(("rendezvous",), "torch", each.places, name, why=rendezvous.SETS_ALL)
        why = _OF_ITSELF if is_on_several else _OF_THE_ORIGINAL
    elif whose == "hcas" and _HCA.fullmatch(text or ""):
        why = "hpclaunch sets it on each node, by exact names of the HCAs that the node's GPUs are near to"
    elif whose == "gpus" and _all_of(text, ranks.gpus):
        why = "all of the job's GPUs are visible to each rank, which takes its own by its local rank"
    if why:
        draft.say("replaced", each.places, f"{name}={each.short}", why=why)
    return bool(why)


def _is_of_one(text: str | None, draft: Draft) -> bool | None:
    """Whether an address of the first node is each node's own, which is none for the ranks of several nodes;
    None where it is that of the job's only node."""
    if not _HERE.fullmatch(text or ""):
        return False
    return True if text and (draft.number("nodes") or 1) > 1 else None


def _is_for_a_program(each: Handed, draft: Draft, ranks: Ranks) -> bool:
    """Whether a line gives a variable of a configuration a value that no key of the job has."""
    key = _SAID_BY.get(each.name)
    if key is None or key in draft.facts or each.places[0].file.startswith("--env "):
        return False
    return not (ranks.container and each.name == "CONT")


def _is_unused(reading: ShellReading, each: Handed) -> bool:
    """Whether a variable of a launcher's configuration was given by --env alone, for no line."""
    if not each.places[0].file.startswith("--env ") or owner(each.name) != "configuration":
        return False
    named = re.compile(rf"\b{re.escape(each.name)}\b")
    return not any(named.search(source.text) for source in reading.sources)


def _all_of(text: str | None, gpus: int | None) -> bool:
    if not text or not _ALL_GPUS.fullmatch(text):
        return False
    # Another order than the node's is the one in which ranks take them.
    return text == "all" or (gpus is not None and list(map(int, text.split(","))) == list(range(gpus)))


_NOTES = {
    "NCCL_TOPO_FILE": "a file about one kind of machine: leave it out where the job goes to another",
    "NCCL_IB_HCA": "the job's value replaces the list that hpclaunch would set",
    "UCX_NET_DEVICES": "the job's value replaces the list that hpclaunch would set",
    "OMPI_MCA_btl_openib_if_include": "the job's value replaces the list that hpclaunch would set",
    "NCCL_SOCKET_IFNAME": "the job's value replaces that of the site's file (network.socket_ifname)",
    "GLOO_SOCKET_IFNAME": "the job's value replaces that of the site's file (network.socket_ifname)",
    "CUDA_VISIBLE_DEVICES": "as it was; else ranks see all of the job's GPUs, in the order that `bind` has",
    "CUDA_DEVICE_ORDER": "the job's value replaces PCI_BUS_ID, which the tables of GPUs go by",
}


def _known(each: Handed, text: str, draft: Draft) -> None:
    draft.put(("env", each.name), text, each.places, each.name, why=_NOTES.get(each.name, ""))
