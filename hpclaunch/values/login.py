"""How a login node is reached from another machine, and where on its file system jobs are kept."""

from typing import Literal

from msgspec import Struct


class Login(Struct, frozen=True):
    """`host` is a name that ssh(1) knows: a host, or an alias of ~/.ssh/config. What is None is that file's,
    or ssh's own. `jump` are hosts on the way, [user@]host[:port], with commas between; `config` is read in
    place of ~/.ssh/config. `home` is the absolute folder on the cluster that holds what HPCLAUNCH_HOME holds
    on a login node, where the compute nodes see it too; `path` the folder of Slurm's commands there, where
    the login node itself does not know it."""

    host: str
    home: str
    user: str | None = None
    port: int | None = None
    jump: str | None = None
    transport: Literal["fabric", "openssh"] = "fabric"
    config: str | None = None
    path: str | None = None

    def __str__(self) -> str:
        return f"{self.user}@{self.host}" if self.user else self.host
