"""What becomes of an option of sbatch that says nothing about the sizes of a launch."""

import re
from collections.abc import Callable, Iterable
from typing import get_args

from msgspec import structs

from hpclaunch.convert.cores import CORES, MEMORY
from hpclaunch.convert.draft import Draft
from hpclaunch.convert.mapping.around.logs import OF_RECORD
from hpclaunch.convert.mapping.slurm.batch import gpu_binding
from hpclaunch.convert.mapping.slurm.batch.asked import Asked, is_of_many
from hpclaunch.convert.mapping.slurm.batch.export import without_secrets
from hpclaunch.convert.programs.shifter import OF_SBATCH
from hpclaunch.convert.to_fill_in import to_fill_in
from hpclaunch.spec.longrun import SignalName

# About the person and the place: the keys of `sites` by sbatch's options.
HINTS = {
    "account": "account",
    "partition": "partition",
    "qos": "qos",
    "reservation": "reservation",
    "constraint": "constraint",
    "nodelist": "nodelist",
    "exclude": "exclude",
    "mail-user": "mail",
}
_BEFORE_LINES = "they count before the script's own, and may ask for other nodes, ranks, GPUs or time"
GIVE = "give the variable with --env and convert again, or write what it says in the job file"
_WRITE = "write sites.NAME.{}"
_MAILS = frozenset(("END", "FAIL"))
# Those of which each line counts (arg_set_mail_type in Slurm's src/common/slurm_opt.c).
ADDED_UP = frozenset(("mail-type",))
# sbatch ends a word of its directives at a blank, <project id>, and puts no variable into them.
_PLACEHOLDER = re.compile(r"<[^<>]+>|^[{<]$|^\{ ?\w+ ?\}$|^<\w+$")
_VARIABLE = re.compile(r"\$\w|\$\{\w+\}|\$\(")
_TO_SCRIPT = re.compile(r"B:(?:SIG)?(\w+)(?:@\d*)?")
# What the script of a job awaits: it runs its `after` steps then.
_ENDED_BY = frozenset(("TERM", "INT", "HUP", "15", "2", "1"))
_TO_RANKS = re.compile(rf"(?:SIG)?({'|'.join(get_args(SignalName))})(?:@([1-9]\d*))?")
_OF_WHOLE_NODES = 4  # GPUs; with fewer a job most likely has a part of each node
_SHARES = "a job without GPUs takes the cores and the memory that it asks for, and no whole node"
_WHOLE = "a job that takes all GPUs of a node has the node to itself, with all of its memory"
_REPLACED = {
    "mem": MEMORY,
    "mem-per-cpu": MEMORY,
    "mem-per-gpu": MEMORY,
    "overcommit": "ranks are placed by the node type, also where they are more than cores were asked for",
    "cores-per-socket": "the site's node type says what its nodes have",
    "sockets-per-node": "the site's node type says what its nodes have",
    "extra-node-info": "the site's node type says what its nodes have",
    "mincpus": "the site's node type says what its nodes have",
    "cpus-per-task": CORES,
    "cpus-per-gpu": CORES,
    "core-spec": "cores kept for the system are the site's `reserved_cpus`",
    "no-requeue": "jobs are never requeued by themselves",
    "output": OF_RECORD,
    "error": OF_RECORD,
    "open-mode": OF_RECORD,
    "wrap": "its text is read as a script of its own",
    "parsable": "`hpclaunch submit` prints the job's number alone",
    "quiet": "`hpclaunch submit` prints the job's number alone",
    "verbose": "`hpclaunch explain` and `hpclaunch verify` show where ranks are",
    "wait": "`hpclaunch submit --wait` waits, and gives the job's own status",
    "propagate": "limits are the nodes' own (--propagate=NONE), and memlock is checked before ranks start",
    "get-user-env": "ranks get what the job file names, and nothing of a login shell",
    "gres-flags": "placement follows the node type, not Slurm's choice of cores",
    "comment": "hpclaunch marks each submission with its own comment, so that none is lost or sent twice",
    "test-only": "`hpclaunch submit --dry-run` sends nothing",
    "ntasks-per-socket": CORES,
    "ntasks-per-core": CORES,
    "mem-bind": "memory is bound by the node type",
    "cpu-bind": "cores are bound by the node type",
    "oversubscribe": "a job that takes all GPUs of a node has the node to itself",
    "kill-on-bad-exit": "the first rank that fails ends the job, and its status is the job's",
}
# The option of CSCS's container engine: a file with an image and its mounts.
ENVIRONMENT = "environment"
# Each names an image by something that is not read; sbatch hands --container on to srun (SLURM_CONTAINER in
# srun(1), "INPUT ENVIRONMENT VARIABLES").
NAMES_IMAGE = {
    ENVIRONMENT: (
        "names, a file of the site's container engine that is not read",
        "write image, mounts, workdir and env of that file in the job file",
    ),
    "container": (
        "has, an unpacked bundle of OCI: hpclaunch's containers are of Pyxis and Kubernetes",
        "name the image that it was made of, and write mounts, workdir and env of its config.json in the "
        "job file",
    ),
}
# What to do about an array of which nobody makes a sweep.
NO_SWEEP = "write `sweep` in the job file, with what the index chose"
# The job does not say it as it is written, and it cannot be passed on raw.
_LEFT = {
    "clusters": "submit on the cluster itself, or over its login node, by the site",
    "hold": "submit the job when it may start",
    "no-kill": "a job whose node fails ends, and is not started again by itself",
    "uid": "submit as that user",
    "gid": "submit as that group",
}
# Slurm's only, and known to be passed on by `sites.NAME.sbatch`.
_WHY_RAW = {
    "begin": "a job starts when there is room",
    "licenses": "a job file names no licenses",
}


def put(each: Asked, draft: Draft) -> None:
    """Put what the option says into the draft: a hint for the site, SHARP, or a finding about it."""
    name = each.name
    if name in HINTS:
        _hint(each, draft)
    elif name in _SPECIAL:
        _SPECIAL[name](each, draft)
    elif name in _REPLACED:
        draft.say("replaced", each.places, each.written, why=_REPLACED[name])
    elif name == "array":
        leave_array(each, draft)
    elif name in _LEFT:
        draft.say("left", each.places, each.written, why="a job file cannot say it", todo=_LEFT[name])
    elif name in NAMES_IMAGE:
        ask_image(each, draft)
    elif not name and OF_SBATCH.match(each.written):
        why = "an option that Shifter adds to sbatch, for what `shifter` starts"
        draft.say("left", each.places, each.written, why=why, todo="see whether the ranks count on it")
    elif not name and is_of_many(each):
        question = f"which options of sbatch {each.written} stands for is not told: {_BEFORE_LINES}"
        draft.say("question", each.places, each.written, why=question, todo=GIVE)
    elif not name:
        draft.say(
            "unread", each.places, each.written, why="no option of sbatch or Pyxis that is known", todo=""
        )
    elif name.startswith(("container-", "no-container-")):
        why = (
            "on sbatch it puts the whole script into the container, where srun and its plugins may be missing"
        )
        draft.say("replaced", each.places, each.written, why=f"{why}: the ranks alone run in one")
    else:
        raw(each, draft, _WHY_RAW.get(name, "an option of Slurm's that a job file has no key for"))


def _hint(each: Asked, draft: Draft) -> None:
    """About the person or the place: asked for where it is to be filled in, and where it is not told."""
    text = each.text
    if text is None:
        why = "its value is not told"
    elif not text:
        why = "it has no name, which whoever copies the script fills in"
    elif _PLACEHOLDER.search(text) or to_fill_in(text):
        why = "it stands for a name that whoever copies the script fills in"
    elif _VARIABLE.search(text):
        why = "its variable's value is not told"
    else:
        draft.of_user(HINTS[each.name], text, each.places, each.written)
        return
    draft.say("question", each.places, each.written, why=why, todo=_WRITE.format(HINTS[each.name]))


def ask_image(each: Asked, draft: Draft) -> None:
    """The question for the image of such an option."""
    what_it_is, todo = NAMES_IMAGE[each.name]
    question = f"the image that {each.written} {what_it_is}"
    draft.ask(("image",), question, each.places, each.written, todo=todo)


def leave_array(each: Asked, draft: Draft) -> None:
    """Say that the array is not carried."""
    draft.say("left", each.places, each.written, why="a job file has `sweep` for it", todo=NO_SWEEP)


def raw(each: Asked, draft: Draft, why: str, command: str = "sbatch") -> None:
    """An option passed on as it is under `sites`, or where no site is named left with what to do."""
    text = f"--{each.name}" if each.value is None else f"--{each.name}={each.text}"
    if each.text is None or "\n" in text:
        todo = f"add it to sites.NAME.{command} with its value"
        draft.say("left", each.places, each.written, why=f"{why}, and its value is not told", todo=todo)
    elif draft.site:
        count = sum(1 for key in draft.facts if key[:3] == ("sites", draft.site, command))
        draft.put(("sites", draft.site, command, count), text, each.places, each.written, why=why)
    else:
        todo = f"convert again with --site NAME, or add {text!r} to sites.NAME.{command} of the job file"
        draft.say("left", each.places, each.written, why=why, todo=todo)


def _dependency(each: Asked, draft: Draft) -> None:
    """sbatch(1), --dependency: conditions with a , or a ? between them."""
    if (each.text or "").lower() == "singleton":
        why = "it waits for all of your jobs of the same name"
        draft.put(("depends_on", 0), {"when": "singleton"}, each.places, each.written, why=why)
        return
    why = "`depends_on` waits for the job of another job file, and this names a job by its number"
    if draft.site and each.text:
        raw(each, draft, why)
        return
    when = next((name for name in ("afterany", "afterok") if name in (each.text or "").lower()), "afterok")
    todo = (
        f"write depends_on: [{{job: FILE, when: {when}}}] in the job file, with the job file of what it "
        "waits for, and `hpclaunch submit` both"
    )
    if not re.match(r"(?:after(?:ok|any):|singleton)", (each.text or "").lower()):
        todo += "; it knows afterok, afterany and singleton"
    draft.say("left", each.places, each.written, why=why, todo=todo)


def _mail_type(each: Asked, draft: Draft) -> None:
    """`each` comes behind the option that names somebody (`ordered`)."""
    asked = any(finding.todo == _WRITE.format("mail") for finding in draft.findings)
    is_named = asked or ("sites", draft.site, "mail") in draft.facts or "mail" in draft.hints
    types = {text for text in (each.text or "").upper().split(",") if text}
    if types == {"NONE"}:
        why = "without `mail` nobody is written to"
        if is_named:
            why, todo = "with `mail` hpclaunch asks for END and FAIL", "leave mail out of sites.NAME"
            draft.say("left", each.places, each.written, why=why, todo=todo)
        else:
            draft.say("replaced", each.places, each.written, why=why)
    elif not is_named:
        draft.say(
            "left",
            each.places,
            each.written,
            why="it names nobody: Slurm writes to the user who submits",
            todo="write an address under sites.NAME.mail, which gets mail at the end and at a failure",
        )
    elif more := sorted(types - _MAILS):
        raw(
            each,
            draft,
            f"with `mail` hpclaunch asks for END and FAIL, and {', '.join(more)} is more",
        )
    else:
        why = "with `mail` hpclaunch asks for END and FAIL"
        if types and types != _MAILS:
            why += f", and not for {types.pop()} alone"
        draft.say("replaced", each.places, each.written, why=why)


def ordered(asked: Iterable[Asked]) -> list[Asked]:
    """The options, each behind those that it is about: whom mail is for stands before what it is about."""
    return sorted(asked, key=lambda each: each.name == "mail-type")


def _network(each: Asked, draft: Draft) -> None:
    if (each.text or "").lower() == "sharp":
        why = "reductions in the switches; the site's file says how it asks for them"
        draft.put(("fabric", "sharp"), True, each.places, each.written, why=why)
    else:
        raw(each, draft, "a job file asks the network for nothing but SHARP")


def _switches(each: Asked, draft: Draft) -> None:
    count, _, wait = (each.text or "").partition("@")
    if count != "1":
        raw(each, draft, "a job file asks for nodes of one unit, or any")
        return
    why = "nodes of one scalable unit, by the site's own topology"
    draft.put(("locality",), "unit", each.places, each.written, why=why)
    if wait:
        why = "how long to wait for such nodes is the site's max_switch_wait"
        todo = f"write sbatch: [--switches=1@{wait}] under sites.NAME instead of locality where it matters"
        draft.say("left", each.places, f"the wait of {each.written}", why=why, todo=todo)


def _segment(each: Asked, draft: Draft) -> None:
    raw(each, draft, "`locality: unit` may be meant: it asks for nodes of one scalable unit")


def _exclusive(each: Asked, draft: Draft) -> None:
    if each.value is None or each.text == "":
        draft.say("replaced", each.places, each.written, why=_WHOLE)
    else:
        raw(each, draft, f"a job file has no key for it: who may share its nodes ({each.text})")


def say_shared(draft: Draft) -> None:
    """Say of nodes that nobody else was to be on who may be: a job that asks for fewer GPUs than a node has
    takes a part of it. The script itself saw them all (seen in Slurm 22.05: each GRES of such a node is
    allocated, and --gres counts for the steps of srun)."""
    gpus = draft.number("gpus_per_node")
    keeps_off = "`exclusive: true` under `slurm` of the site's file keeps them off"
    if gpus == 0:
        why, todo = _SHARES, f"where others are let onto its nodes {keeps_off}"
    elif gpus is not None and gpus < _OF_WHOLE_NODES:
        why = _WHOLE
        todo = (
            f"where a node has more than {gpus}, others may be there too: {keeps_off}; the script saw all "
            "GPUs of such a node (SLURM_GPUS_ON_NODE, nvidia-smi, what mpirun started beside it), and here "
            f"{gpus} are taken for them"
        )
    else:
        return
    draft.findings[:] = [
        structs.replace(each, why=why, todo=todo) if each.why == _WHOLE else each for each in draft.findings
    ]


def _threads(each: Asked, draft: Draft) -> None:
    if each.text == "1":
        draft.put(("bind", "smt"), False, each.places, each.written, why="one thread of each core")
    else:
        draft.say("replaced", each.places, each.written, why="the site's node type says what its nodes have")


def _hint_option(each: Asked, draft: Draft) -> None:
    if each.text == "nomultithread":
        draft.put(("bind", "smt"), False, each.places, each.written, why="one thread of each core")
    elif each.text in ("multithread", "compute_bound", "memory_bound"):
        draft.say("replaced", each.places, each.written, why=CORES)
    else:
        raw(each, draft, "a hint that only Slurm knows")


def _export(each: Asked, draft: Draft) -> None:
    why = "ranks get what the job file names (env, inherit, secrets), and nothing else of the shell"
    draft.say("replaced", each.places, without_secrets(each.value or (), each.written), why=why)


def _chdir(each: Asked, draft: Draft) -> None:
    draft.say(
        "assumed",
        each.places,
        each.written,
        became=f"the job file is in {each.text or 'that folder'}",
        why="relative paths started there; in a job they start from the job file's folder",
        todo="put the job file there",
    )


def _gpu_bind(each: Asked, draft: Draft) -> None:
    gpu_binding.say(each, draft, free=each.text == "none")


def _distribution(each: Asked, draft: Draft) -> None:
    first = (each.text or "").replace(",", ":").partition(":")[0].lower()
    if first in ("", "*", "block", "pack", "nopack"):
        why = "ranks go over nodes in blocks, and over cores by the node type"
        draft.say("replaced", each.places, each.written, why=why)
    else:
        draft.say(
            "left",
            each.places,
            each.written,
            why="ranks go over nodes in blocks: rank 0 to N-1 on the first node",
            todo="where the program counts on another order, let it take RANK from its own arguments",
        )


def _requeue(each: Asked, draft: Draft) -> None:
    draft.put(("requeue",), True, each.places, each.written, why="Slurm may start the job again")


def _signal(each: Asked, draft: Draft) -> None:
    """Without a time Slurm takes 60 seconds (get_signal_opts in its src/common/proc_args.c)."""
    found = _TO_RANKS.fullmatch((each.text or "").upper())
    of_script = _TO_SCRIPT.fullmatch((each.text or "").upper())
    if of_script is not None and of_script[1] not in _ENDED_BY:
        why = "the script that hpclaunch writes ends by a signal that it does not await, and so would the job"
        todo = (
            "write signal: {name: ..., before: ...} in the job file, which goes to the ranks, and do there "
            "what the script did; what goes on behind the time limit is a chain"
        )
        draft.say("left", each.places, each.written, why=why, todo=todo)
        return
    if found is None:
        raw(each, draft, "`signal` sends one to the ranks, and not to the script")
        return
    value = {"name": found[1], "before": f"{found[2] or 60}s"}
    draft.put(("signal",), value, each.places, each.written, why="the ranks get it before the time limit")


_SPECIAL: dict[str, Callable[[Asked, Draft], None]] = {
    "dependency": _dependency,
    "mail-type": _mail_type,
    "requeue": _requeue,
    "signal": _signal,
    "network": _network,
    "switches": _switches,
    "segment": _segment,
    "exclusive": _exclusive,
    "threads-per-core": _threads,
    "hint": _hint_option,
    "export": _export,
    "distribution": _distribution,
    "gpu-bind": _gpu_bind,
    "tres-bind": _gpu_bind,
    "chdir": _chdir,
}
KNOWN = frozenset({*_REPLACED, *_SPECIAL})
