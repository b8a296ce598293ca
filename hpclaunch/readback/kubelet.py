"""What the kubelet does to env values, command and args before a container starts.

`$(NAME)` becomes the value of a variable of the container, `$$` becomes `$`, and everything else stays, also
`$(NAME)` of a variable that the container has not. It goes by bytes: the first byte of a character after a
single `$` becomes a character of its own, so that `$é` is not `$é` any more (k8s.io/kubernetes,
third_party/forked/golang/expansion).
"""

from collections.abc import Iterator, Mapping


def expand(text: str, known: Mapping[str, str]) -> str:
    """The text as the container gets it; what is no UTF-8 any more are surrogates, as in os.environ."""
    return "".join(known.get(part, f"$({part})") if is_name else part for part, is_name in _parts(text))


def names(text: str) -> tuple[str, ...]:
    """The variables whose values it puts in, where the container has them."""
    return tuple(dict.fromkeys(part for part, is_name in _parts(text) if is_name))


def _parts(text: str) -> Iterator[tuple[str, bool]]:
    """The text in its parts, and of each whether it is the name of a variable."""
    at, last = 0, text.rfind(")")
    while (dollar := text.find("$", at)) >= 0:
        yield text[at:dollar], False
        after = text[dollar + 1 : dollar + 2]
        at = dollar + 2
        if after == "$":
            yield "$", False
        elif after == "(" and last > dollar:
            end = text.index(")", at)
            yield text[at:end], True
            at = end + 1
        elif after > "\x7f":
            data = after.encode("utf-8", "surrogateescape")
            yield f"${chr(data[0])}{data[1:].decode('utf-8', 'surrogateescape')}", False
        else:
            yield "$", False
            at = dollar + 1
    yield text[at:], False
