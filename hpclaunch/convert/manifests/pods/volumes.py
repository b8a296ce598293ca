"""What is behind a pod's volume, in the words of a site file and as a reading of manifests has it."""

import re
from collections.abc import Mapping

from msgspec import Struct

from hpclaunch.convert.manifests.objects.claims import Claims
from hpclaunch.convert.manifests.text.fields import Field
from hpclaunch.readback.place import Form
from hpclaunch.values.conversion import Place

_SUFFIX = re.compile(r"[-_.]?(pvc|claim|pv|vol|volume)$")
_PREFIX = re.compile(r"^(pvc|claim)[-_.]")
# A JSON number is decimal, and with a 0 in front YAML has an octal one.
_OCTAL = re.compile(r"0o?[0-7]+")
_EXECUTE = 0o111
_FILES = ("File", "FileOrCreate", "Socket", "CharDevice", "BlockDevice")


class Behind(Struct, frozen=True):
    """`form` is the kind, which one, and the folder in it; `name` how a site may call it; `says` the site's
    keys of the volume ({}: a path of the host, which needs no name). `more` are lines of other objects that
    tell of it, `note` what the volume's own field says beside that: the type of a host's path, the one file
    of a config map. `started` is a field by which files of a config map may be executed."""

    form: Form
    name: str
    says: Mapping[str, object]
    what: str
    read_only: bool = False
    file: bool = False
    more: tuple[Place, ...] = ()
    note: str = ""
    started: str = ""


def short_name(name: str) -> str:
    """The site's name of a claim: without what says that it is one."""
    return _PREFIX.sub("", _SUFFIX.sub("", name)) or name


def behind(volume: Field, folder: str, claims: Claims) -> Behind | None:
    """What a mount of `folder` in a volume shows; None for kinds of volumes that no site can name."""
    named = volume.get("name")
    name = named.text() if named is not None else "volume"
    for key, read in _KINDS.items():
        field = volume.get(key)
        if field is not None:
            return read(field, name, folder, claims)
    if all(key == "name" for key, _ in volume.fields()):
        # SetDefaults_Volume in kubernetes/kubernetes, pkg/apis/core/v1/defaults.go
        return Behind(("empty", "", ""), name, {"empty_dir": {}}, "an empty folder (the API's default)")
    return None


def _text(field: Field, key: str) -> str:
    found = field.get(key)
    return found.text() if found is not None else ""


def _truth(field: Field, key: str) -> bool:
    found = field.get(key)
    return found is not None and found.truth()


def _claim(field: Field, name: str, folder: str, claims: Claims) -> Behind:
    claim = _text(field, "claimName")
    more, lines = claims.of(claim)
    label = short_name(claim)
    says: dict[str, object] = {"claim": claim}
    if folder:
        says["folder"] = folder
        label = f"{label}-{re.sub('[^A-Za-z0-9]+', '-', folder).strip('-')}"
    return Behind(
        ("claim", claim, folder),
        label,
        {**says, **more},
        f"the claim {claim}",
        _truth(field, "readOnly"),
        more=tuple(lines),
    )


def _host_path(field: Field, name: str, folder: str, claims: Claims) -> Behind:
    path, kind = _text(field, "path"), _text(field, "type")
    if folder:
        path = f"{path.rstrip('/')}/{folder}"
    what = f"the host's {path}"
    return Behind(("path", path, ""), "", {}, what, file=kind in _FILES, note=kind)


def _nfs(field: Field, name: str, folder: str, claims: Claims) -> Behind:
    server, path = _text(field, "server"), _text(field, "path")
    if folder:
        path = f"{path.rstrip('/')}/{folder}"
    says = {"nfs": {"server": server, "path": path}}
    what = f"the NFS export {server}:{path}"
    return Behind(("nfs", f"{server}:{path}", ""), name, says, what, _truth(field, "readOnly"))


def _empty(field: Field, name: str, folder: str, claims: Claims) -> Behind:
    memory, size = _text(field, "medium") == "Memory", _text(field, "sizeLimit")
    if not any(True for _ in field.fields()):
        field.take()  # emptyDir: {}
    says = {"empty_dir": {**({"memory": True} if memory else {}), **({"size": size} if size else {})}}
    form: Form = ("empty", "memory" if memory else "", "")
    return Behind(form, name, says, "an empty folder", note=size)


def _config_map(field: Field, name: str, folder: str, claims: Claims) -> Behind:
    found = _text(field, "name")
    items = field.get("items")
    part = folder or ("items" if items is not None else "")
    started = _started(field, "defaultMode") or next(
        (said for item in (items.items() if items else ()) if (said := _started(item, "mode"))), ""
    )
    field.take()
    says = {"config_map": found}
    return Behind(
        ("config map", found, ""),
        short_name(found),
        says,
        f"the config map {found}",
        True,
        note=part,
        started=started,
    )


def _started(field: Field, key: str) -> str:
    """The key with its mode where that lets somebody execute a file."""
    mode = field.get(key)
    text = mode.peek() if mode is not None else ""
    if _OCTAL.fullmatch(text):
        number = int(text.removeprefix("0o"), 8)
    else:
        number = int(text) if text.isdecimal() and len(text) < 5 else 0
    return f"{key} {text}" if number & _EXECUTE else ""


_KINDS = {
    "persistentVolumeClaim": _claim,
    "hostPath": _host_path,
    "nfs": _nfs,
    "emptyDir": _empty,
    "configMap": _config_map,
}
