"""Words for a container: the kubelet replaces `$(NAME)` and `$$` in its command, args and env values."""


def word(text: str) -> str:
    """The text that the kubelet makes `text` of.

    A `$` before anything else stays single, so that a shell text can be read; but before a character of
    several bytes the kubelet would take the first of these for a character (k8s.io/kubernetes,
    third_party/forked/golang/expansion).
    """
    if not text.isascii():
        return _with_others(text)
    first, *others = text.split("$$")  # whole shell texts have few of these
    if not others:
        return text.replace("$(", "$$(")
    found = [first.replace("$(", "$$(")]
    last = len(others) - 1
    for at, part in enumerate(others):
        again = part[0] in "$(" if part else at < last
        found.append("$$$$" if again else "$$$")
        found.append(part.replace("$(", "$$("))
    return "".join(found)


def _with_others(text: str) -> str:
    """The same for a text with characters of several bytes."""
    first, *others = text.split("$")
    last = len(others) - 1
    doubled = [
        "$" if (part[0] != "(" and part[0].isascii() if part else at == last) else "$$"
        for at, part in enumerate(others)
    ]
    return first + "".join(dollar + part for dollar, part in zip(doubled, others, strict=True))
