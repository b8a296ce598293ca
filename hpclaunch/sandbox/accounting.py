"""Accounts of a sandbox: slurmdbd, and the database that it keeps them in.

Options of mariadbd: https://mariadb.com/kb/en/server-system-variables/ and innodb-system-variables/; keys of
slurmdbd.conf: doc/man/man5/slurmdbd.conf.5 of Slurm 22.05.
"""

from pathlib import Path
from typing import Any

from hpclaunch.sandbox.layout import Layout
from hpclaunch.sandbox.packages import find

DATABASE = "mariadbd"
KEEPER = "slurmdbd"
# What slurmctld sends beside what it always does: comments, in which tags are, and what jobs were.
STORED = "job_comment,job_script,job_env"

# A few jobs, and whoever wants them back after a crash starts another sandbox.
_SMALL = (
    "--innodb-buffer-pool-size=8M",
    "--innodb-log-file-size=4M",
    "--innodb-flush-log-at-trx-commit=0",
    "--key-buffer-size=64K",
    "--aria-pagecache-buffer-size=1M",
    "--performance-schema=OFF",
    "--max-connections=20",
)


def slurm_conf_lines(layout: Layout, port: int) -> list[str]:
    """What slurmctld and the commands are told."""
    return [
        "AccountingStorageType=accounting_storage/slurmdbd",
        "AccountingStorageHost=localhost",
        f"AccountingStoragePort={port}",
        f"AccountingStoragePass={layout.munge_socket}",  # AuthInfo is not for these connections
        f"AccountingStoreFlags={STORED}",
    ]


def write_slurmdbd_conf(layout: Layout, user: str, port: int) -> None:
    """slurmdbd.conf, beside slurm.conf. slurmdbd refuses one that others may read."""
    lines = (
        "AuthType=auth/munge",
        f"AuthInfo=socket={layout.munge_socket}",
        "DbdHost=localhost",
        f"DbdPort={port}",
        f"SlurmUser={user}",
        f"PidFile={layout.run}/slurmdbd.pid",
        f"LogFile={layout.log}/slurmdbd.log",
        "StorageType=accounting_storage/mysql",
        "StorageHost=localhost",
        f"StorageUser={user}",
        "StorageLoc=slurm_acct_db",
    )
    path = layout.folder / "etc" / "slurmdbd.conf"
    path.touch(mode=0o600)
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def make_folder(layout: Layout) -> None:
    """The database's, which is for its user alone: its socket too."""
    _folder(layout).mkdir(mode=0o700)


def services(layout: Layout, name: str, user: str, port: int) -> list[dict[str, Any]]:
    """What has to run before slurmctld, which wants its cluster known."""
    folder, conf = _folder(layout), layout.slurm_conf
    as_root = ["--user=root"] if user == "root" else []
    data = ["--no-defaults", f"--datadir={folder}/data", *as_root]
    make = [find("mariadb-install-db"), *data, "--skip-test-db", *_SMALL]
    make += ["--auth-root-authentication-method=socket", f"--auth-root-socket-user={user}"]
    serve = [find(DATABASE), *data, "--skip-networking", "--skip-name-resolve", f"--tmpdir={folder}", *_SMALL]
    serve += [f"--socket={socket_path(layout)}", f"--pid-file={folder}/pid"]
    # slurmdbd and sacctmgr find their files beside the slurm.conf that SLURM_CONF names.
    configured = ["env", f"SLURM_CONF={conf}", f"MYSQL_UNIX_PORT={socket_path(layout)}"]
    add = [*configured, find("sacctmgr"), "--immediate", "add"]
    found = [
        _service("mariadb-install-db", make, once=True),
        _service(DATABASE, serve, socket=str(socket_path(layout))),
        _service(KEEPER, [*configured, find(KEEPER), "-D"], port=port),
        _service("sacctmgr", [*add, "cluster", name], once=True),
    ]
    if user != "root":  # whose account and association came with the cluster
        found.append(_service("sacctmgr", [*add, "account", name, f"cluster={name}"], once=True))
        found.append(_service("sacctmgr", [*add, "user", user, f"account={name}"], once=True))
    return found


def socket_path(layout: Layout) -> Path:
    """The database's, at which its user needs no password."""
    return _folder(layout) / "socket"


def _folder(layout: Layout) -> Path:
    return layout.run / "database"


def _service(
    name: str, argv: list[str], socket: str = "", port: int = 0, once: bool = False
) -> dict[str, Any]:
    return {"name": name, "argv": argv, "socket": socket, "port": port, "once": once, "node": False}
