"""Standard files that whoever started the command had closed (`hpclaunch logs ID >&-`, some daemons)."""

import os
import sys

_MODES = {"stdin": "r", "stdout": "w", "stderr": "w"}


def open_closed() -> None:
    """Opens the null device in their places, or the next file that is opened would be taken for them by
    programs started here. Nothing can be written to a standard output that was closed, and who tries learns
    of it as of a full disk; messages are for nobody then."""
    for number, (name, mode) in enumerate(_MODES.items()):
        if getattr(sys, name) is None:
            how = os.O_WRONLY if name == "stderr" else os.O_RDONLY
            null = os.open(os.devnull, how)
            if null != number:
                os.dup2(null, number)
                os.close(null)
            os.set_inheritable(number, True)
            setattr(sys, name, open(number, mode, closefd=False))  # noqa: SIM115  as Python's own, until its end
