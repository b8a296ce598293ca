"""GPUs that a pod's resource claims bring, where the objects of the claims are there.

A claim has requests, and each asks for a number of devices of a class: k8s.io/api, resource/v1 (`exactly`, or
`firstAvailable` of several) and v1beta1 (the same fields without `exactly`). Without allocationMode it is
ExactCount, and without count that is one.
"""

import re
from collections.abc import Iterator, Sequence

from hpclaunch.convert.manifests.objects.workload import Count, Pod
from hpclaunch.convert.manifests.text.fields import Field
from hpclaunch.values.conversion import Place

_CLAIM, _TEMPLATE = "ResourceClaim", "ResourceClaimTemplate"
# The driver of a ComputeDomain makes a template for its pods' channels between nodes, which are no GPUs:
# NVIDIA's k8s-dra-driver-gpu, api/nvidia.com/resource/v1beta1/computedomain.go.
_DOMAIN = "ComputeDomain"
KINDS = (_CLAIM, _TEMPLATE, _DOMAIN)
_UNTOLD = "a resource claim may bring some, and no limit asks for any"
# The classes of NVIDIA's, AMD's and Intel's drivers: gpu.nvidia.com, gpu.amd.com, gpu.intel.com.
_OF_GPUS = re.compile(r"(?<![a-z])gpus?(?![a-z])")
# What is a part of a GPU, or a device beside it: mig.nvidia.com, vfio.gpu.nvidia.com, amdgpu-partition.
_PARTS = re.compile(r"(?<![a-z])mig(?![a-z])|partition|vfio|slice|shar", re.IGNORECASE)
_OF_NETWORKS = re.compile(r"(?<![a-z])(?:s?nic|rdma|dranet|net|sriov|efa|ib|roce)(?![a-z])")


def gpus(pod: Pod, claims: Sequence[Field], given: Field) -> Count:
    """How many the claims of a container bring, `given` as its resources name them; None where one of them
    is not there, or asks for what may be no whole GPUs. What names them counts as read where they bring
    nothing else."""
    whole, places, said, others = 0, [given.place], [], False
    for named in given.items():
        name, one = named.get("name"), named.get("request")
        own = _of_pod(pod, name.peek()) if name is not None else None
        claim = _object(own, claims) if own is not None else None
        if own is None or claim is None:
            return Count(None, (given.at,), _UNTOLD)
        asked = list(_requests(claim, one.peek() if one is not None else ""))
        others = others or not asked
        title = " ".join(filter(None, (_text(claim, "kind"), _text(claim, "metadata", "name"))))
        for request in asked:
            number, kind = _number(request), _text(request, "deviceClassName")
            if _OF_NETWORKS.search(kind):
                others = True
                continue
            if number is None or not _OF_GPUS.search(kind) or _is_part(request, kind):
                what = f"the {title} asks for {' and '.join(map(_amount, asked))}, perhaps for parts of GPUs"
                return Count(None, (given.at, *(each.place for each in asked)), what)
            whole += number
            said.append(f"{title}: {number} of {kind}")
        places += [own.place, *(request.place for request in asked)]
    for field in (given, pod.spec.get("resourceClaims")):
        if field is not None and not others:
            field.take()
    return Count(whole, _once(places), ", ".join(said) or "claims without a GPU")


def _of_pod(pod: Pod, name: str) -> Field | None:
    listed = pod.spec.get("resourceClaims")
    for each in listed.items() if listed is not None else ():
        if _text(each, "name") == name:
            return each
    return None


def _object(own: Field, claims: Sequence[Field]) -> Field | None:
    """The object that an entry of a pod names. v1alpha2 has the names in `source`."""
    for kind, key, path in (
        (_CLAIM, "resourceClaimName", ("metadata", "name")),
        (_TEMPLATE, "resourceClaimTemplateName", ("metadata", "name")),
        (_DOMAIN, "resourceClaimTemplateName", ("spec", "channel", "resourceClaimTemplate", "name")),
    ):
        named = _text(own, key) or _text(own, "source", key)
        for each in claims:
            if named and (_text(each, "kind"), _text(each, *path)) == (kind, named):
                return each
    return None


def _requests(claim: Field, only: str) -> Iterator[Field]:
    """What has class and number of each request, or of the one with that name."""
    path = ("spec", "spec") if _text(claim, "kind") == _TEMPLATE else ("spec",)
    listed = claim.get(*path, "devices", "requests")
    for each in listed.items() if listed is not None else ():
        if only in ("", _text(each, "name")):
            yield each.get("exactly") or each


def _number(request: Field) -> int | None:
    if _text(request, "allocationMode") not in ("", "ExactCount") or request.get("firstAvailable"):
        return None
    count = _text(request, "count") or "1"
    return int(count) if count.isdecimal() and len(count) < 7 else None


def _is_part(request: Field, kind: str) -> bool:
    selectors = request.get("selectors")
    wanted = [_text(each, "cel", "expression") for each in selectors.items()] if selectors is not None else []
    return any(map(_PARTS.search, [kind, *wanted]))


def _amount(request: Field) -> str:
    number = _number(request)
    kind = _text(request, "deviceClassName") or "a device that no class names"
    wanted = " by selectors" * (request.get("selectors") is not None)
    return f"{number if number is not None else 'a number'} of {kind}{wanted}"


def _text(field: Field, *keys: str) -> str:
    found = field.get(*keys)
    return found.peek() if found is not None else ""


def _once(places: Sequence[Place]) -> tuple[Place, ...]:
    return tuple(dict.fromkeys(places))
