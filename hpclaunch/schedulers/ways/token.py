"""The token for slurmrestd: where it is, and when it ends. It is said to nobody."""

import base64
import binascii
import os
import stat
import time
from pathlib import Path

import msgspec
from msgspec import Struct

from hpclaunch.schedulers.contract import Refused
from hpclaunch.values.slurmaccess import RestServer

VARIABLE = "SLURM_JWT"
ADVICE = f"`scontrol token` makes one: put it in {VARIABLE} or in the site's slurm.rest.token_file."


class Ended(Refused):
    """The token in a file has ended. Another one may come there."""


class Token(Struct, frozen=True):
    """`source` is where it was found; `in_file`: that is a file, which is read anew for each request."""

    text: str
    source: str
    in_file: bool

    def ended(self) -> str:
        """When it ended, "at 2026-01-31 12:00:00"; "" of one that is good by this machine's clock, or does
        not tell. slurmrestd passes it on, and slurmctld only breaks the connection off (auth_p_verify of
        src/plugins/auth/jwt/auth_jwt.c): the answers are those of a controller that is away."""
        expires = _expires(self.text)
        if expires is None or expires > time.time():
            return ""
        return time.strftime("at %Y-%m-%d %H:%M:%S", time.localtime(expires))

    def renewal(self) -> str:
        """What to do about one that has ended."""
        if self.in_file:
            return f"Write a new one there, which `scontrol token` makes: {self.source} is read each time."
        return f"`scontrol token` makes one: export it as {VARIABLE}, and give the command again."


class _Claims(Struct):
    exp: int | float | None = None


def _expires(text: str) -> float | None:
    """The time `exp` in a JSON web token (RFC 7519), in seconds since 1970."""
    parts = text.split(".")
    if len(parts) != 3:
        return None
    try:
        raw = base64.urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4))
        expires = msgspec.json.decode(raw, type=_Claims).exp
    except (binascii.Error, ValueError):  # msgspec's errors are ValueErrors
        return None
    # No clock of a machine comes to where localtime() ends.
    return expires if expires is not None and abs(expires) < 1 << 40 else None


def token(server: RestServer) -> Token | None:
    """SLURM_JWT, or what the file says, which may be a line of `scontrol token`, SLURM_JWT=...; None where
    there is neither. Raises Refused for what cannot be one."""
    text, source, in_file = os.environ.get(VARIABLE, ""), VARIABLE, False
    if server.token_file and not text:
        path = Path(server.token_file).expanduser()
        source, in_file = str(path), True
        try:
            if stat.S_IMODE(path.stat().st_mode) & 0o077:
                raise Refused(f"others may read the token in {path}", f"chmod 600 {path}")
            text = path.read_text(encoding="ascii")
        except (OSError, UnicodeDecodeError) as error:
            raise Refused(f"the token cannot be read: {error}", ADVICE) from None
    text = text.strip().removeprefix(f"{VARIABLE}=")
    if not text:
        return None
    if not (text.isascii() and text.isprintable()) or " " in text:
        raise Refused("what should be a token of slurmrestd is none", ADVICE)
    return Token(text, source, in_file)
