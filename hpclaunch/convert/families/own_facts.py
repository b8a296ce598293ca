"""What a rendered text tells of its job for certain, by keys of the job file."""

import os.path
import re
from collections.abc import Iterator, Mapping, Sequence

from hpclaunch.convert.draft import STEPS, Key
from hpclaunch.convert.families import own_groups, own_pods
from hpclaunch.convert.families.own_text import SIGNAL, Rendered, command, is_chain
from hpclaunch.convert.options import Options
from hpclaunch.readback.place import form_text
from hpclaunch.values.cpulist import format_list
from hpclaunch.values.launch import Launch, SeenMount, SeenTable

_JUDGED = re.compile(r'hpclaunch-(?:preflight|links) "\$hl_claim" \d+ (\d+) ')


def facts(found: Rendered, options: Options) -> Iterator[tuple[Key, object, str]]:
    """The facts that the text alone tells for certain: (key, value, what shows it)."""
    launch = found.launch
    yield ("name",), launch.name, "the job's name"
    if launch.groups:
        yield from own_groups.facts(found)
    else:
        yield ("nodes",), launch.nodes, "nodes"
    yield ("gpus_per_node",), launch.gpus_per_node, "GPUs of each node"
    yield ("ranks_per_node",), launch.ranks_per_node, "ranks on each node"
    if launch.image:
        yield ("image",), launch.image, "the image"
    if launch.argv:
        yield ("command",), command(launch.argv), "what each rank executes"
    if launch.cwd:
        yield ("workdir",), launch.cwd, "the working folder"
    if launch.seconds is not None:
        minutes = -(-launch.seconds // 60)
        yield ("time",), minutes or "UNLIMITED", "the time limit"
    family = re.match(r"pmix|pmi2|none", found.srun.get("mpi", ""))
    if family and family[0] != "none":
        yield ("mpi",), family[0], "what starts MPI"
    settings = own_groups.settings(launch)
    if settings.get("rendezvous") == "torch":
        yield ("rendezvous",), "torch", "PyTorch's variables"
    if settings.get("verify") == "1":
        yield ("verify",), True, "each rank reports where it is"
    yield from _switches(launch)
    yield from _beside(launch, options)
    yield from _long_run(found)
    yield from _profile(launch, settings)
    yield from _preflight(found)
    for source, key in (("submitter", "inherit"), ("secret", "secrets")):
        names = [each.name for each in launch.environment if each.source == source]
        if names:
            yield (key,), names, "variables whose values are not in the text"
    mounts = [mount for each in launch.mounts if (mount := _mount(each, options)) is not None]
    if mounts:
        yield ("mounts",), mounts, "mounts"


def _beside(launch: Launch, options: Options) -> Iterator[tuple[Key, object, str]]:
    """Data brought near, steps before and after, and trials."""
    copies = [
        {
            "source": _side(each.source, each.source_volume, options),
            "target": _side(each.target, each.target_volume, options),
        }
        for each in launch.stage_in
    ]
    if copies:
        plain = all(":" not in side for each in copies for side in each.values())
        yield (
            ("stage_in",),
            [":".join(each.values()) for each in copies] if plain else copies,
            "folders copied",
        )
    for when in STEPS:
        for index, step in enumerate(each for each in launch.steps if each.when == when):
            title = step.title.partition(": ")[2]  # none where no word of the command can be printed
            what = {"run": command(step.argv), **({"name": title} if title.strip() else {})}
            what |= {"where": step.where, "per": step.per}
            yield (when, index), {**what, **({"optional": True} if step.optional else {})}, step.title
    trials = launch.trials
    if trials is not None:
        told = {"first_seed": trials.first_seed, "log": trials.log or None}
        told = {key: value for key, value in told.items() if value is not None}
        keep = {"keep_going": True} if trials.keep_going else {}
        yield ("trials",), {"count": trials.count, "seed": trials.seed or None, **told, **keep}, "trials"


def _long_run(found: Rendered) -> Iterator[tuple[Key, object, str]]:
    """What becomes of the job when it does not end by itself, and who is told."""
    launch = found.launch
    if "requeue" in found.sbatch:
        yield ("requeue",), True, "Slurm may start it again"
    signal = SIGNAL.fullmatch(found.sbatch.get("signal", ""))
    of_steps = re.search(r"^#SBATCH --signal=\S+  # the `after` steps", found.text, re.MULTILINE)
    if signal and not of_steps:
        yield ("signal",), {"name": signal[1], "before": f"{signal[2]}s"}, "a signal before the limit"
    links = re.fullmatch(r"0-(\d+)%1", found.sbatch.get("array", ""))
    if links and is_chain(launch):
        yield ("chain",), int(links[1]) + 1, "links, one after the other"
    told = launch.notify
    if told is not None:
        named = {"webhook": told.webhook_secret or told.webhook, "token": told.token}
        who = (
            {"command": command(told.command)}
            if told.command
            else {key: text for key, text in named.items() if text}
        )
        yield ("notify",), {**who, **({"start": True} if told.start else {})}, "who is told of the end"


def _profile(launch: Launch, settings: Mapping[str, str]) -> Iterator[tuple[Key, object, str]]:
    """A profiler before the command of some ranks: its own words end with the one that lets it write over a
    file, those of the job follow, and the last names the file."""
    words = settings.get("profiler", "").split("\n")
    own = next((index for index, word in enumerate(words) if word.startswith("--force-overwrite")), None)
    if own is None:
        return
    ranks = [int(each) for each in settings.get("profile", "").split(",") if each.isdecimal()]
    told: dict[str, object] = {"tool": words[0], "ranks": ranks}
    if words[own + 1 : -1]:
        told["args"] = words[own + 1 : -1]
    folder = os.path.dirname(settings.get("profile_to", ""))
    if folder != os.path.join(launch.cwd, "profiles") or launch.image:
        told["output"] = folder
    yield ("profile",), told, "a profiler of some ranks"


def _preflight(found: Rendered) -> Iterator[tuple[Key, object, str]]:
    """Which checks of the nodes there are. What they must reach is the site's own."""
    limits = _JUDGED.search(found.text)
    if limits is None:
        return
    first = found.launch.parts[0] if found.components else found.launch  # each allocation has its own
    spares = int(found.sbatch.get("nodes") or 0) - first.nodes
    told: dict[str, object] = {"spares": spares} if spares > 0 else {}
    for key, setting, counts in (("gpu", "gpus=", found.launch.gpus_per_node > 0), ("hca", "hcas=", True)):
        if counts and not re.search(rf"^ *hl_checked=\($[^)]*^ *'?{setting}", found.text, re.MULTILINE):
            told[key] = False
    if re.search(r"^ *hl_(?:measured|linked)=\(", found.text, re.MULTILINE):
        told["nccl"] = True
    yield ("preflight",), {**told, "limit": f"{limits[1]}s"}, "nodes are checked before the ranks start"


def _side(path: str, volume: str, options: Options) -> str:
    """A path, or what is told of a volume, by the name of the site's volume where there is one."""
    for name, form in options.volumes.items():
        if form == ("path", path, "") or (volume and form_text(form) == volume):
            return name
    return volume or path


def imported_to(found: Rendered) -> str:
    """The folder that the text imports its image to, "" where it does not."""
    image = found.srun.get("container-image", "")
    return os.path.dirname(image) if image.startswith("/") and not found.launch.image.startswith("/") else ""


def _switches(launch: Launch) -> Iterator[tuple[Key, object, str]]:
    if "read-only root filesystem" in launch.rights:
        yield ("container", "writable"), False, "a root filesystem that is not written"
    if "user 0" in launch.rights and not own_pods.has_root_sshd(launch):
        yield ("container", "remap_root"), True, "root in the container"
    if "privileged" in launch.rights:
        yield ("container", "privileged"), True, "every right on the node"
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
    if found.launch.scheduler == "kubernetes":
        yield from own_pods.hints(found.launch)
        return
    yield from own_groups.shared_hints(found).items()
    if found.raw_sbatch:
        yield "sbatch", list(found.raw_sbatch)
    if found.raw_srun:
        yield "srun", list(found.raw_srun)
