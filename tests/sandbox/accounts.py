"""The database of a sandbox that keeps accounts, as tests look into it."""

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
