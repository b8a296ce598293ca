"""Words of a command line and of an environment, with where they come from."""

from msgspec import Struct

# Bytes. Linux starts no program with a longer argument or variable (MAX_ARG_STRLEN of
# include/uapi/linux/binfmts.h: 32 pages of 4 KiB, less the byte at its end).
LONGEST = 131_071


class EnvVar(Struct, frozen=True):
    """One variable of a rank. `origin` is the layer that set it: node type, site, hpclaunch or job."""

    name: str
    value: str
    origin: str


class Option(Struct, frozen=True):
    """One option of a command, and why it is there ("" where the name says it)."""

    text: str
    why: str = ""
