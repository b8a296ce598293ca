"""What `shopt` changes of what a script's text means (bash's manual, "The Shopt Builtin")."""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from hpclaunch.readback.shell import extglob
from hpclaunch.readback.shell.values import Value, known

if TYPE_CHECKING:
    from hpclaunch.convert.shell.walker import Walker

NO_CASE = "nocasematch"
ALIASES = "expand_aliases"
LAST_HERE = "lastpipe"
# The last command of a pipe runs in the script's own shell: ksh(1) of ksh93, "Commands"; zshmisc(1), "Simple
# Commands & Pipelines".
HERE_BY_ITSELF = frozenset(("ksh", "ksh93", "zsh"))
# A group that may be nothing, behind a *: bash itself finds A in *?() and not in *+(), nor in *!(?).
EMPTY_BEHIND_ANY = re.compile(r"\*.*(?:[?*+@!]\((?:[^()]*\|)?\**[|)]|!\()")
# A pattern that no file matches is nothing, or ends the command.
NO_FILES = frozenset(("nullglob", "failglob"))
_CONTRARY = re.compile(r"\[[!^]|!\(")
_MAYBE = "?"  # behind the name of an option that is on in some of the ways to here


def note(shell: "Walker", words: Sequence[Value]) -> None:
    """Keep what `shopt -s` and `shopt -u` say. In a way that is not always gone they leave it open."""
    texts = [known(word) or "" for word in words[1:]]
    letters = {letter for text in texts if text.startswith("-") for letter in text[1:]}
    if not letters & set("su"):
        return
    for name in (text for text in texts if not text.startswith("-")):
        if shell.context.conditions:
            if (name in shell.options) != ("s" in letters):
                shell.options |= {name, name + _MAYBE}
        elif "s" in letters:
            shell.options.add(name)
            shell.options.discard(name + _MAYBE)
        else:
            shell.options -= {name, name + _MAYBE}


def is_perhaps(shell: "Walker", name: str) -> bool:
    """Whether the option is on in some of the ways to here alone."""
    return name + _MAYBE in shell.options


def set_by(shell: "Walker", words: Sequence[Value]) -> None:
    """Keep what `set -e` and its like say, by letter or by name."""
    texts = [known(word) or "" for word in words[1:]]
    for index, text in enumerate(texts):
        change = shell.options.add if text[:1] == "-" else shell.options.discard
        if text[:1] not in ("-", "+") or text in ("-", "--"):
            if not index or texts[index - 1][-1:] != "o":
                return
            (shell.options.discard if texts[index - 1][:1] == "+" else shell.options.add)(text)
            continue
        for letter in text[1:]:
            change(letter)


def matches(shell: "Walker", pattern: str, text: str) -> bool | None:
    """Whether the whole text matches, None where that depends on what is not known."""
    if EMPTY_BEHIND_ANY.search(pattern):
        return None
    exact = extglob.matches(pattern, text)
    if NO_CASE not in shell.options:
        return exact
    if "[" in pattern:
        # What of a range or class is alike depends on the language, and what is not in it all the more.
        return True if exact and not _CONTRARY.search(pattern) else None
    alike = extglob.matches(pattern.lower(), text.lower())
    return alike if exact == alike or NO_CASE + _MAYBE not in shell.options else None
