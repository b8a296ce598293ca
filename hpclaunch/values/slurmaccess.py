"""How a Slurm cluster is reached, as its site says it and as a record keeps it."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal

from msgspec import Struct

from hpclaunch.values.login import Login

# slurmrestd's API version that came with each release of Slurm (src/plugins/openapi, then data_parser, at the
# tags). A release serves those of some predecessors too.
API_OF_RELEASE: Mapping[str, str] = MappingProxyType(
    {
        "20.11": "v0.0.36",
        "21.08": "v0.0.37",
        "22.05": "v0.0.38",
        "23.02": "v0.0.39",
        "23.11": "v0.0.40",
        "24.05": "v0.0.41",
        "24.11": "v0.0.42",
        "25.05": "v0.0.43",
        "25.11": "v0.0.44",
        "26.05": "v0.0.45",
    }
)
Via = Literal["auto", "pyslurm", "commands", "rest"]


class RestServer(Struct, frozen=True, omit_defaults=True):
    """A slurmrestd: `url` is unix:/PATH, http://HOST:PORT or https://HOST:PORT, and `api` such as v0.0.39.
    `token_file` holds the token where SLURM_JWT does not; `user` is who it is for, unless it is this user;
    `ca_file` are the authorities that an https server is checked against, unless they are the system's."""

    url: str
    api: str
    token_file: str | None = None
    user: str | None = None
    ca_file: str | None = None


class SlurmAccess(Struct, frozen=True, omit_defaults=True):
    """The way that the site chose, and the server of that way; or the login node whose commands are used."""

    via: Via = "auto"
    rest: RestServer | None = None
    login: Login | None = None
