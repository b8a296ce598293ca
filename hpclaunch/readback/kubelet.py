"""What the kubelet does to env values, command and args before a container starts.

`$(NAME)` becomes the value of a variable of the container, `$$` becomes `$`, and everything else stays, also
`$(NAME)` of a variable that the container has not. It goes by bytes: the first byte of a character after a
single `$` becomes a character of its own, so that `$é` is not `$é` any more (k8s.io/kubernetes,
third_party/forked/golang/expansion).
"""

from collections.abc import Mapping


def expand(text: str, known: Mapping[str, str]) -> str:
    """The text as the container gets it; what is no UTF-8 any more are surrogates, as in os.environ."""
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
        elif rest[:1] > "\x7f":
            data = rest[0].encode("utf-8", "surrogateescape")
            parts.append(f"${chr(data[0])}{data[1:].decode('utf-8', 'surrogateescape')}")
            rest = rest[1:]
        else:
            parts.append("$")
