"""Words of the messages about documents: where a value is, what a name was perhaps meant to be."""

from collections.abc import Iterable, Sequence

from hpclaunch.spec.scalars import shown


def dotted(path: Sequence[str | int]) -> str:
    """env.LR, mounts[0]"""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text if len(text) <= 120 else text[:117] + "..."


def nearest(word: str, known: Iterable[str]) -> str:
    """ " (did you mean ...?)" where one of `known` is close to `word`, else ""."""
    if len(word) <= 64:
        from difflib import get_close_matches  # 2 ms of import that only an error pays

        close = get_close_matches(word.lower(), list(known), n=1)
        if close:
            return f" (did you mean {close[0]!r}?)"
    return ""


def not_found(kind: str, name: str, known: Sequence[str], folders: Sequence[str]) -> str:
    """What is said of a name ("site", "node type") that is in none of these folders."""
    return (
        f"no {kind} is named {shown(name)}{nearest(name, known)}. Known: {', '.join(known) or 'none'}. "
        f"Searched in: {', '.join(folders)}. The path of a file (with a / or .yaml) works too."
    )
