"""Manifest -> Launch: an MPIJob (v2beta1, v1, v1alpha2), a batch/v1 Job, or a Pod."""

from collections.abc import Collection

from msgspec import Struct

from hpclaunch.readback.kubernetes import coherence, command, pods, staging
from hpclaunch.readback.kubernetes.document import Document, documents
from hpclaunch.readback.kubernetes.mpirun import OPEN_MPI, Started
from hpclaunch.readback.kubernetes.objects import HOSTFILE, MODELS, Parts, parts_of
from hpclaunch.readback.kubernetes.podmodels import Container
from hpclaunch.readback.kubernetes.typed import typed
from hpclaunch.readback.wrapper_words import WrapperWords, without_wrapper
from hpclaunch.values.errors import InputError, Problem
from hpclaunch.values.launch import Launch, SeenVariable, Unbridged

_MCA = "OMPI_MCA_"

# What hpclaunch's launcher text does not carry to the ranks: what is the pod's own, and the launchers' own.
_STAYS = frozenset(
    (
        *("HOME", "HOSTNAME", "PWD", "OLDPWD", "SHLVL", "_", "TERM", "K_MPI_JOB_ROLE"),
        *("NVIDIA_VISIBLE_DEVICES", "NVIDIA_DRIVER_CAPABILITIES", "I_MPI_PERHOST"),
    )
)
_STAYS_PREFIXES = ("KUBERNETES_", "PRTE_", "PMI_", "HYDRA_", "I_MPI_HYDRA_")
_BY_OPEN_MPI = ("OMPI_", "PMIX_")  # which it passes on itself, and Hydra does not


class _Seen(Struct, frozen=True):
    """What pods come to: `known` are the variables of the one that starts the ranks, `own` those of the ones
    that they run in. `words` are those of the rank wrapper, also where there is none."""

    known: dict[str, SeenVariable]
    own: dict[str, SeenVariable]
    begun: command.Starting
    per_node: int
    numbering: str
    rank: command.Rank
    words: WrapperWords
    unread: tuple[str, ...]
    unbridged: tuple[Unbridged, ...]


def read(text: str, file: str = "manifest", gpu_resources: Collection[str] = ()) -> Launch:
    """What the one MPIJob, Job or Pod of a text would launch. `file` is what messages call the text, and
    `gpu_resources` are names of GPUs beside the usual ones (nvidia.com/gpu).

    Raises InputError, with file:line:col, where the text is no such manifest.
    """
    document, others = _the_one(documents(text, file), file)
    model = MODELS[_kind(document)]
    found, unread = typed(document, model)
    unread += others
    parts = parts_of(found, document)
    first = pods.main_container(parts.starter.spec, parts.main)
    beside = pods.main_container(parts.ranks.spec, parts.main)
    if first is None or beside is None:
        raise document.refuse(("spec",), "a pod has no container")
    return _launch(parts, first, beside, unread, gpu_resources)


def _the_one(found: list[Document], file: str) -> tuple[Document, tuple[str, ...]]:
    for document in found:
        if not isinstance(document.value, dict):
            raise document.refuse((), "a manifest begins with apiVersion and kind")
    mine = [document for document in found if _kind(document) in MODELS]
    known = ", ".join(f"{kind} {version}" for version, kind in MODELS)
    if not mine:
        seen = ", ".join(f"{kind} {version}" for version, kind in map(_kind, found)) or "nothing"
        where = found[0].refuse((), "").problems[0].where if found else file
        raise InputError([Problem(f"{seen}: nothing here that starts ranks ({known})", where=where)])
    if len(mine) > 1:
        raise mine[1].refuse((), "a second object that starts ranks: a text is one launch")
    others = (document for document in found if document is not mine[0])
    return mine[0], tuple(f"another object: {' '.join(reversed(_kind(each)))}" for each in others)


def _kind(document: Document) -> tuple[str, str]:
    version, kind = (str(document.value.get(key, "?")) for key in ("apiVersion", "kind"))
    return version[:40].replace("\n", " "), kind[:40].replace("\n", " ")


def _launch(
    parts: Parts,
    first: Container,
    beside: Container,
    unknown: tuple[str, ...],
    gpu_resources: Collection[str],
) -> Launch:
    """`first` starts the ranks, which run as `beside` does."""
    seen = _seen(parts, first, beside)
    begun, started, words = seen.begun, seen.begun.started, seen.words
    count, kind, resources = pods.gpus(beside, gpu_resources)
    apart = parts.nodes == 1 or pods.is_apart(parts.ranks, parts.ranks.metadata.labels)
    unread = [*unknown, *seen.unread]
    staged = staging.copied(parts.ranks.spec, beside, unread)
    mounts = pods.mounts(parts.ranks.spec, beside, dict(begun.settings).get("kit", ""), unread)
    return Launch(
        scheduler="kubernetes",
        name=parts.name,
        nodes=parts.nodes,
        ranks_per_node=seen.per_node,
        gpus_per_node=count,
        # Other jobs may be on a node that this one leaves a part of. How much a node has is not in the text:
        # tables of parts say that it is not all.
        whole_node=apart and count > 0 and not any(table.part for table in words.tables),
        apart=apart,
        numbering=seen.numbering,
        one_failure_ends_all=started.one_failure_ends_all if started else True,
        retries=parts.retries,
        seconds=parts.seconds,
        image=beside.image,
        argv=seen.rank.argv,
        cwd=(started.cwd if started else "") or first.working_dir or words.cwd,
        environment=_environment(parts, seen),
        before=_before(seen),
        mounts=mounts,
        tables=words.tables,
        settings=words.settings,
        wrapper=seen.rank.wrapper,
        rights=pods.rights(parts.ranks.spec, beside),
        unread=tuple(unread),
        unbridged=seen.unbridged,
        resources=(*resources, *pods.shm(parts.ranks.spec, beside)),
        where=(*parts.where, *pods.where(parts.ranks)),
        gpu_kind=kind,
        stage_in=staged,
        steps=begun.beside.steps if begun.beside else (),
        trials=begun.beside.trials if begun.beside else None,
        groups=words.groups,
        world="one" if words.groups else "",
    )


def _seen(parts: Parts, first: Container, beside: Container) -> _Seen:
    """What the pods run, and whether it fits together."""
    unread: list[str] = []
    known = pods.variables(first, unread)
    own = known if parts.starter is parts.ranks else pods.variables(beside, unread)
    before, args = pods.words(first, known, unread)
    begun = command.starting((*before, *args))
    if not before:
        unread.append(f"{first.name}: what it runs is the image's own entrypoint")
    serving = command.serving(*pods.words(beside, own, unread)) if parts.many else command.Serving()
    started = begun.started
    per_node, numbering, of_layout = _layout(parts, started)
    rank = command.rank(begun.rank, per_node)
    words = rank.words or without_wrapper(per_node)
    return _Seen(
        known=known,
        own=own,
        begun=begun,
        per_node=per_node,
        numbering=numbering,
        rank=rank,
        words=words,
        unread=(*unread, *begun.unread, *words.unread),
        unbridged=(
            *parts.unbridged,
            *begun.unbridged,
            *serving.unbridged,
            *coherence.of_pods(parts, first, beside, begun, serving),
            *of_layout,
            *(coherence.of_steps(parts, begun.beside, started) if begun.beside else ()),
            *(coherence.of_numbers(rank.words.source, started) if rank.words else ()),
            *coherence.of_binding(parts, started, known, words.tables),
        ),
    )


def _layout(parts: Parts, started: Started | None) -> tuple[int, str, list[Unbridged]]:
    """Ranks on a node, and how they are numbered."""
    if started is None:
        return (
            1,
            "block",
            []
            if not parts.many
            else [
                Unbridged("no mpirun", "how the launcher's command starts ranks on the workers is not known")
            ],
        )
    numbering = started.numbering
    found = []
    if started.hostfile not in ("", HOSTFILE):
        found.append(Unbridged(f"the hostfile {started.hostfile}", f"the operator's is {HOSTFILE}"))
    slots = started.per_node or parts.slots
    if not parts.many:
        return started.ranks or started.per_node or 1, "block", found
    ranks = started.ranks or parts.nodes * slots
    if ranks % parts.nodes == 0 and (ranks == parts.nodes * slots or numbering == "cyclic"):
        return ranks // parts.nodes, numbering, found
    why = f"{parts.nodes} nodes of {slots} slots: they are not filled alike"
    return slots, f"{numbering}, {ranks} ranks in all", [*found, Unbridged(f"{ranks} ranks", why)]


def _environment(parts: Parts, seen: _Seen) -> tuple[SeenVariable, ...]:
    """The variables of a rank: what comes to it with its pod or the launcher, then what the wrapper sets."""
    found = dict(seen.own) if parts.by_exec else {}  # a session of sshd has nothing of its pod's
    started = seen.begun.started
    for name, each in seen.known.items():
        carried = (
            not _stays(name, started)
            if seen.begun.carries
            else started is None or started.all_carried or name in started.carried
        )
        if carried or not parts.many or _goes_with_open_mpi(name, started):
            found[name] = each
    found |= _parameters(started)
    for name, value in started.set if started else ():
        if not name.startswith("I_MPI_"):  # of Hydra itself
            found[name] = SeenVariable(name, value)
    for each in seen.words.environment:
        found[each.name] = each
    return tuple(found.values())


def _stays(name: str, started: Started | None) -> bool:
    """Whether hpclaunch's launcher leaves the variable to its own pod, or to mpirun."""
    by_mpirun = started is None or started.kind == OPEN_MPI
    prefixes = (*_STAYS_PREFIXES, *(_BY_OPEN_MPI if by_mpirun else ()))
    return name in _STAYS or name.startswith(prefixes)


def _before(seen: _Seen) -> tuple[SeenVariable, ...]:
    """What the runtime, the launcher and its daemons see."""
    return tuple({**seen.own, **seen.known, **_parameters(seen.begun.started)}.values())


def _parameters(started: Started | None) -> dict[str, SeenVariable]:
    """The parameters of mpirun's command line, which Open MPI gives to ranks as variables."""
    given = started.parameters if started else ()
    return {f"{_MCA}{name}": SeenVariable(f"{_MCA}{name}", value) for name, value in given}


def _goes_with_open_mpi(name: str, started: Started | None) -> bool:
    return started is not None and started.kind == OPEN_MPI and name.startswith(_MCA)
