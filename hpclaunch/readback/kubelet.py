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
    at, last = 0, text.rfind(")")
    while (dollar := text.find("$", at)) >= 0:
        parts.append(text[at:dollar])
        after = text[dollar + 1 : dollar + 2]
        at = dollar + 2
        if after == "$":
            parts.append("$")
        elif after == "(" and last > dollar:
            end = text.index(")", at)
            name = text[at:end]
            parts.append(known.get(name, f"$({name})"))
            at = end + 1
        elif after > "\x7f":
            data = after.encode("utf-8", "surrogateescape")
            parts.append(f"${chr(data[0])}{data[1:].decode('utf-8', 'surrogateescape')}")
        else:
            parts.append("$")
            at = dollar + 1
    return "".join(parts) + text[at:]
