"""Whether the parts of a manifest fit together: what the launcher is told and what the workers do, who binds
ranks, where these look for their numbers. Each thing that does not is said, since ranks would not start, or
not as the rest of the text has it."""

from collections.abc import Mapping

from hpclaunch.readback.kubernetes import pods
from hpclaunch.readback.kubernetes.command import Serving, Starting
from hpclaunch.readback.kubernetes.mpirun import HYDRA, OPEN_MPI, Started
from hpclaunch.readback.kubernetes.objects import HOSTFILE, Parts
from hpclaunch.readback.kubernetes.podmodels import Container
from hpclaunch.readback.kubernetes.steps import Beside
from hpclaunch.values.launch import SeenTable, SeenVariable, Unbridged

_OFF = frozenset(("0", "off", "no", "disable"))
_NOT_ALIKE = "the launcher and the workers are told different things"


def of_pods(
    parts: Parts, first: Container, beside: Container, begun: Starting, serving: Serving
) -> list[Unbridged]:
    """Of the pod that starts the ranks, and those that they run in."""
    told = dict(begun.settings)
    found = pods.besides(parts.ranks.spec, beside, told.get("kit", ""))
    found += pods.memory_of_its_own(parts.ranks.spec, beside)
    carried = begun.carries or not parts.many or (begun.started is not None and begun.started.all_carried)
    if carried and parts.starter.spec.enable_service_links is not False:
        why = "each Service of the namespace puts variables into the pod, and so into ranks"
        found.append(Unbridged("enableServiceLinks", why))
    if not parts.many:
        return found
    found += [
        Unbridged(f"{each.what} of the launcher", each.why)
        for each in pods.besides(parts.starter.spec, first, told.get("kit", ""))
    ]
    if first.image != beside.image:
        why = "its mpirun is of another image than the ranks"
        found.append(Unbridged(f"the launcher's image {first.image}", why))
    users = pods.user(parts.starter.spec, first), pods.user(parts.ranks.spec, beside)
    if users[0] != users[1]:
        why = "it reaches the workers as the user that it is itself"
        found.append(Unbridged(f"the launcher's user {users[0]}", why))
    started = begun.started
    if started is not None and (started.kind == OPEN_MPI) != (parts.mpi == "openmpi"):
        why = "the operator writes the list of hosts for another MPI than the one that reads it"
        found.append(Unbridged(f"mpiImplementation for {parts.mpi}", why))
    return found + (_of_settings(parts, told, dict(serving.settings)) if begun.carries else [])


def _of_settings(parts: Parts, told: Mapping[str, str], served: Mapping[str, str]) -> list[Unbridged]:
    """Of hpclaunch's own texts."""
    found = []
    if told.get("hosts") != HOSTFILE:
        why = f"the operator's list of workers is {HOSTFILE}"
        found.append(Unbridged(f"the launcher's hosts={told.get('hosts', '')}", why))
    if not parts.waits and "wait" not in told:
        why = "ranks are started before all workers are there"
        found.append(Unbridged("nothing waits for the workers", why))
    by_ssh = {"ssh": served.get("port"), **{name: served.get(name) for name in ("kit", "home", "keys")}}
    for name, theirs in by_ssh.items() if not parts.by_exec else ():
        if told.get(name) != theirs:
            found.append(Unbridged(f"the launcher's {name}={told.get(name, '')}", _NOT_ALIKE))
    if not parts.by_exec and told.get("keys") != parts.keys:
        why = f"the operator puts the key into {parts.keys}"
        found.append(Unbridged(f"the launcher's keys={told.get('keys', '')}", why))
    return found


def of_numbers(source: str, started: Started | None) -> list[Unbridged]:
    """Whether the wrapper looks for its rank's number where its launcher puts it."""
    wanted = started.kind if started else "local"
    if source == wanted:
        return []
    why = f"what starts the ranks is {wanted}, so they would not find their numbers"
    return [Unbridged(f"the rank wrapper's from={source}", why)]


def of_steps(parts: Parts, beside: Beside, started: Started | None) -> list[Unbridged]:
    """Whether a step that is alone on a node finds its number, and has no more than that of the wrapper."""
    source = started.kind if parts.many and started else "local"
    wanted = ("from=local", "rank=0", "ranks=1") if source == "local" else (f"from={source}",)
    if not beside.alone or beside.alone == wanted:
        return []
    why = f"a step that is alone on its node is started by {source}, with no cores and HCAs of its own"
    return [Unbridged(f"the wrapper of steps has {' '.join(beside.alone)}", why)]


def of_binding(
    parts: Parts, started: Started | None, known: dict[str, SeenVariable], tables: tuple[SeenTable, ...]
) -> list[Unbridged]:
    """Who binds ranks beside their wrapper, and whether the pods have cores to bind to."""
    found = []
    if started is not None and started.kind == HYDRA:
        pins = {**{name: each.value for name, each in known.items()}, **dict(started.set)}
        if parts.mpi == "intel" and pins.get("I_MPI_PIN", "on").lower() not in _OFF:
            found.append(Unbridged("I_MPI_PIN is not off", "Intel MPI binds ranks by itself"))
    elif started is not None and not started.binding:
        found.append(Unbridged("mpirun without --bind-to none", "Open MPI binds ranks by itself"))
    if started is not None and started.binding not in ("", "none"):
        found.append(Unbridged(f"mpirun --bind-to {started.binding}", "mpirun binds ranks by itself"))
    bound = any(seat.cpus for table in tables for seat in table.seats) or any(table.part for table in tables)
    if bound and not pods.is_guaranteed(parts.ranks.spec):
        why = "the kubelet gives cores of its own only to a pod whose limits are its requests"
        found.append(Unbridged("pods that are not Guaranteed", why))
    return found
