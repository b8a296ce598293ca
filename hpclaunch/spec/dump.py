"""A Job or a Site as YAML text that reads back as the same value, for records."""

import os.path
from typing import Any

import yaml
from msgspec import Struct, structs

from hpclaunch.spec.job import Job
from hpclaunch.spec.scalars import UNLIMITED
from hpclaunch.spec.search import is_path
from hpclaunch.spec.site import Site


def dump_job(job: Job) -> str:
    """The job as text, complete in itself: its `directory` says where relative paths start."""
    data = _plain(job)
    if not job.directory:
        del data["directory"]
    if not job.command:  # its groups have theirs
        del data["command"]
    if job.time == UNLIMITED:
        data["time"] = "UNLIMITED"
    if job.signal is not None:
        data["signal"]["before"] = f"{job.signal.before}s"  # a bare number is minutes
    if job.preflight is not None:
        data["preflight"]["limit"] = f"{job.preflight.limit}s"
    return _text(data)


def dump_site(site: Site) -> str:
    """The site as text, complete in itself: node types that are files have their whole paths."""
    groups = tuple(
        structs.replace(group, type=os.path.abspath(group.type)) if is_path(group.type) else group
        for group in site.node_types
    )
    return _text(_plain(structs.replace(site, node_types=groups)))


def _plain(value: Any) -> Any:
    """Maps, lists and scalars. What is unset or empty is left out; every other default is written, so that
    the text means the same to a later version with other defaults."""
    if isinstance(value, Struct):
        fields = value.__struct_fields__
        keys = zip(fields, value.__struct_encode_fields__, _defaults(value), strict=True)
        parts = ((key, getattr(value, name), default) for name, key, default in keys)
        return {key: _plain(part) for key, part, default in parts if not _left_out(part, default)}
    if isinstance(value, dict):
        return {key: _plain(part) for key, part in value.items()}
    if isinstance(value, tuple):
        return [_plain(part) for part in value]
    return value


def _defaults(value: Struct) -> tuple[Any, ...]:
    """For each field, None where it has none."""
    given = value.__struct_defaults__
    return (*(None,) * (len(value.__struct_fields__) - len(given)), *given)


def _left_out(part: Any, default: Any) -> bool:
    """Null is written where it is somebody's choice (`seed: null`) and not the default."""
    return part in ((), {}) or (part is None and default is None)


def _text(data: dict[str, Any]) -> str:
    dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
    text: str = yaml.dump(data, Dumper=dumper, sort_keys=False, width=1_000_000)
    return text
