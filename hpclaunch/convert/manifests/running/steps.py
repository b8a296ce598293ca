"""Commands that a pod's shell does beside its launcher: steps of the job, or what becomes of them."""

import re
import shlex
from collections.abc import Mapping

from msgspec import Struct

from hpclaunch.convert.draft import Draft
from hpclaunch.convert.manifests.objects.workload import INDEX, Workload
from hpclaunch.convert.manifests.running.prepared import changes_shell
from hpclaunch.convert.manifests.running.shelltext import LAUNCHERS, ShellText
from hpclaunch.convert.manifests.running.units import Unit
from hpclaunch.convert.mapping.ranks import rendezvous
from hpclaunch.convert.mapping.words.texts import NOTHING
from hpclaunch.convert.programs.beside import that
from hpclaunch.convert.programs.layers import MPI, layers, starts_ranks
from hpclaunch.convert.shell.folder import FOLDERS
from hpclaunch.convert.words_of_statements import TO_FILE
from hpclaunch.readback.shell import inside, shfmt, tree
from hpclaunch.readback.shell.errors import ScriptError
from hpclaunch.readback.shell.values import known
from hpclaunch.values.conversion import Kind, Place
from hpclaunch.values.errors import HpclaunchError

# Commands in front of a launcher that only look, or wait for what hpclaunch waits for itself.
LOOK = that("says", "looks", "devices") | {"set", "cd", "ulimit"}
_READS = frozenset(("read", "mapfile", "readarray"))  # they set variables of the shell
_FROM = frozenset(("<", "<<", "<<-", "<<<"))
_OF_RANKS = (*rendezvous.COMPUTED, INDEX)
_USED = re.compile(r"\$\{?([A-Za-z_]\w*)")
_TAKES_HOSTS = re.compile(r"--?(?:host|machine)_?file(?:=|$)")


def made_before(shell: ShellText, number: int) -> dict[str, str | None]:
    """The variables that the text alone has by then, and neither the job's env nor its command: None for one
    that is known only where it runs."""
    assert shell.launch is not None
    run = shell.units[shell.launch]
    of_run = set(_USED.findall(run.text))
    made: dict[str, str | None] = {
        name: value for name, value, _ in shell.exported if name in shell.own and name not in of_run
    }
    line = shell.units[number].line
    made |= dict.fromkeys(name for name, _, at in shell.untold if at < line)
    for unit in shell.units[:number]:
        if unit.words and known(unit.words[0]) in _READS:
            words = [known(word) or "" for word in unit.words[1:]]
            made |= dict.fromkeys(word for word in words if word.isidentifier())
    return made


def _are_of_rendezvous(unit: Unit) -> bool:
    """Whether it does nothing but export what hpclaunch sets in each rank."""
    names = {name for name, _ in unit.exports}
    return bool(names) and not unit.words and names.issubset(rendezvous.COMPUTED)


def _is_mpirun(unit: Unit) -> bool:
    return any(layer.program in MPI for layer in layers(unit.words))


def _asks(unit: Unit) -> bool:
    """Whether it is a launcher that only tells of itself (mpirun --version)."""
    is_launcher = any(layer.program in LAUNCHERS for layer in layers(unit.words))
    return is_launcher and not starts_ranks(unit.words)


def outputs(unit: Unit) -> list[str] | None:
    """The files that keep its output, which ranks may read; None where that cannot be told."""
    found = _redirections(unit, ">")
    if found is None:
        return None
    return [to for op, to in found if op in TO_FILE and not to.startswith("/dev/")]


def inputs(unit: Unit) -> list[str]:
    """The files that it reads as its input, "" for a text that stands here."""
    found = _redirections(unit, "<", of_pipe=True) or ()
    return [source if op == "<" else "" for op, source in found if op in _FROM]


def _redirections(unit: Unit, sign: str, *, of_pipe: bool = False) -> list[tuple[str, str]] | None:
    """The redirections of a command, by their operators; None where they cannot be told. `sign` is in those
    that are looked for; `of_pipe`: of a pipe those of its first command."""
    if sign not in unit.text:
        return []
    try:
        file, source = shfmt.parsed(inside(unit.text), 1)
    except (ScriptError, HpclaunchError):
        return None
    found = []
    for statement in file.stmts:
        first = statement
        while of_pipe and isinstance(first.cmd, tree.BinaryCmd) and first.cmd.x is not None:
            first = first.cmd.x
        for each in first.redirs:
            if each.word is not None:
                found.append((each.op, shfmt.written(source, each.word.pos.offset, each.word.end.offset)))
    return found


class _Told(Struct, frozen=True):
    """What becomes of a command that is no step."""

    kind: Kind
    why: str
    todo: str = ""


def put(
    workload: Workload,
    unit: Unit,
    before: bool,
    place: Place,
    draft: Draft,
    folder: str | None = "",
    made: Mapping[str, str | None] = NOTHING,
) -> None:
    """A command beside the launcher; `folder` is that which it is in, where the job's is another, and None
    where nobody can tell it. `made` are variables of the text, which no step of its own has."""
    program = (known(unit.words[0]) or "").rpartition("/")[2] if unit.words else ""
    if program in FOLDERS and before:
        return  # the job's folder tells of it, or is asked for
    text = unit.text.strip().removesuffix(";").strip()
    of_launch = _of_the_launch(workload, unit, program, before, draft)
    told = of_launch or _no_step(workload, unit, before, draft, folder, made)
    if told is not None:
        is_one_line = program in _READS and not unit.exports and told.kind == "left"
        what = text.split("\n")[0] if is_one_line else text
        draft.say(told.kind, [place], what, why=told.why, todo=told.todo)
        return
    sets = "".join(f"{name}={shlex.quote(made[name] or '')}; " for name in sorted(_used(unit) & made.keys()))
    run = sets + (f"cd {shlex.quote(folder)} && " if folder else "") + text
    why = (
        "once on each node, before the ranks start, and the job ends where it fails"
        if before
        else "once on each node, when the ranks have ended"
    )
    draft.add("setup" if before else "after", {"run": run}, [place], text, why=why)


def _of_the_launch(workload: Workload, unit: Unit, program: str, before: bool, draft: Draft) -> _Told | None:
    """What it did for the launch, or for the shell that did it, which hpclaunch does itself, or nobody."""
    if program == "sleep" and before and workload.is_apart:
        return _Told("replaced", "ranks are started when all nodes are there")
    if ("rendezvous",) in draft.facts and _are_of_rendezvous(unit):
        return _Told("replaced", rendezvous.SETS_ALL)
    if (unit.exports and not unit.words) or program in _READS:
        why = "its value is made in the pod, and a step of its own exports nothing to the ranks"
        return _Told("left", why, "write it under env, or let the command begin with it")
    if (program in LOOK or _asks(unit)) and outputs(unit) == []:
        return _Told("without effect", "it changes nothing for the ranks")
    if _is_mpirun(unit):
        why = "it starts ranks of its own, on the nodes of its own options, and a job starts them once"
        return _Told("left", why, "submit it as a job of its own, or let one script start both")
    if before and changes_shell(unit):
        why = (
            "it was for the shell that started the launcher, and a step of its own changes nothing for ranks"
        )
        return _Told("left", why, "let the command begin with it, if the ranks need it")
    return None


def _no_step(
    workload: Workload,
    unit: Unit,
    before: bool,
    draft: Draft,
    folder: str | None,
    made: Mapping[str, str | None],
) -> _Told | None:
    """Why a step of the job does not do what it did: for its pod, its variables or its folder."""
    where, used = "setup" if before else "after", _used(unit)
    lost = sorted(name for name in used & made.keys() if made[name] is None)
    alone = [name for name in _OF_RANKS if name in used and ("env", name) not in draft.facts]
    if workload.is_apart:
        when = "before" if before else "after"
        if option := _hosts_taken(unit):
            why = f"it is given the workers ({option}), and may start processes there, no ranks of this job"
            return _Told("question", why, "where it is the job's run write its ranks_per_node and command")
        why = f"it ran in the launcher's own pod {when} the ranks, and a job has no such pod"
        return _Told("left", why, f"if ranks need it, add it to {where} (per: node, or per: job)")
    if lost:
        why = f"it uses {', '.join(lost)}, made by lines before it, and a step of its own does not have that"
        return _Told("left", why, f"add all of these lines to {where} as one step")
    if alone:
        why = f"it uses {', '.join(alone)}, of which a step of the job is told nothing"
        them = "it" if len(alone) == 1 else "them"
        return _Told("left", why, f"add it to {where} without {them} (per: node, or per: job)")
    if folder is None:
        todo = f"add it to {where}, with a cd to that folder in front"
        return _Told("left", "the folder that it ran in is not told", todo)
    return None


def _hosts_taken(unit: Unit) -> str:
    """The option that gives its program a list of hosts (gaudi_spawn.py --hostfile), "" for none."""
    heads = (str(word[0]) for word in unit.words if word and isinstance(word[0], str))
    return next((found[0].rstrip("=") for each in heads if (found := _TAKES_HOSTS.match(each))), "")


def _used(unit: Unit) -> set[str]:
    return set(_USED.findall(unit.text))
