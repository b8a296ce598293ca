"""The site's login node, for machines that are not of the cluster."""

import os.path
from typing import Literal

from msgspec import Struct

from hpclaunch.values.login import Login


class SshSite(Struct, frozen=True, forbid_unknown_fields=True):
    """A login node that Slurm's commands run on, reached over SSH. `host` is a name that ssh knows; `home`
    an absolute folder of the user on the cluster, which the compute nodes see: jobs' folders and staged
    files go there. What is unset is as ~/.ssh/config says, or the file `config` in its place. `jump` are
    hosts on the way, with commas between. `transport: openssh` uses the program ssh, for logins with a
    second factor."""

    host: str
    home: str
    user: str | None = None
    port: int | None = None
    jump: str | None = None
    transport: Literal["fabric", "openssh"] = "fabric"
    config: str | None = None

    def login(self, path: str | None) -> Login:
        """The same, with the folder of Slurm's commands there where it is known."""
        config = os.path.abspath(os.path.expanduser(self.config)) if self.config else None
        home = os.path.normpath(self.home)
        return Login(self.host, home, self.user, self.port, self.jump, self.transport, config, path)
