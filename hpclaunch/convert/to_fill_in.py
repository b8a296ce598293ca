"""Values that whoever copies a script is to fill in, /path/to/your/image.sqsh, or what makes a script of a
template, @NODES@. They are names to a shell and to Slurm: a job that has them is another one."""

import re
from typing import Any

from hpclaunch.convert.draft import Draft, Key, dotted, shown

# No value of a real job is written like these.
_SURE = re.compile(
    r"""(?<!<)<[A-Za-z][\w .,:/-]*(?:[A-Z]{2}|[ _-]|(?i:your|path|name|dir|id))[\w .,:/-]*>"""
    r"|(?<!<)<[A-Z][A-Z0-9]+>"
    r"""|(?<!<)<[A-Za-z][\w .,:/-]{0,60}?\b(?:like|such as|for example|e\.g\.),? ["'][^"'<>\n]{0,80}["']>"""
    r"|@[A-Z][A-Z0-9_]+@|%[A-Z][A-Z0-9_]+%|%%\w+%%|(?<![\w#&])#[A-Z][A-Z0-9_]+#(?![\w#])"
    r"|(?<![A-Za-z])(?:your|YOUR|Your)(?:(?=[_./-])|(?<=R)(?=[A-Z]))[\w-]*"
    r"|(?<![\w.-])/path/to(?=/|$)|(?<![A-Za-z])(?:path_to|PATH_TO)_\w*"
    r"|(?i:(?<![a-z])(?:change|replace|fill)[_-]?(?:me|this)(?![a-z]))"
    r"|(?i:(?<![a-z])(?:to|will)[_-]be[_-](?:replaced|filled|set|determined)\w*)"
    r"|(?<![A-Za-z])(?:REPLACE|FILL|INSERT)_(?:WITH|BY|IN|HERE)\w*|\bINSERT_\w+_HERE|\bPLACEHOLDER\b"
    r"|(?i:(?<![A-Za-z0-9])(?:name|image|tag|value|registry)[_-](?:goes[_-])?here(?![\w-]))"
)
# What a program or a script says of its own arguments: echo "Usage: fetch <repo-name>".
_USAGE = re.compile(r"\busage:[^\n\"']*", re.IGNORECASE)
# What a shell's text says to whoever reads the log, into no file and to no other command: it is nobody's to
# fill in, as `kubectl exec <pod>` is not.
_SAID = re.compile(
    r"""(?:^|(?<=[;&|]))[ \t]*echo[ \t]+(?:-[neE]+[ \t]+)?(?:"(?:\\.|[^"\\\n$`])*"|'[^'\n]*')"""
    r"(?=[ \t]*(?:>&2[ \t]*)?(?:$|;|&&|\|\|))",
    re.MULTILINE,
)
# These may be what a program takes: log.{rank}.txt.
_PERHAPS = re.compile(
    r"(?<![\w$}])\{[A-Za-z_]\w*\}|^\[[A-Z]+(?:_[A-Z]+)+\]$"
    r"|(?:(?<=[/=:,])|^)(?:[xX]{3,}|\.\.\.|…|__[A-Z][A-Z0-9_]*__)(?=$|[/:,])"
)
# As one word, and in a text perhaps: a program may have a name of its own for it. Not what sed itself
# replaces, s/IMAGE_PLACEHOLDER/$image/ and /# IMAGE_PLACEHOLDER/d.
_NAMED = re.compile(
    r"(?<![\w$])(?<!\$\{)(?<!\bs[/|#,@:!])(?<!# )"
    r"_{0,2}(?:[A-Z][A-Z0-9]*_)*PLACEHOLDER(?:_[A-Z0-9]+)*_{0,2}(?!\w)"
)
# A tag may have capitals (github.com/distribution/reference, regexp.go), and none of them is the name of what
# it says: a program replaces that, sed s/IMAGE_TAG/$tag/.
_TAG = re.compile(r"(?<=:)(?:[A-Z]+_)*(?:TAG|VERSION|SHA|HASH|COMMIT|DIGEST|BUILD_(?:ID|NUMBER))$")
# A formatted text of Python, whose braces its program fills in: f"saved to {folder}".
_FORMATTED = re.compile(r"(?<!\w)(?:[fF][rR]?|[rR][fF])(?P<quote>\\?[\"'])(?:(?!(?P=quote))[^\n])*(?P=quote)")
_BLANK = re.compile(r"\s")
# One of them is in whatever either finds: most texts of a large script have none.
_MARKS: tuple[str, ...] = (
    "<",
    "@",
    "%",
    "#",
    "{",
    "[",
    "__",
    "...",
    "…",
    "xxx",
    "your",
    "path",
    "placeholder",
)
_MARKS += ("placeholder", "_me", "-me", "this", "be", "_in", "with", "by", "here")
_LOG = ("trials", "log")  # {trial} in it is the job file's own
_AS_A_WHOLE = frozenset(("name", "image", "gpu_type", "workdir", "mounts", "container", "stage_in"))


def to_fill_in(text: str, perhaps: bool = True) -> str:
    """What of a text somebody is to fill in, "" where nothing is. `perhaps`: also what a program may know."""
    small = text.lower()
    if not any(mark in small for mark in _MARKS):
        return ""
    text = _USAGE.sub("", text) if "usage:" in small else text
    text = _SAID.sub("", text) if "echo" in small else text
    found = _SURE.search(text)
    if not found and (perhaps or not _BLANK.search(text.strip())):
        found = _NAMED.search(text)
    found = found or (_PERHAPS.search(_FORMATTED.sub("", text)) if perhaps else None)
    return found[0] if found else ""


def ask(draft: Draft) -> None:
    """Ask for the facts of the job that have such a value. Of what a program may know it is said, and of what
    is the site's."""
    for key, fact in list(draft.facts.items()):
        if fact.is_open or key == _LOG:
            continue
        words = [*_texts(fact.value)]
        sure = next(filter(None, (to_fill_in(text, perhaps=key[0] in _AS_A_WHOLE) for text in words)), "")
        if not sure and key[0] == "image" and (tag := _TAG.search(str(fact.value))):
            sure = tag[0]
        perhaps = "" if sure else next(filter(None, map(to_fill_in, words)), "")
        if sure and key[0] == "inherit":
            for each in draft.drop_values("inherit", (fact.value,)):
                why = "no shell has it: what names it is to be filled in"
                draft.say("left", each.places, str(each.value), why=why)
        elif sure:
            draft.unsay(key)
            question = f"{_asked(key)}: {shown(sure)!r} is to be filled in, and nobody has"
            draft.ask(key, question, fact.places, shown(fact.value, 60))
        elif perhaps:
            why = f"{shown(perhaps)!r} may be what somebody is to fill in: it is handed on as it stands"
            draft.say("question", fact.places, f"{dotted(key)}: {shown(fact.value, 60)}", why=why)
    for finding, name in list(draft.of_hints.items()):
        found = next(filter(None, (to_fill_in(text, False) for text in _texts(draft.hints.get(name)))), "")
        if found:
            why = f"{shown(found)!r} is to be filled in, and nobody has"
            draft.say("question", finding.places, f"{name} of the site", why=why)


def _asked(key: Key) -> str:
    return f"the value of {key[1]}" if key[0] == "env" and len(key) > 1 else dotted(key)


def _texts(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        return [text for each in value.values() for text in _texts(each)]
    return [text for each in value for text in _texts(each)] if isinstance(value, list | tuple) else []
