"""The database of a sandbox that keeps accounts, as tests look into it."""

import time
from collections.abc import Callable

from realslurm import Slurm

from hpclaunch.sandbox.accounting import socket_path
from hpclaunch.sandbox.layout import at


def dump(slurm: Slurm) -> str:
    """Every row of every table that slurmdbd keeps, each table with its name."""
    names = _ask(slurm, "SHOW TABLES").split()
    assert names
    return "".join(f"{name}:\n" + _ask(slurm, f"SELECT * FROM `{name}`") for name in names)


def _ask(slurm: Slurm, question: str) -> str:
    # nothing is escaped (--raw): a value is as it is in the table
    words = ("mariadb", "--no-defaults", f"--socket={socket_path(at(slurm.folder))}", "--batch", "--raw")
    more = ("--skip-column-names", f"--execute={question}", "slurm_acct_db")
    done = slurm.run(*words, *more, errors="replace")
    assert done.returncode == 0, done.stderr
    return done.stdout


def until(condition: Callable[[], object], limit_s: float = 240.0) -> None:
    """Returns when the condition holds."""
    end = time.monotonic() + limit_s
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.5)
