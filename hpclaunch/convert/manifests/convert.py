"""Manifests -> facts in a draft, and hints for the site."""

import re
from collections.abc import Mapping, Sequence

from msgspec import structs

from hpclaunch.convert.draft import Draft
from hpclaunch.convert.manifests import placeholders
from hpclaunch.convert.manifests.numbers import size, world
from hpclaunch.convert.manifests.numbers.claimed import KINDS as CLAIMED
from hpclaunch.convert.manifests.objects import (
    claims,
    kinds,
    leftovers,
    other_kinds,
    parts,
    runtimes,
    siblings,
)
from hpclaunch.convert.manifests.objects.workload import COMMAND, Pod, Workload
from hpclaunch.convert.manifests.placeholders import Template
from hpclaunch.convert.manifests.pods import (
    ending,
    environment,
    preparation,
    rights,
    scheduling,
    storage,
    told,
)
from hpclaunch.convert.manifests.running import (
    binding,
    command,
    faults,
    image_scripts,
    launchers,
    loops,
    mounted_scripts,
)
from hpclaunch.convert.manifests.running.launch import Launch, line_in, lines_of, read
from hpclaunch.convert.manifests.text import api, embedded, openshift, repair
from hpclaunch.convert.manifests.text import templates as template_values
from hpclaunch.convert.manifests.text.repair import Object
from hpclaunch.convert.mapping.container.images import is_possible
from hpclaunch.convert.mapping.ranks import mpi_variables, numbers
from hpclaunch.convert.mapping.slurm.starts import inner_launchers
from hpclaunch.convert.options import Options
from hpclaunch.convert.programs.layers import MPI
from hpclaunch.convert.reading import Command, Source
from hpclaunch.readback.shell.values import known
from hpclaunch.spec.check_text import name as job_name
from hpclaunch.values.conversion import Place

_CUT = ("[...]", "[…]", "…", "...")
_TO_FILL_IN = re.compile(r"\$[({\w]|[<>{}]|\s")  # what no name of an image has


def convert(
    files: Sequence[tuple[str, str]], draft: Draft, options: Options, scripts: Sequence[Source] = ()
) -> str:
    """Puts what manifests say into `draft`, and returns the kind and version of the object that counts.
    `files` are names, for places, with texts: a job may have its claims in a file of their own. `scripts` are
    files that its pods start.

    Raises InputError, with file:line:col, where a text is no YAML and cannot be repaired.
    """
    found, templates = _objects(files, draft, options)
    jobs = [each for each in found if kinds.is_workload(each)]
    others = [each for each in found if not kinds.is_workload(each)]
    foreign = runtimes.last([each for each in others if other_kinds.is_other(each)])
    others = [each for each in others if not other_kinds.is_other(each)]
    if jobs:  # pods that something keeps running may be ranks of the job, whoever has GPUs
        others += [each for each in foreign if other_kinds.keeps_pods(each)]
        foreign = [each for each in foreign if not other_kinds.keeps_pods(each)]
    if foreign and not jobs:
        other_kinds.refuse(foreign[0], [*others, *foreign[1:]], draft)
        placeholders.say_of_refused(templates, draft)
    elif not jobs:
        kinds_seen = dict.fromkeys(f"{each.kind} {each.version}".strip() for each in found)
        seen = ", ".join(filter(None, kinds_seen)) or "no object with a kind, as manifests of Kubernetes have"
        places = [each.root.at for each in found] or [Place(name) for name, _ in files]
        draft.refuse(
            f"nothing in it starts ranks: it has {seen}",
            places,
            "no MPIJob, PyTorchJob, Pod or Job",
            todo="give the manifest of the job itself; what stands beside it may be in the same file",
        )
    for each in foreign if jobs else foreign[1:]:
        other_kinds.beside(each, draft)
    more_nodes = siblings.say(jobs, others, draft)
    embedded.say([*others, *foreign], draft)
    if jobs:
        workload = kinds.workload(jobs[0], draft)
        if workload is not None:
            claimed = tuple(each.root for each in others if each.kind in CLAIMED)
            workload = structs.replace(workload, claims=claimed)
            _job(workload, others, templates, draft, options, scripts)
            siblings.ask(workload, more_nodes, draft)
            image = workload.ranks.container.get("image")
            others = other_kinds.pods_beside(others, image.peek() if image is not None else "", draft)
            leftovers.account(workload.root, api.type_of(jobs[0].version, jobs[0].kind), draft)
    claims.account(others, next(iter([*jobs, *foreign]), None), draft)
    return next((f"{each.kind} of {each.version}" for each in (*jobs, *foreign)), "")


def _objects(
    files: Sequence[tuple[str, str]], draft: Draft, options: Options
) -> tuple[list[Object], dict[str, Template]]:
    """The objects of all files, with what fills in their names put in, and the files that still have some."""
    made = {name: template_values.values_put_in(name, text, draft) for name, text in files}
    given = {
        name: placeholders.filled(name, text, options.environment, draft) for name, (text, _) in made.items()
    }
    templates = {
        name: Template(given[name], template_values.BY if names else "envsubst", names)
        for name, (text, names) in made.items()
        if names or placeholders.is_for_envsubst(text)
    }
    for name, text in given.items():
        if name not in templates and (names := placeholders.names_of_values(name, text)):
            templates[name] = Template(text, template_values.BY, names, is_by_name=True)
    found: list[Object] = []
    for name, text in given.items():
        for each in repair.objects(name, text, draft):
            inside = openshift.unfolded(each, options.environment, draft)
            found += [each] if inside is None else inside.objects
            if inside is not None:  # what stands in it is put in by `oc process`, and not by envsubst
                templates.pop(name, None)
            if inside is not None and inside.untold:
                templates[name] = Template(text, openshift.BY, inside.untold)
    return found, templates


def _job(
    workload: Workload,
    others: Sequence[Object],
    templates: Mapping[str, Template],
    draft: Draft,
    options: Options,
    files: Sequence[Source],
) -> None:
    _name(workload, draft)
    _image(workload, draft)
    beside = structs.replace(claims.config(others), scripts=mounted_scripts.given(files))
    own = environment.variables(workload.ranks.container, beside, draft)
    own |= told.index(workload, own)
    first = (
        environment.variables(workload.starter.container, beside, draft) if workload.is_apart else dict(own)
    )
    scripts = mounted_scripts.of(workload.starter, beside.maps, beside.scripts)
    launch = read(workload.starter.container, told.texts(workload, first), scripts)
    values = {name: (each.text,) for name, each in first.items() if each.text is not None}
    launch = structs.replace(
        launch, outer=tuple(mpi_variables.with_given(each, values) for each in launch.outer)
    )
    size.put(workload, launch, own, draft, options)
    found = loops.put(launch.looped, launch.inner, draft)
    exports = launchers.put(workload, launch, first, own, draft, found, beside.scripts)
    _folder(workload, launch, draft)
    if launch.layer(*MPI) is not None:
        exports += numbers.exports(launch.inner, files, launch.lines, draft)
    command.put(workload, launch, draft, exports, found.stand_ins)
    _inner(launch, draft)
    _several(launch, draft)
    told.put(workload, launch, first, draft)
    storage.put(workload, claims.Claims(others, beside.scripts), draft, options)
    image_scripts.say(workload, launch, beside.scripts, draft)
    preparation.put(workload, draft)
    rights.put(workload, draft)
    scheduling.put(workload, draft)
    ending.put(workload, draft)
    _serving(workload, draft)
    binding.put(workload, launch, draft)
    world.ask(workload, launch, own, draft)
    parts.compare(workload, own, beside, draft, options)
    parts.ask_which_container(workload, draft)
    placeholders.put(launch, {**first, **own}, told.texts(workload, first), templates, draft)
    placeholders.ask_as_for_the_name(workload.root.get("metadata", "name"), draft)
    faults.put(workload, (first, own), draft, options)


def _name(workload: Workload, draft: Draft) -> None:
    meta = workload.root.get("metadata")
    field = (meta.get("name") or meta.get("generateName")) if meta is not None else None
    if field is None:
        draft.ask(
            ("name",), "the job's name: metadata.name is not there", [workload.root.at], "metadata.name"
        )
        return
    text = field.text()
    name = text.rstrip("-.") if field.path[-1] == "generateName" else text
    try:
        job_name(name)
    except (ValueError, IndexError):
        draft.ask(("name",), f"the job's name: {text!r} is none", [field.at], "metadata.name")
        return
    if word := placeholders.in_name(text):
        question = f"the job's name: no object has capitals in its name, and {word} stands for something"
        draft.ask(("name",), question, [field.at], "metadata.name")
        return
    draft.put(("name",), name, [field.at], f"metadata.{field.path[-1]}")


def _image(workload: Workload, draft: Draft) -> None:
    field = workload.ranks.container.get("image")
    if field is None:
        draft.ask(("image",), "the image: the container has none", [workload.ranks.place], "image")
        return
    text = field.text()
    if not text.strip():
        draft.ask(("image",), "the image: no name is there", [field.at], "image")
    elif any(cut in text for cut in _CUT) or _TO_FILL_IN.search(text.strip()):
        draft.ask(("image",), f"the image: {text!r} is not all of its name", [field.at], "image")
    elif not is_possible(text.strip()):
        question = f"the image: no registry takes such a name, and {text!r} stands for one"
        draft.ask(("image",), question, [field.at], "image")
    else:
        draft.put(("image",), text.strip(), [field.at], "image")
    if workload.is_apart:
        other = workload.starter.container.get("image")
        if other is not None and other.text() != text:
            why = f"ranks run in the workers' image; mpirun came from {other.text()}"
            todo = "see that the workers' image has an MPI of the same kind"
            draft.say("left", [other.at], "the launcher's own image", why=why, todo=todo)
        elif other is not None:
            draft.say("carried", [other.at], "the launcher's image", became="image", key="image")
    for pod in {id(each): each for each in (workload.ranks, workload.starter, *workload.others)}.values():
        _pull(pod, draft)


def _pull(pod: Pod, draft: Draft) -> None:
    policy = pod.container.get("imagePullPolicy")
    image = pod.container.get("image")
    if policy is None:
        return
    text = policy.text()
    last = image.text().rpartition("/")[2] if image is not None else ""
    usual = "Always" if ":" not in last or last.endswith(":latest") else "IfNotPresent"
    if text == usual and last and not _TO_FILL_IN.search(last):
        draft.say(
            "replaced", [policy.at], f"imagePullPolicy: {text}", why="it is the API's default for this tag"
        )
    elif text in ("Always", "IfNotPresent", "Never"):
        draft.hint("kubernetes.image_pull_policy", text, [policy.at], "imagePullPolicy")


def _folder(workload: Workload, launch: Launch, draft: Draft) -> None:
    """mpirun's -wdir, else where the shell went, else the container's own."""
    own = workload.starter.container.get("workingDir")
    theirs = workload.ranks.container.get("workingDir") if workload.is_apart else None
    given = own or theirs
    text = given.text() if given is not None else ""
    places = [given.at] if given is not None else []
    if own is not None and theirs is not None:
        theirs.take()
        places.append(theirs.at)
    what = "workingDir"
    there = command.folder_gone_to(workload, launch)
    if launch.shell is not None and launch.shell.folder and launch.shell_place is not None and not there:
        folder = launch.shell.folder
        text = folder if folder.startswith("/") else f"{text.rstrip('/')}/{folder}" if text else ""
        line = line_in(launch.shell_place, launch.shell.folder_line)
        places, what = [*places, line], "cd in the shell's text"
        if not text:
            draft.ask(("workdir",), f"the folder: {folder} is below the image's own", places, what)
            return
    layer = launch.layer(*MPI)
    option = layer.option("wdir") if layer is not None else None
    if launch.shell is not None and launch.shell.lost and launch.shell_place is not None and option is None:
        line = line_in(launch.shell_place, launch.shell.folder_line)
        lost = launch.shell.lost
        draft.ask(("workdir",), f"the folder in which the ranks start: {lost}", [line], lost)
        return
    if option is not None and option.value:
        text = known(option.value) or ""
        places, what = [*places, *lines_of(launch, option.written)], option.written
    if text:
        draft.put(("workdir",), text, places, what)


def _inner(launch: Launch, draft: Draft) -> None:
    """What each rank of an mpirun starts by a text for a shell, where that starts ranks itself."""
    layer = launch.layer(*MPI)
    if layer is not None and launch.outer[-1] is layer:
        place = launch.places[0]
        inner_launchers.say_in_words(Command(place, launch.inner), launch.inner, layer.called, draft)


def _several(launch: Launch, draft: Draft) -> None:
    """mpirun A : B. The numbers of its first program are not those of all."""
    layer = launch.layer(*MPI)
    if layer is None or layer.option("app") is None:
        return
    for key in ("nodes", "ranks_per_node", "command"):
        question = f"{key} of which program: mpirun starts several at once, and a group has one"
        todo = "write each program in `groups`, with nodes of its own"
        parts.ask_instead((key,), question, launch.places, "several programs at once", draft, todo)


def _serving(workload: Workload, draft: Draft) -> None:
    """What the workers run by themselves: they only wait for ranks."""
    if not workload.is_apart:
        return
    container = workload.ranks.container
    fields = [field for key in COMMAND if (field := container.get(key)) is not None]
    words = [word.text() for field in fields for word in field.items()]
    if not words:
        return
    places = [field.place for field in fields]
    text = " ".join(words)
    if "sshd" in text or words[0].rpartition("/")[2] in ("sleep", "tail"):
        draft.say(
            "replaced", places, "what the workers run", why="hpclaunch has them wait for their ranks itself"
        )
        return
    todo = "what it does before the ranks start belongs into setup"
    draft.say("left", places, "what the workers run", why="ranks are started by the scheduler", todo=todo)
