"""Whether the claims and config maps behind a site's volumes are there, and good for jobs."""

from collections.abc import Iterator
from typing import Any

from hpclaunch.cluster.findings import Finding, lacking
from hpclaunch.spec.site import Site, Volume
from hpclaunch.values.clusterstate import Ask, Question

_SHARED = ("ReadWriteMany", "ReadOnlyMany")


def storage_of_jobs(site: Site, ask: Ask) -> Iterator[Finding]:
    """What is lacking of each volume."""
    for name, volume in site.volumes.items():
        if volume.claim is not None:
            key = f"volumes.{name}.claim"
            reply = ask(Question("persistentvolumeclaims", volume.claim))
            yield from lacking(key, f"claim {volume.claim}", reply)
            if reply.there:
                yield from _claim(key, volume, reply.body, ask)
        elif volume.config_map is not None:
            key = f"volumes.{name}.config_map"
            reply = ask(Question("configmaps", volume.config_map))
            yield from lacking(key, f"config map {volume.config_map}", reply)


def _claim(key: str, volume: Volume, body: dict[str, Any], ask: Ask) -> Iterator[Finding]:
    phase = (body.get("status") or {}).get("phase")
    if phase != "Bound" and not _waits_for_a_pod(body, ask):
        yield Finding(key, f"the claim {volume.claim} is {phase}, and no volume is bound to it")
    modes = body["spec"].get("accessModes") or []
    if volume.access in _SHARED and not set(modes) & set(_SHARED):
        message = f"the claim {volume.claim} is {', '.join(modes)}: pods on several nodes cannot have it"
        yield Finding(key, f"{message}, and the site says {volume.access}")


def _waits_for_a_pod(body: dict[str, Any], ask: Ask) -> bool:
    """Whether the claim's class makes the volume when the first pod comes."""
    name = body["spec"].get("storageClassName")
    if not name:
        return False
    reply = ask(Question("storageclasses", name, "storage.k8s.io", namespaced=False))
    return bool(reply.body.get("volumeBindingMode") == "WaitForFirstConsumer")
