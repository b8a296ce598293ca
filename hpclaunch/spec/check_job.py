"""What a job file alone tells to be wrong, beyond the types of its fields."""

from collections.abc import Callable, Mapping
from functools import partial

from hpclaunch.spec import check_text, findings, mounts, scalars
from hpclaunch.spec.job import Bind, Job, MountSpec, SiteHints
from hpclaunch.values.errors import Path, Problem

DOCUMENT = "job"
MAX_NODES = 100_000
MAX_PER_NODE = 4096
MAX_USER = 2**31 - 1  # the largest number of a user or a group that the Kubernetes API takes

_API_NAMES = frozenset(("namespace", "queue", "priority_class"))

_check = partial(findings.check, DOCUMENT)
_problem = partial(findings.problem, DOCUMENT)


def job_problems(job: Job) -> list[Problem]:
    """Every problem of the job that no site is needed for."""
    found: list[Problem] = []
    _check(found, ("name",), check_text.name, job.name)
    _check(found, ("nodes",), _between(1, MAX_NODES), job.nodes)
    if job.ranks_per_node is not None:
        _check(found, ("ranks_per_node",), _between(1, MAX_PER_NODE), job.ranks_per_node)
    if job.gpus_per_node is not None:
        _check(found, ("gpus_per_node",), _between(0, MAX_PER_NODE), job.gpus_per_node)
    if job.gpu_type is not None:
        _check(found, ("gpu_type",), check_text.name, job.gpu_type)
    if job.image_name is not None:
        _check(found, ("image",), _image, job.image_name)
    if job.workdir is not None:
        _check(found, ("workdir",), check_text.line, job.workdir)
    found += _command_problems(job)
    found += env_problems(job.env)
    found += _name_problems(job)
    for index, mount in enumerate(job.mounts):
        _check(found, ("mounts", index), _mount, mount)
    found += _bind_problems(job.bind, job.ranks_per_node)
    if job.container.save is not None:
        _check(found, ("container", "save"), check_text.line, job.container.save)
    if job.beside_ranks:
        from hpclaunch.spec import check_steps  # most jobs need not pay for it

        found += check_steps.steps_problems(job)
    if job.long_run:
        from hpclaunch.spec import check_longrun

        found += check_longrun.problems(job)
    if job.profile is not None:
        from hpclaunch.spec import check_profile

        found += check_profile.problems(job, job.profile)
    if job.one_of_many:
        from hpclaunch.spec import check_sweep

        found += check_sweep.problems(job)
    if job.unlike_parts:
        from hpclaunch.spec import check_groups

        found += check_groups.problems(job)
    if job.preflight is not None:
        from hpclaunch.spec import check_preflight

        found += check_preflight.problems(job)
    for site, hints in job.sites.items():
        _check(found, ("sites", site), check_text.name, site)
        found += _hint_problems(hints, ("sites", site))
    return found


def env_problems(env: Mapping[str, str], document: str = DOCUMENT) -> list[Problem]:
    """What is wrong with names and values of variables, wherever they come from."""
    found = []
    for name, value in env.items():
        try:
            scalars.variable_name(name)
            scalars.carried(value)
        except ValueError as error:
            found.append(Problem(f"env: {error}", document, ("env", name)))
    return found


def _between(low: int, high: int) -> Callable[[int], None]:
    def check(number: int) -> None:
        if not low <= number <= high:
            raise ValueError(f"{number} must be from {low} to {high}")

    return check


def _image(text: str) -> None:
    check_text.line(text)
    if text == "none":
        raise ValueError("to run without a container leave the key out")
    if any(character.isspace() for character in text):
        raise ValueError(f"{scalars.shown(text)} has a space: an image is a docker reference or a .sqsh path")


def _mount(mount: str | MountSpec) -> None:
    complaint = mounts.complaint(mounts.long_form(mount) if isinstance(mount, str) else mount)
    if complaint:
        raise ValueError(complaint)


def job_relations(job: Job) -> list[Problem]:
    """What is wrong between keys that are right by themselves."""
    if not job.groups:
        return []
    from hpclaunch.spec import check_groups

    return check_groups.relations(job)


def _command_problems(job: Job) -> list[Problem]:
    if job.command == "":
        return (
            [] if job.groups else [Problem("the key 'command' is missing or empty", DOCUMENT, ("command",))]
        )
    if isinstance(job.command, str):
        return [] if job.command.strip() else [_problem(("command",), "the command is empty")]
    if not job.command:
        return [_problem(("command",), "the command is empty")]
    if not job.command[0].strip():
        return [_problem(("command", 0), "the first word is empty: it names the program")]
    return []


def _name_problems(job: Job) -> list[Problem]:
    found: list[Problem] = []
    for key, names in (("inherit", job.inherit), ("secrets", job.secrets)):
        seen: set[str] = set()
        for index, name in enumerate(names):
            _check(found, (key, index), scalars.variable_name, name)
            if name in seen:
                found.append(_problem((key, index), f"{name} stands twice"))
            seen.add(name)
    inherited = set(job.inherit)
    for index, name in enumerate(job.secrets):
        if name in job.env or name in inherited:
            other = "env" if name in job.env else "inherit"
            found.append(
                _problem(("secrets", index), f"{name} is in {other} too; a secret stands here alone")
            )
    for index, name in enumerate(job.container.env):
        _check(found, ("container", "env", index), scalars.variable_name, name)
    return found


def _bind_problems(bind: Bind, ranks: int | None) -> list[Problem]:
    found: list[Problem] = []
    checks = (
        ("cpus", bind.cpus, check_text.numbers),
        ("memory", bind.memory, check_text.numbers),
        ("hcas", bind.hcas, check_text.line),
    )
    for key, lists, check in checks:
        if isinstance(lists, str):
            continue
        for index, text in enumerate(lists):
            _check(found, ("bind", key, index), check, text)
        if not lists or (ranks is not None and len(lists) != ranks):
            wanted = f"{ranks} (ranks_per_node)" if ranks is not None else "one for each local rank"
            message = f'{len(lists)} entries, not {wanted}; an entry with a comma needs quotes: "0-7,16-23"'
            found.append(_problem(("bind", key), message))
    return found


def _hint_problems(hints: SiteHints, path: Path) -> list[Problem]:
    found: list[Problem] = []
    for key in hints.__struct_fields__:
        value = getattr(hints, key)
        if isinstance(value, str):
            _check(found, (*path, key), _api_name(key) if key in _API_NAMES else check_text.line, value)
        elif key == "user" and value is not None:
            _check(found, (*path, key), _between(0, MAX_USER), value)
        elif key == "sbatch":
            for index, option in enumerate(value):
                _check(found, (*path, key, index), _sbatch_option, option)
    return found


def _api_name(key: str) -> Callable[[str], object]:
    from hpclaunch.spec import apiwords  # a job for Slurm pays nothing

    return {"namespace": apiwords.label, "queue": apiwords.short_name, "priority_class": apiwords.name}[key]


def _sbatch_option(text: str) -> None:
    # Each becomes a #SBATCH line of its own.
    check_text.line(text)
    if not text.startswith("-"):
        raise ValueError(f"{scalars.shown(text)} is not an option: write --name=value in one entry")
