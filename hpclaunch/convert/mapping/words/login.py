"""`module load` in a text or a script that ranks run: srun handed on the functions of the submitter's shell,
which module and its like are. A job's ranks start from nothing, and a login shell of bash has them."""

import re
from collections.abc import Sequence

from hpclaunch.convert.draft import Draft
from hpclaunch.convert.programs.names import SHELLS
from hpclaunch.convert.reading import Source
from hpclaunch.convert.shell.started import behind_options
from hpclaunch.readback.shell.values import Value, base_name, known, known_parts, shown
from hpclaunch.values.conversion import Place

_LOADS = re.compile(
    r"(?:^|[;&|({]|\b(?:then|do|else))[ \t]*"
    r"(?:(?:module|ml)\s+(?!list|avail|help|show|spider)\S|spack load\b|conda activate\b|mamba activate\b)",
    re.MULTILINE,
)
_LOGIN = re.compile(r"-[a-z]*l[a-z]*|--login")
_WITH_TEXT = re.compile(r"-[a-z]*c")
_OF_BASH = re.compile(r"#!\s*(?:/usr/bin/env\s+)?(?:\S*/)?bash\s*(?:\n|$)")
_WHY = "it loads modules or an environment itself, and a job's ranks start without what a login shell sets"


def with_login(words: Sequence[Value], scripts: Sequence[Source], place: Place, draft: Draft) -> list[Value]:
    """The words of a rank's command, by a login shell where such a text needs one. `scripts` are those that
    the words name."""
    found = list(words)
    is_bash = bool(found) and base_name(found[0]) == "bash"
    options = [known(word) or "" for word in found[1:]]
    if any(map(_LOGIN.fullmatch, options[:2])):
        return found
    at = (
        next((n for n, text in enumerate(options[:-1], 1) if _WITH_TEXT.fullmatch(text)), 0) if is_bash else 0
    )
    if at and _LOADS.search(known_parts(found[at + 1])):
        found[at] = (f"-l{options[at - 1][1:]}",)
    elif not at and any(_LOADS.search(each.text) for each in scripts):
        if is_bash:
            found.insert(1, ("-l",))
        elif found and any(_OF_BASH.match(each.text.lstrip()) for each in scripts):
            found[: base_name(found[0]) in SHELLS] = _front(found, scripts)
    if found != list(words):
        became = " ".join(map(shown, found[:2]))
        draft.say("replaced", (place,), shown(words[0]), became=f"command: {became} ...", why=_WHY)
    return found


def _front(words: Sequence[Value], scripts: Sequence[Source]) -> list[Value]:
    """A login shell of bash before the words, or in place of the shell that they begin with: bash takes its
    first operand for a script, and a program that is none stands behind a text."""
    is_shell = base_name(words[0]) in SHELLS
    first = behind_options(words[1:])[:1] if is_shell else words[:1]
    if first and base_name(first[0]) in {each.name.rpartition("/")[2] for each in scripts}:
        return [("bash",), ("-l",)]
    return [("bash",), ("-lc",), ('exec "$@"',), ("bash",), *words[:is_shell]]
