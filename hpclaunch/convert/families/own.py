"""Scripts and manifests that hpclaunch itself rendered: read back, and made a job file again.

What a text says of ranks is in its reading; what a site and the tool added to the job is known where the site
is given: then the job is sought that renders to the same text (own_search). Without a site all that the text
sets is the job's own, which makes the same launch.
"""

import re
from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from hpclaunch.convert.draft import Draft, Key, dotted
from hpclaunch.convert.options import Options
from hpclaunch.readback.kubernetes.reader import read as read_manifest
from hpclaunch.readback.script import read as read_script
from hpclaunch.readback.shell.evaluate import evaluate
from hpclaunch.readback.shell.values import known
from hpclaunch.readback.slurm.directives import directives
from hpclaunch.readback.slurm.options import options as slurm_options
from hpclaunch.spec.scalars import variable_name
from hpclaunch.values.conversion import Place
from hpclaunch.values.cpulist import format_list
from hpclaunch.values.launch import Launch, SeenMount, SeenTable

FAMILY = "a text that hpclaunch rendered"
_HEADER = re.compile(r"^# \S.* on (\S+): ", re.MULTILINE)

_VARIABLE = re.compile(r"^  ['\"$]*(\w+)=", re.MULTILINE)

# Where a key of the job shows in the text, for the lines of a fact.
_SHOWS = {
    "name": r"--job-name=|^  name:",
    "nodes": r"--nodes=|replicas:",
    "ranks_per_node": r"--ntasks-per-node=|slotsPerWorker:|-npernode",
    "gpus_per_node": r"--gres=|nvidia\.com/gpu",
    "image": r"--container-image=|image:",
    "workdir": r"--container-workdir=|workingDir:|^  'cwd=|^  cwd=",
    "time": r"--time=|activeDeadlineSeconds:",
    "mpi": r"--mpi=",
    "rendezvous": r"rendezvous=",
    "command": r"^hl_command=|- --$",
    "mounts": r"--container-mounts=|volumeMounts:",
    "bind": r"^hl_masks=|^  'near=|cpus=|near=",
    "verify": r"verify=1",
    "env": r"^hl_environment=",
    "inherit": r"^hl_inherited=|\$\{",
    "secrets": r"as \$1|secretKeyRef",
}
_SAME_NAME = ("account", "partition", "qos", "reservation", "constraint", "nodelist", "exclude")
_HINTS = {**{name: name for name in _SAME_NAME}, "mail-user": "mail"}
# What the tool writes for keys of the job, or for every job: any other option was the job's own, raw.
_OF_SBATCH = """
job-name nodes ntasks-per-node gres exclusive mem time no-requeue open-mode propagate cpus-per-task mail-type
switches network
"""
_OF_SRUN = """
nodes ntasks ntasks-per-node distribution gres cpus-per-task cpu-bind mem-bind mpi export propagate
kill-on-bad-exit open-mode network exact overlap gpu-bind error
"""
_SBATCH = frozenset((*_OF_SBATCH.split(), *_HINTS))
_SRUN = frozenset(_OF_SRUN.split())


class Rendered(Struct, frozen=True):
    """A rendered text and its reading. `sbatch` and `srun` are its options by their names, as written."""

    name: str
    text: str
    launch: Launch
    sbatch: Mapping[str, str]
    srun: Mapping[str, str]
    raw_sbatch: tuple[str, ...] = ()
    raw_srun: tuple[str, ...] = ()

    def place(self, key: str) -> list[Place]:
        """The first line that shows a key of the job."""
        pattern = _SHOWS.get(key) or rf"--{re.escape(key)}\b|\b{re.escape(key)}[=:]"
        found = re.search(pattern, self.text, re.MULTILINE)
        return [Place(self.name, self.text.count("\n", 0, found.start()) + 1 if found else 0)]

    @property
    def site(self) -> str:
        """The site that its first comment names, "" for none."""
        found = _HEADER.search(self.text[:2000])
        return found[1] if found else ""


def read(name: str, text: str) -> Rendered:
    """A script or a manifest. Raises InputError, with its line, for one that cannot be read."""
    if not text.startswith("#!"):
        return Rendered(name, text, read_manifest(text, name), {}, {})
    launch = read_script(text, name)
    batch = [argument for each in directives(text) for argument in each.arguments]
    step = [call for call in evaluate(text, {"srun"}).calls if call.words and known(call.words[0]) == "srun"]
    given = slurm_options("sbatch", [(each,) for each in batch])[0]
    of_step = slurm_options("srun", step[-1].words[1:])[0] if step else []
    return Rendered(
        name,
        text,
        launch,
        {each.name: _text(each.value) for each in given},
        {each.name: _text(each.value) for each in of_step},
        tuple(each.written for each in given if each.name not in _SBATCH),
        tuple(each.written for each in of_step if each.name not in _SRUN and "container-" not in each.name),
    )


def _text(value: object) -> str:
    return known(value) or "" if isinstance(value, tuple) else ""


def facts(found: Rendered, options: Options) -> Iterator[tuple[Key, object, str]]:
    """The facts that the text alone tells for certain: (key, value, what shows it)."""
    launch = found.launch
    yield ("name",), launch.name, "the job's name"
    yield ("nodes",), launch.nodes, "nodes"
    yield ("gpus_per_node",), launch.gpus_per_node, "GPUs of each node"
    yield ("ranks_per_node",), launch.ranks_per_node, "ranks on each node"
    if launch.image:
        yield ("image",), launch.image, "the image"
    shell = launch.argv[:2] == ("/bin/sh", "-c") and len(launch.argv) == 3
    yield ("command",), launch.argv[2] if shell else list(launch.argv), "what each rank executes"
    if launch.cwd:
        yield ("workdir",), launch.cwd, "the working folder"
    if launch.seconds is not None:
        minutes = -(-launch.seconds // 60)
        yield ("time",), minutes or "UNLIMITED", "the time limit"
    family = re.match(r"pmix|pmi2|none", found.srun.get("mpi", ""))
    if family and family[0] != "none":
        yield ("mpi",), family[0], "what starts MPI"
    settings = dict(launch.settings)
    if settings.get("rendezvous") == "torch":
        yield ("rendezvous",), "torch", "PyTorch's variables"
    if settings.get("verify") == "1":
        yield ("verify",), True, "each rank reports where it is"
    yield from _switches(launch)
    for source, key in (("submitter", "inherit"), ("secret", "secrets")):
        names = [each.name for each in launch.environment if each.source == source]
        if names:
            yield (key,), names, "variables whose values are not in the text"
    mounts = [mount for each in launch.mounts if (mount := _mount(each, options)) is not None]
    if mounts:
        yield ("mounts",), mounts, "mounts"


def _switches(launch: Launch) -> Iterator[tuple[Key, object, str]]:
    if "read-only root filesystem" in launch.rights:
        yield ("container", "writable"), False, "a root filesystem that is not written"
    if "user 0" in launch.rights:
        yield ("container", "remap_root"), True, "root in the container"
    others = {each.what for each in launch.unbridged}
    for option, key in (("--container-mount-home", "mount_home"), ("--container-entrypoint", "entrypoint")):
        if option in others:
            yield ("container", key), True, option


def _mount(mount: SeenMount, options: Options) -> object:
    """A mount of the job: by the name of the site's volume where there is one."""
    name = _volume(mount, options)
    if not name and mount.kind == "claim":
        name = mount.source
    if name and ":" not in mount.target:
        return f"{name}:{mount.target}{':ro' if mount.read_only else ''}"
    if name or mount.kind != "path":
        return {"target": mount.target, "volume": name, "read_only": mount.read_only} if name else None
    if ":" in mount.source + mount.target:
        return {"source": mount.source, "target": mount.target, "read_only": mount.read_only}
    return f"{mount.source}:{mount.target}{':ro' if mount.read_only else ''}"


def _volume(mount: SeenMount, options: Options) -> str:
    form = (mount.kind, mount.source, mount.folder)
    return next((name for name, volume in options.volumes.items() if volume == form), "")


def environment(found: Rendered) -> dict[str, str]:
    """The variables whose values are in the text, but for those that no job can set, in its order."""
    values = {}
    for each in found.launch.environment:
        try:
            variable_name(each.name)
        except ValueError:
            continue
        if each.source == "text":
            values[each.name] = each.value
    start = max(found.text.find("\nhl_environment=("), 0)
    places = {each[1]: each.start() for each in reversed([*_VARIABLE.finditer(found.text, start)])}
    return dict(sorted(values.items(), key=lambda each: places.get(each[0], 0)))


def seats(tables: Sequence[SeenTable]) -> Iterator[tuple[str, list[str] | str]]:
    """`bind` by lists, of a text with one kind of node: its keys and values."""
    if len(tables) != 1 or not tables[0].seats:
        return
    table = tables[0]
    cpus = [format_list(seat.cpus) for seat in table.seats]
    if not table.part:
        yield "cpus", cpus if all(cpus) else "none"
        mems = [format_list(seat.mems) for seat in table.seats]
        yield "memory", "prefer" if table.seats[0].memory == "preferred" else mems if all(mems) else "none"
    hcas = [",".join(each.partition("/")[0] for each in seat.hcas) for seat in table.seats]
    if not table.hcas:
        yield "hcas", "none"
    elif all(seat.hcas == table.hcas for seat in table.seats) and len(table.hcas) > 1:
        yield "hcas", "all"
    elif all(hcas):
        yield "hcas", hcas


def hints(found: Rendered) -> Iterator[tuple[str, object]]:
    """What the text asks of the place: keys of `sites.NAME`."""
    for option, key in _HINTS.items():
        if option in found.sbatch:
            yield key, found.sbatch[option]
    if found.raw_sbatch:
        yield "sbatch", list(found.raw_sbatch)
    if found.raw_srun:
        yield "srun", list(found.raw_srun)


def convert(name: str, text: str, draft: Draft, options: Options) -> None:
    """Facts of the job behind a rendered text."""
    found = read(name, text)
    for key, value, what in facts(found, options):
        draft.put(key, value, found.place(str(key[0])), what)
    for each in found.launch.unread:
        draft.say("unread", [Place(name)], each)
    if options.render is not None:
        from hpclaunch.convert.families.own_search import search  # most texts are others'

        search(found, draft, options.render, options.site)
        return
    for variable, value in environment(found).items():
        draft.put(("env", variable), value, found.place("env"), variable)
    for part, value in seats(found.launch.tables):
        draft.put(("bind", part), value, found.place("bind"), f"bind.{part}")
    for key, value, shows in (
        (("gpu_type",), found.launch.gpu_kind, "gres"),
        (("locality",), "unit" if "switches" in found.sbatch else "", "switches"),
        (("fabric", "sharp"), found.sbatch.get("network") == "sharp", "network"),
    ):
        if value:
            draft.put(key, value, found.place(shows), dotted(key))
    if dict(found.launch.settings).get("strict") == "1":
        draft.put(
            ("bind", "hcas"), "strict", found.place("strict"), "an HCA that cannot be used ends the job"
        )
    site = options.site or found.site
    for hint, value in hints(found) if site else ():
        draft.put(("sites", site, hint), value, found.place(hint), f"--{hint}")
    if found.site:
        draft.say(
            "assumed",
            [Place(name, 2)],
            f"rendered for the site {found.site}",
            why="which variables, cores and options that site sets by itself is not in the text",
            todo=f"give --site {found.site} to leave them out of the job",
        )
