"""What is wrong with the groups of a job. Jobs without them do not load this."""

from functools import partial

from hpclaunch.spec import check_text, findings, scalars
from hpclaunch.spec.check_sweep import ARGS
from hpclaunch.spec.groups import GroupSpec
from hpclaunch.spec.job import Job
from hpclaunch.spec.variants import keys_of
from hpclaunch.values.errors import Path, Problem
from hpclaunch.values.rankgroups import NAMES

_MAX_NODES = 100_000
_MAX_PER_NODE = 4096
_LONGEST_NAME = 40  # it stands before lines of the log

_check = partial(findings.check, "job")
_problem = partial(findings.problem, "job")


def problems(job: Job) -> list[Problem]:
    """All of it."""
    if not job.groups:
        return [_problem(("world",), "it is about `groups`, and the job has none")]
    found: list[Problem] = []
    if len(job.groups) < 2:
        found.append(_problem(("groups",), "one group is a job without groups: write its keys in the job"))
    if job.nodes != 1:
        found.append(_problem(("nodes",), "the groups say how many nodes there are: leave it out"))
    for name in NAMES:
        message = f"{name}: each rank has its own, by its group"
        if name in job.env:
            found.append(_problem(("env", name), message))
        for key, names in (("inherit", job.inherit), ("secrets", job.secrets)):
            if name in names:
                found.append(_problem((key, names.index(name)), message))
    for name, group in job.groups.items():
        _check(found, ("groups", name), _name, name)
        found += _group_problems(job, group, ("groups", name))
    if job.sweep is not None:
        found += _sweep_problems(job)
    return found


def _name(text: str) -> None:
    check_text.name(text)
    if len(text) > _LONGEST_NAME:
        raise ValueError(f"{len(text)} characters, and log lines say it: at most {_LONGEST_NAME}")


def _group_problems(job: Job, group: GroupSpec, path: Path) -> list[Problem]:
    found: list[Problem] = []
    for key, low, high in (
        ("nodes", 1, _MAX_NODES),
        ("ranks_per_node", 1, _MAX_PER_NODE),
        ("gpus_per_node", 0, _MAX_PER_NODE),
    ):
        number = getattr(group, key)
        if number is not None and not low <= number <= high:
            found.append(_problem((*path, key), f"{number} must be from {low} to {high}"))
    if group.gpu_type is not None:
        _check(found, (*path, "gpu_type"), check_text.name, group.gpu_type)
    for site, hints in group.sites.items():
        _check(found, (*path, "sites", site), check_text.name, site)
        for key in hints.__struct_fields__:
            if getattr(hints, key) is not None:
                _check(found, (*path, "sites", site, key), check_text.line, getattr(hints, key))
    found += _command_problems(group, path)
    for name, value in group.env.items():
        of_name = (*path, "env", name)
        _check(found, of_name, scalars.carried, value)
        if name in NAMES:
            found.append(_problem(of_name, "each rank has its own, by its group"))
        if name in job.secrets:
            found.append(_problem(of_name, "it is in secrets too; a secret stands there alone"))
    return found


def relations(job: Job) -> list[Problem]:
    """What is wrong with the groups beside other keys of the job, where those are right by themselves."""
    return [
        _problem(("groups", name), "it has no command, and the job has none either")
        for name, group in job.groups.items()
        if group.command is None and not job.command
    ]


def _command_problems(group: GroupSpec, path: Path) -> list[Problem]:
    if group.command is None:
        return []
    words = (group.command,) if isinstance(group.command, str) else group.command
    if not words or not words[0].strip():
        return [_problem((*path, "command"), "the command is empty")]
    return []


def _sweep_problems(job: Job) -> list[Problem]:
    assert job.sweep is not None
    found = []
    for key in keys_of(job):
        if key in (ARGS, "command"):
            message = f"sweep: {key} would be one for all groups: sweep groups.NAME.command, or env.NAME"
            found.append(Problem(message, "job", ("sweep",)))
        shadowing = [name for name, group in job.groups.items() if key[:4] == "env." and key[4:] in group.env]
        if shadowing:
            message = (
                f"sweep: {key}: the group {shadowing[0]} sets it, so its ranks would not see the point's; "
            )
            message += f"sweep groups.{shadowing[0]}.{key}"
            found.append(Problem(message, "job", ("sweep",)))
    return found
