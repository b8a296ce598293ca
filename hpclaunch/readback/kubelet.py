"""What the kubelet does to env values, command and args before a container starts.

`$(NAME)` becomes the value of a variable of the container, `$$` becomes `$`, and everything else stays, also
`$(NAME)` of a variable that the container has not (k8s.io/kubernetes, third_party/forked/golang/expansion).
"""

from collections.abc import Mapping


def expand(text: str, known: Mapping[str, str]) -> str:
    """The text as the container gets it."""
    parts = []
    rest = text
    while True:
        before, found, rest = rest.partition("$")
        parts.append(before)
        if not found:
            return "".join(parts)
        if rest.startswith("$"):
            parts.append("$")
            rest = rest[1:]
        elif rest.startswith("(") and ")" in rest:
            name, _, rest = rest[1:].partition(")")
            parts.append(known.get(name, f"$({name})"))
        else:
            parts.append("$")
