"""The command line of mpirun and mpiexec: how many ranks, where, and what they are told.

The options and how many words each takes are those of Open MPI 4.1.4 (schizo_ompi.c, mca_base_cmd_line.c),
of PRRTE 3 in Open MPI 5 (schizo_ompi.c there), and of Hydra 4.0 (`mpiexec -help`) with Intel MPI's of the
same launcher (its developer reference). One dash or two are the same.
"""

from collections.abc import Sequence

from msgspec import Struct

OPEN_MPI, HYDRA = "openmpi", "hydra"

# Option -> what it says here. An empty meaning changes nothing for a rank; "?" is of a kind that readings do
# not understand, and is reported.
_OPEN_MPI: tuple[tuple[int, str, str], ...] = (
    (1, "ranks", "np n c"),
    (1, "per node", "npernode N"),
    (0, "one per node", "pernode"),
    (1, "map", "map-by"),
    (1, "rank", "rank-by"),
    (0, "map by node", "bynode"),
    (0, "", "byslot"),
    (1, "bind", "bind-to"),
    (0, "bind to core", "bind-to-core bycore"),
    (0, "bind to socket", "bind-to-socket"),
    (1, "hosts", "hostfile machinefile default-hostfile"),
    (1, "cwd", "wdir wd"),
    (1, "carry", "x"),
    (2, "parameter", "mca gmca prtemca pmixmca omca"),
    (0, "goes on", "enable-recovery continuous"),
    (0, "", "tag-output timestamp-output allow-run-as-root report-bindings display-map display-allocation"),
    (0, "", "oversubscribe nooversubscribe nolocal use-hwthread-cpus merge-stderr-to-stdout quiet q"),
    (0, "", "disable-recovery noprefix show-progress leave-session-attached debug-daemons"),
    (0, "", "report-child-jobs-separately verbose v"),
    (1, "", "prefix stdin output display personality"),
    (1, "?", "host H rankfile rf cpu-list cpu-set cpus-per-proc cpus-per-rank ppr npersocket app path"),
    (1, "?", "tune am timeout output-filename preload-files launch-agent max-restarts xterm debugger"),
    (1, "?", "runtime-options"),
    (0, "?", "set-cwd-to-session-dir index-argv-by-rank preload-binary s do-not-launch debug tv"),
)  # fmt: skip
_HYDRA: tuple[tuple[int, str, str], ...] = (
    (1, "ranks", "n np"),
    (1, "per node", "ppn perhost grr"),
    (0, "map by node", "rr"),
    (1, "hosts", "f hostfile machinefile"),
    (1, "cwd", "wdir"),
    (2, "set", "genv env"),
    (1, "carry", "genvlist envlist"),
    (0, "carry all", "genvall envall"),
    (0, "carry none", "genvnone envnone"),
    (1, "bind", "bind-to"),
    (0, "goes on", "disable-auto-cleanup"),
    (0, "", "prepend-rank l verbose v info print-all-exitcodes skip-launch-node"),
    (1, "", "iface launcher launcher-exec bootstrap bootstrap-exec rmk demux localhost prepend-pattern"),
    (1, "?", "hosts host map-by membind topolib order-nodes usize configfile outfile-pattern"),
    (1, "?", "errfile-pattern gpus-per-proc"),
)  # fmt: skip
TABLES = {
    kind: {name: (words, meaning) for words, meaning, names in table for name in names.split()}
    for kind, table in ((OPEN_MPI, _OPEN_MPI), (HYDRA, _HYDRA))
}
PROGRAMS = {
    "mpirun": OPEN_MPI,
    "orterun": OPEN_MPI,
    "prterun": OPEN_MPI,
    "mpiexec": OPEN_MPI,
    "mpiexec.openmpi": OPEN_MPI,
    "mpirun.openmpi": OPEN_MPI,
    "mpiexec.hydra": HYDRA,
    "mpiexec.mpich": HYDRA,
    "mpirun.mpich": HYDRA,
}
# Open MPI 4 and 5: what other ranks do when one ends with another status than 0.
_GOES_ON = ("orte_abort_on_non_zero_status", "prte_abort_on_non_zero_status")
_POLICIES = {"rmaps_base_mapping_policy": "map", "rmaps_default_mapping_policy": "map"}
# Modifiers of a mapping that say how many may share what, not who goes where.
_OF_NO_WEIGHT = frozenset(("oversubscribe", "nooversubscribe", "nolocal", "inherit", "noinherit"))
_BINDING = ("hwloc_base_binding_policy", "hwloc_default_binding_policy")


class Started(Struct, frozen=True):
    """What a command line of mpirun starts. `ranks` and `per_node` are None where it does not say.

    `numbering` is "block" (0 1 2 on the first node), "cyclic" (0 on the first, 1 on the second) or another
    mapping by its name; `binding` is who binds: "" its default, "none", or what ranks are bound to. `carried`
    are names of variables, `set` those with a value; `all_carried` that the launcher's own go with them.
    `command` is what each rank runs.
    """

    kind: str
    ranks: int | None = None
    per_node: int | None = None
    numbering: str = "block"
    binding: str = ""
    hostfile: str = ""
    cwd: str = ""
    carried: tuple[str, ...] = ()
    all_carried: bool = False
    set: tuple[tuple[str, str], ...] = ()
    parameters: tuple[tuple[str, str], ...] = ()
    one_failure_ends_all: bool = True
    command: tuple[str, ...] = ()
    unread: tuple[str, ...] = ()


def is_mpirun(word: str) -> bool:
    """Whether a command is one that starts ranks."""
    return word.rpartition("/")[2] in PROGRAMS


def read(words: Sequence[str], kind: str = "") -> Started:
    """The command line, `words[0]` being mpirun. `kind` says whose it is, where the name alone does not:
    mpiexec is Open MPI's unless the caller knows better. Never raises: what is not understood is in
    `unread`."""
    kind = kind or PROGRAMS.get(words[0].rpartition("/")[2], OPEN_MPI)
    table = TABLES[kind]
    found: dict[str, str] = {}
    carried: list[str] = []
    values: list[tuple[str, str]] = []
    parameters: list[tuple[str, str]] = []
    unread: list[str] = []
    rest = list(words[1:])
    while rest and rest[0].startswith("-"):
        option = rest.pop(0)
        if option == "--":
            break
        name, equals, attached = option.lstrip("-").partition("=")
        count, meaning = table.get(name, (0, "?"))
        if equals:
            given, rest = [attached, *rest[: count - 1]][:count], rest[max(count - 1, 0) :]
        else:
            given, rest = rest[:count], rest[count:]
        if meaning == "?" or len(given) < count:
            unread.append(" ".join(["mpirun", option, *given]))
        elif meaning == "carry":
            parts = given[0].split(",") if kind == HYDRA else given
            carried += [part for part in parts if "=" not in part]
            values += [tuple(part.split("=", 1)) for part in parts if "=" in part]  # type: ignore[misc]
        elif meaning == "set":
            values.append((given[0], given[1]))
        elif meaning == "parameter":
            parameters.append((given[0], given[1]))
            found.update(_of_parameter(given[0], given[1]))
        elif meaning:
            found[meaning] = given[0] if given else "1"
    number = {
        name: _number(found[name], f"mpirun: {name}", unread)
        for name in ("ranks", "per node")
        if name in found
    }
    per_node, numbering = _mapping(found, unread)
    return Started(
        kind=kind,
        ranks=number.get("ranks"),
        per_node=number.get("per node") or per_node,
        numbering=numbering,
        binding=_binding(found),
        hostfile=found.get("hosts", ""),
        cwd=found.get("cwd", ""),
        carried=tuple(dict.fromkeys(carried)),
        all_carried="carry all" in found or (kind == HYDRA and "carry none" not in found and not carried),
        set=tuple(values),
        parameters=tuple(parameters),
        one_failure_ends_all="goes on" not in found,
        command=tuple(rest),
        unread=tuple(unread),
    )


def _of_parameter(name: str, value: str) -> dict[str, str]:
    if name in _GOES_ON:
        return {"goes on": "1"} if value in ("0", "false", "no") else {}
    if name in _BINDING:
        return {"bind": value}
    return {_POLICIES[name]: value} if name in _POLICIES else {}


def _mapping(found: dict[str, str], unread: list[str]) -> tuple[int | None, str]:
    """How many ranks a mapping puts on a node (None: as many as it has slots), and how they are numbered."""
    if "one per node" in found:
        return 1, "block"
    if "map by node" in found:
        return None, "cyclic"
    if "rank" in found and found["rank"].split(":")[0] != "slot":
        return None, "cyclic" if found["rank"] == "node" else f"by {found['rank']}"
    policy, *modifiers = found.get("map", "slot").split(":")
    if policy.lower() == "ppr" and len(modifiers) > 1:
        if modifiers[1] == "node":
            return _number(modifiers[0], "mpirun: --map-by ppr", unread), "block"
        return None, f"by {':'.join(modifiers[1:2])}"
    unread += [f"mpirun --map-by: {each}" for each in modifiers if each.lower() not in _OF_NO_WEIGHT]
    # Open MPI fills a node's slots, core by core, before it goes to the next.
    if policy.lower() in ("slot", "core", "hwthread", ""):
        return None, "block"
    return None, "cyclic" if policy.lower() == "node" else f"by {policy}"


def _binding(found: dict[str, str]) -> str:
    for name in ("core", "socket"):
        if f"bind to {name}" in found:
            return name
    return found.get("bind", "")


def _number(text: str, what: str, unread: list[str]) -> int | None:
    if text.isascii() and text.isdigit() and len(text) < 8 and int(text):
        return int(text)
    unread.append(f"{what} {text!r} is no number of ranks")
    return None
