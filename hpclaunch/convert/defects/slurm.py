"""Variables that Slurm or NCCL reads in another way than the original means."""

import re
from collections.abc import Iterator
from difflib import get_close_matches
from itertools import chain, dropwhile, takewhile

from hpclaunch.convert.defects.search import Parsed
from hpclaunch.convert.mapping.slurm.batch.asked import OF_SBATCH, submitting
from hpclaunch.convert.options import Options
from hpclaunch.convert.programs import srun
from hpclaunch.convert.reading import ShellReading
from hpclaunch.convert.shell.directives import begins_command
from hpclaunch.readback.shell import tree
from hpclaunch.readback.shell.values import Unknown, known
from hpclaunch.values.conversion import Finding, Place

# srun takes these for options of its own (src/srun/opt.c, the table of environment variables).
_OPTIONS = {
    "SLURM_NTASKS": "-n",
    "SLURM_NPROCS": "-n",
    "SLURM_NTASKS_PER_NODE": "--ntasks-per-node",
    "SLURM_NNODES": "-N",
    "SLURM_JOB_NUM_NODES": "-N",
    "SLURM_CPUS_PER_TASK": "-c",
    "SLURM_CPU_BIND": "--cpu-bind",
    "SLURM_MEM_BIND": "--mem-bind",
    "SLURM_DISTRIBUTION": "-m",
    "SLURM_GRES": "--gres",
    "SLURM_MPI_TYPE": "--mpi",
    "SLURM_TIMELIMIT": "-t",
    "SLURM_EXCLUSIVE": "--exclusive",
}

_DIRECTIVE = re.compile(r"#(SBATCH|PBS|MSUB)[ \t]+-")
# Who reads such a line, up to the first command: sbatch(1), and qsub(1) of POSIX, "Option Specification".
_READERS = {"SBATCH": "sbatch", "PBS": "qsub", "MSUB": "msub"}
_COMMENT_WITH_OPTION = re.compile(r"#(\w+)[ \t]+-")
# Word processors and web pages write a dash for the hyphen of an option.
_DASH = re.compile(
    r"#(?:SBATCH|PBS|BSUB|PJM|COBALT|MSUB|OAR)(?:[ \t][^\n]*)?[ \t]([\u2010-\u2015\u2212]+\w[^ \t]*)"
)
_ALIKE = 0.8  # a letter left out, put in, or two that changed places
# The path of the script itself, as its folder or followed to it.
_OWN_FOLDER = re.compile(r"\b(?:dirname|realpath|readlink)\b[^;|&)]*\$(?:0\b|\{0\b|\{?BASH_SOURCE\b)")
_NOT_FOUND = "and this is that folder: what lies beside the script is not found there"
_OF_PBS = (
    f"PBS's daemon on the node runs a copy of the script in a folder of its own, {_NOT_FOUND}",
    "PBS_O_WORKDIR is the folder in which qsub was typed",
)
# Schedulers that run a copy of the script, by their lines, and which folder of theirs is meant. Of PBS it is
# mom_priv/jobs, and of Grid Engine job_scripts of the spool (pbs_mom(8B); sge_execd(8)).
_COPIES = {
    "SBATCH": (
        f"slurmd runs a copy of the script, slurm_script in a folder of its own spool, {_NOT_FOUND}",
        "SLURM_SUBMIT_DIR is the folder in which sbatch was typed, and `scontrol show job $SLURM_JOB_ID` "
        "tells the script's path as Command=",
    ),
    "PBS": _OF_PBS,
    "MSUB": _OF_PBS,
    "$": (
        f"Grid Engine's daemon on the node runs a copy of the script in its spool, {_NOT_FOUND}",
        "SGE_O_WORKDIR is the folder in which qsub was typed",
    ),
}


def find(reading: ShellReading, parsed: list[Parsed], options: Options) -> Iterator[Finding]:
    """Assignments to Slurm's variables, HCAs by prefix, and the folder of a script that sbatch takes."""
    yield from _own_folder(reading)
    yield from _too_late(reading, parsed)
    yield from _misspelt(reading)
    yield from _dashes(reading)
    submits = bool(submitting(reading))
    for assigned in reading.assigned:
        option = _OPTIONS.get(assigned.name)
        if option:
            yield Finding(
                "defect",
                (assigned.place,),
                f"{assigned.name} is assigned",
                why=f"it is Slurm's own variable: every srun without {option} takes it for that "
                "option, whatever the job's size is",
            )
        if assigned.name in OF_SBATCH and assigned.place.file == reading.script and not submits:
            why = "sbatch has read its variables when the script begins: here it changes nothing of the job"
            yield Finding("defect", (assigned.place,), f"{assigned.name} is assigned", why=why)
        if assigned.name == "NCCL_IB_HCA":
            yield from by_prefix(known(assigned.value) or "", assigned.place, options)
    for command in reading.commands:
        for word in command.words:
            text = known(word) or ""
            if text.startswith("NCCL_IB_HCA="):
                value = re.split(r"\s", text.partition("=")[2], maxsplit=1)[0]  # it may be a text for a shell
                yield from by_prefix(value, command.place, options)


def _own_folder(reading: ShellReading) -> Iterator[Finding]:
    """Where a script with lines for a scheduler takes the folder of its own file for that of its program."""
    submitted = {each.place.file: each.system for each in reading.directives if each.system in _COPIES}
    values = chain(
        ((each.place, value) for each in reading.assigned for value in (each.value, *(each.array or ()))),
        ((each.place, word) for each in reading.commands if not each.within for word in each.words),
        ((each.place, each.name) for each in reading.sourced),
    )
    found: dict[str, Place] = {}  # the first line of each: others have it of a variable
    for place, value in values:
        for part in value:
            if isinstance(part, Unknown) and part.kind == "output" and _OWN_FOLDER.search(part.name):
                found.setdefault(part.name, place)
    for written, place in found.items():
        if place.file in submitted:
            why, todo = _COPIES[submitted[place.file]]
            yield Finding("defect", (place,), written, why=why, todo=todo)


def _too_late(reading: ShellReading, parsed: list[Parsed]) -> Iterator[Finding]:
    """#SBATCH lines behind a command of the script, and #PBS lines where others stand before it or no
    scheduler's do, but for those of a text that it hands on."""
    text = next((each for each in parsed if each.source.name == reading.script), None)
    if text is None:
        return
    its = {"SBATCH", *(each.system for each in reading.directives)} if reading.directives else set(_READERS)
    documents = [
        range(node.hdoc.pos.line, node.hdoc.end.line + 1)
        for node in text.nodes
        if isinstance(node, tree.Redirect) and node.hdoc is not None
    ]
    quoted = (tree.SglQuoted, tree.DblQuoted)
    documents += [
        range(node.pos.line + 1, node.end.line + 1) for node in text.nodes if isinstance(node, quoted)
    ]
    handed_on = {number for each in documents for number in each}
    numbered = enumerate(text.source.text.split("\n"), 1)
    behind = dropwhile(lambda row: not begins_command(row[1]), numbered)
    for number, line in behind:
        found = _DIRECTIVE.match(line)
        if found and found[1] in its and number not in handed_on:
            why = (
                f"{_READERS[found[1]]} reads such lines before the first command alone: this one says nothing"
            )
            todo = "where it is meant write it in the job file"
            yield Finding("defect", (Place(reading.script, number),), line.strip(), why=why, todo=todo)


def _head(reading: ShellReading) -> Iterator[tuple[int, str]]:
    """The lines of the script before its first command, which schedulers read."""
    text = next((each.text for each in reading.sources if each.name == reading.script), "")
    return takewhile(lambda row: row[1].strip()[:1] in ("", "#"), enumerate(text.split("\n"), 1))


def _dashes(reading: ShellReading) -> Iterator[Finding]:
    """Words of a line for a scheduler that would be options if they began with a hyphen."""
    for number, line in _head(reading):
        found = _DASH.match(line)
        if found:
            why = f"{found[1]} begins with a dash and not with the hyphen of an option: it is none"
            todo = "where it is meant write it in the job file"
            yield Finding("defect", (Place(reading.script, number),), line.strip(), why=why, todo=todo)


def _misspelt(reading: ShellReading) -> Iterator[Finding]:
    """Comments that are a #SBATCH line but for a letter or two, and so say nothing: sbatch compares the mark
    as it stands (_opt_batch_script in src/sbatch/opt.c)."""
    for number, line in _head(reading):
        word = _COMMENT_WITH_OPTION.match(line)
        if word is None or word[1] == "SBATCH" or _is_command(line):
            continue
        if get_close_matches(word[1].upper(), ["SBATCH"], cutoff=_ALIKE):
            why = f"sbatch reads lines that begin with #SBATCH, and takes #{word[1]} for a comment"
            todo = "where it is meant write it in the job file"
            yield Finding("defect", (Place(reading.script, number),), line.strip(), why=why, todo=todo)


def _is_command(line: str) -> bool:
    """Whether a comment is a call of sbatch, which names a script: it tells people how to submit."""
    words = [(each,) for each in line[1:].partition(" #")[0].split()]
    return words[0] == ("sbatch",) and bool(srun.read(words)[1])


def by_prefix(value: str, place: Place, options: Options) -> Iterator[Finding]:
    """The first name of NCCL_IB_HCA that is the beginning of another HCA's, too."""
    if not value or value.startswith(("=", "^=")):
        return
    names = [part.partition(":")[0] for part in value.lstrip("^").split(",") if part]
    for name in names:
        others = _others(name, names, options)
        if others:
            yield Finding(
                "defect",
                (place,),
                f"NCCL_IB_HCA={value}",
                why=f"without a = in front NCCL takes each name for a prefix: {name} is {others} too",
            )
            return


def _others(name: str, names: list[str], options: Options) -> str:
    """What else begins with this name, for people; "" for nothing that is known."""
    machine = options.node_type
    if machine is not None and machine.variants:
        there = {each for variant in machine.variants.values() for each in variant.names.values()}
        found = sorted(each for each in there if each.startswith(name) and each not in names)
        return f"{', '.join(found)} of a {machine.name}" if found else ""
    if re.search(r"\d\d$|_0$", name):
        return ""  # no machine has a hundred, and none is called mlx5_00
    example = f"{name}_0" if re.fullmatch(r"mlx\d", name) else f"{name}0"
    return f"every HCA whose name begins so, such as {example}"
