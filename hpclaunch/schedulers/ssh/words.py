"""What is said to a login node: one constant command, and a line of text for it on its standard input. Pure.

The login shell may be any (csh, fish), so it only ever reads LISTEN, in which nothing stands that one of
them would take for something else: in single quotes csh knows `!` and the end of a line, fish a backslash
before another one or before a quote. All words of a user are in the line, which /bin/sh reads, quoted for
it. None is an argument of a shell or of env, where every user of the login node would see it.
"""

import re
from collections.abc import Iterable, Mapping
from types import MappingProxyType

READY = b"hpclaunch-ready"

# The environment is closed as in schedulers/environment.py, with the login node's own values. LC_ALL: in some
# encodings the second byte of a character is a quote.
LISTEN = (
    'exec /bin/sh -c \'exec env -i PATH="$PATH" HOME="$HOME" USER="$USER" LOGNAME="$LOGNAME" '
    '${SLURM_CONF+"SLURM_CONF=$SLURM_CONF"} LANG=C.UTF-8 /bin/sh -c '
    '"LC_ALL=C; echo; echo hpclaunch-ready; IFS= read -r hl_line && eval \\"\\$hl_line\\""\''
)
# The same with the streams of who asks, for a text in a file.
_RUN = (
    'exec /bin/sh -c \'exec env -i PATH="$PATH" HOME="$HOME" USER="$USER" LOGNAME="$LOGNAME" '
    '${SLURM_CONF+"SLURM_CONF=$SLURM_CONF"} ${TERM+"TERM=$TERM"} LANG=C.UTF-8 /bin/sh '
)
# Stays as long as somebody holds its standard input.
KEEP = "exec /bin/sh -c 'echo; echo hpclaunch-ready; exec cat >/dev/null'"

_NOTHING: Mapping[str, str] = MappingProxyType({})


def quote(word: str) -> str:
    """`word` for sh, on one line: a line break in it is the variable hl_n.

    Raises ValueError for a NUL, which no argument and no variable can hold.
    """
    if "\0" in word:
        raise ValueError("a NUL cannot be part of a command")
    return "'" + word.replace("'", "'\\''").replace("\n", "'\"$hl_n\"'") + "'"


def run_file(path: str) -> str:
    """What runs the text in a file there. Raises ValueError for a path in which some shell may take a
    character for more than that."""
    if not re.fullmatch(r"/[A-Za-z0-9_./+,@-]*", path):
        raise ValueError(f"{path} has characters that not every shell leaves as they are")
    return f"{_RUN}{path}'"


def command(words: Iterable[str], variables: Mapping[str, str] = _NOTHING, path: str = "") -> str:
    """A command that reads nothing, with `variables` beside those of the closed environment, and the folders
    `path` on its PATH."""
    known = {"PATH": path, **variables} if path else variables
    exports = "".join(f"export {name}={quote(value)}; " for name, value in known.items())
    return f"(cd /; {exports}exec {' '.join(map(quote, words))}) </dev/null"


def line(body: str, mark: str) -> bytes:
    """The line that runs `body`, and says where its output begins, where it ends, and its status.

    Scripts that a login shell reads (.bashrc, .cshrc) print things, and a connection may break at any byte.
    """
    assert "\n" not in body
    said = f"printf '\\n%s\\n' {mark}; printf '\\n%s\\n' {mark} >&2"
    ended = f"printf '\\n%s %s\\n' {mark} \"$hl_s\"; printf '\\n%s %s\\n' {mark} \"$hl_s\" >&2"
    text = f"hl_n=$(printf '\\nx'); hl_n=${{hl_n%x}}; {said}; {body}; hl_s=$?; {ended}\n"
    return text.encode("utf-8", "surrogateescape")
