"""The container in Pyxis's words: options of srun, each checked against the site's version."""

from hpclaunch.capability.tables import pyxis_feature_since, pyxis_has, pyxis_has_feature, pyxis_since
from hpclaunch.plan import image as images
from hpclaunch.plan.findings import Findings
from hpclaunch.spec.site import Site
from hpclaunch.values.errors import InputError, Path, Problem
from hpclaunch.values.launchplan import Container, Mount
from hpclaunch.values.words import Option

# Pyxis splits --container-mounts at these and knows no escape (args.c).
_SEPARATORS = ",:"

# Both ways are written out, since the nodes' enroot.conf may set either.
_SWITCHES = (
    ("mount_home", "--container-mount-home", "--no-container-mount-home"),
    ("remap_root", "--container-remap-root", "--no-container-remap-root"),
    ("writable", "--container-writable", "--container-readonly"),
    ("entrypoint", "--container-entrypoint", "--no-container-entrypoint"),
)


def options(
    container: Container, directory: str, site: Site, outside: tuple[str, ...], found: Findings
) -> tuple[Option, ...]:
    """The options, and in `found` what this version of Pyxis cannot do. A relative image file is found from
    `directory`; `outside` names variables whose value from the host must beat the image's."""
    assert site.slurm is not None
    assert site.slurm.pyxis is not None
    version = site.slurm.pyxis
    chosen: list[Option] = []

    def add(name: str, value: str | None, path: Path, why: str = "") -> None:
        if pyxis_has(name, version):
            chosen.append(Option(name if value is None else f"{name}={value}", why))
        else:
            message = f"{name} came with Pyxis {pyxis_since()[name]}, and site {site.name} has {version}"
            found.refuse(message, *path)

    try:
        name = images.pyxis_form(container.image, directory)
        add("--container-image", container.shared or name, ("image",))
        if name.startswith("dockerd://") and not pyxis_has_feature("dockerd", version):
            since = pyxis_feature_since("dockerd")
            message = f"dockerd:// came with Pyxis {since}, and site {site.name} has {version}"
            found.refuse(message, "image")
    except InputError as error:
        found.problems += error.problems
    found.problems += _unspeakable(container.mounts)
    if container.mounts:
        add("--container-mounts", ",".join(map(_mount, container.mounts)), ("mounts",))
    if container.workdir:
        add("--container-workdir", container.workdir, ("workdir",))

    usual = Container(image="")
    for key, yes, no in _SWITCHES:
        wanted = getattr(container, key)
        option = yes if wanted else no
        if not pyxis_has(option, version) and wanted == getattr(usual, key):
            since = pyxis_since()[option]
            found.warnings.append(
                f"Pyxis {version} has no {option} ({since}): the nodes' enroot.conf decides"
            )
        else:
            add(option, None, ("container", key))

    names = tuple(dict.fromkeys(container.env + outside))
    if container.env or (names and pyxis_has("--container-env", version)):
        add("--container-env", ",".join(names), ("container", "env"), "else the image's own values win")
    elif names:
        since = pyxis_since()["--container-env"]
        found.warnings.append(
            f"Pyxis {version} has no --container-env ({since}): where the image sets {', '.join(names)}, "
            "its hooks see the image's value"
        )
    if container.save:
        add("--container-save", container.save, ("container", "save"))
    return tuple(chosen)


def _mount(mount: Mount) -> str:
    return f"{mount.source}:{mount.target}" + (":ro" if mount.read_only else "")


def _unspeakable(mounts: tuple[Mount, ...]) -> list[Problem]:
    return [
        Problem(
            f"Pyxis cannot mount {path!r}: it takes `,` and `:` for separators; "
            "make a symbolic link without them and mount that",
            "job",
            ("mounts", index),
        )
        for index, mount in enumerate(mounts)
        for path in (mount.source, mount.target)
        if any(mark in path for mark in _SEPARATORS)
    ]
