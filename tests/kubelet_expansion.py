"""What the kubelet does to command, args and env values, on bytes as it does it
(k8s.io/kubernetes v1.31, third_party/forked/golang/expansion/expand.go; pkg/kubelet/container/helpers.go).

Nothing of it is shared with the renderer.
"""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any


def expand(text: str, variables: Mapping[str, str]) -> str:
    """The text as the container has it."""
    given, got, at = text.encode(), bytearray(), 0
    while at < len(given):
        after = given[at + 1 : at + 2]
        if given[at : at + 1] != b"$" or not after:
            got += given[at : at + 1]
            at += 1
        elif after == b"$":
            got += b"$"
            at += 2
        elif after == b"(" and (end := given.find(b")", at + 2)) >= 0:
            name = given[at + 2 : end].decode()
            got += variables.get(name, f"$({name})").encode()
            at = end + 1
        else:
            # One byte becomes a character of its own: "é" after a dollar arrives as "Ã" and half of the rest.
            got += b"$" + chr(after[0]).encode()
            at += 2
    return got.decode("utf-8", "replace")


def environment(
    container: Mapping[str, Any],
    secrets: Mapping[tuple[str, str], str],
    services: Mapping[str, str] = MappingProxyType({}),
) -> dict[str, str]:
    """The variables that the container starts with (makeEnvironmentVariables of pkg/kubelet/kubelet_pods.go):
    a value may refer to those before it, and to the services'. `secrets` are values by the Secret's name and
    the key."""
    found: dict[str, str] = {}
    for each in container.get("env", ()):
        if "valueFrom" in each:
            of = each["valueFrom"]["secretKeyRef"]
            where = (of["name"], of["key"])
            if where in secrets or not of.get("optional", False):
                found[each["name"]] = secrets[where]
        else:
            found[each["name"]] = expand(each.get("value", ""), {**services, **found})
    return {**services, **found}


def argv(container: Mapping[str, Any], variables: Mapping[str, str]) -> list[str]:
    """The words that the container starts with, where it gives its own command."""
    words: Sequence[str] = [*container["command"], *container.get("args", ())]
    return [expand(word, variables) for word in words]
