"""What a site says of its slurmrestd."""

from functools import partial
from urllib.parse import urlsplit

from hpclaunch.spec import check_text, findings
from hpclaunch.spec.scalars import shown
from hpclaunch.spec.site import SlurmSite
from hpclaunch.values.errors import Problem
from hpclaunch.values.slurmaccess import API_OF_RELEASE

_PLACE = ("slurm", "rest")
_FORMS = "unix:/run/slurmrestd.sock, http://HOST:6820 or https://HOST:6820"

_check = partial(findings.check, "site")
_problem = partial(findings.problem, "site")


def rest_problems(slurm: SlurmSite) -> list[Problem]:
    """Every problem of `slurm.rest`."""
    found: list[Problem] = []
    rest = slurm.rest
    if rest is None:
        return [_problem(("slurm", "via"), f"via: rest needs to know where: rest: {{url: {_FORMS}}}")]
    _check(found, (*_PLACE, "url"), _url, rest.url)
    known = ", ".join(API_OF_RELEASE.values())
    if rest.api is None and slurm.access.rest is not None and not slurm.access.rest.api:
        message = f"nobody here knows the API of Slurm {slurm.version}: name one of {known} as `api`"
        found.append(_problem(_PLACE, message))
    elif rest.api is not None and rest.api not in API_OF_RELEASE.values():
        found.append(_problem((*_PLACE, "api"), f"{shown(rest.api)} is none of {known}"))
    for key in ("token_file", "ca_file"):
        value = getattr(rest, key)
        if value is not None and not value.startswith("~/"):
            _check(found, (*_PLACE, key), check_text.absolute, value)
    if rest.user is not None:
        _check(found, (*_PLACE, "user"), check_text.name, rest.user)
    return found


def _url(text: str) -> None:
    if text.startswith("unix:"):
        if not text.startswith("unix:/") or text.startswith("unix://"):
            raise ValueError(f"{shown(text)} has no absolute path after unix:, as in {_FORMS}")
        return
    try:
        parts = urlsplit(text)
        sound = parts.scheme in ("http", "https") and parts.hostname and parts.port is not None
    except ValueError:
        sound = False
        parts = urlsplit("")
    if not sound or parts.username or parts.path not in ("", "/") or parts.query or parts.fragment:
        raise ValueError(f"{shown(text)} is not of the form {_FORMS}")
