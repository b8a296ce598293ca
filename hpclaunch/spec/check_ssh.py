"""What is wrong with a site's `ssh`. Sites without it do not load this."""

from functools import partial

from hpclaunch.spec import check_text, findings
from hpclaunch.spec.scalars import shown
from hpclaunch.spec.site import Site
from hpclaunch.spec.ssh import SshSite
from hpclaunch.values.errors import Problem

_check = partial(findings.check, "site")
_problem = partial(findings.problem, "site")


def ssh_problems(ssh: SshSite) -> list[Problem]:
    """Of single keys."""
    found: list[Problem] = []
    _check(found, ("ssh", "host"), _word, ssh.host)
    _check(found, ("ssh", "home"), check_text.absolute, ssh.home)
    if ssh.user is not None:
        _check(found, ("ssh", "user"), _word, ssh.user)
    if ssh.jump is not None:
        for hop in ssh.jump.split(","):
            _check(found, ("ssh", "jump"), _word, hop)
    if ssh.port is not None and not 1 <= ssh.port <= 65535:
        found.append(_problem(("ssh", "port"), f"{ssh.port} must be from 1 to 65535"))
    if ssh.config is not None:
        _check(found, ("ssh", "config"), _file, ssh.config)
    return found


def ssh_relations(site: Site) -> list[Problem]:
    """With other keys of the site."""
    if site.scheduler != "slurm":
        return [_problem(("ssh",), f"is for scheduler: slurm, not {site.scheduler}")]
    if site.slurm is not None and site.slurm.via in ("pyslurm", "rest"):
        message = (
            f"{site.slurm.via} is for this machine, and over ssh Slurm's commands are used: write commands"
        )
        return [_problem(("slurm", "via"), message)]
    return []


def _word(text: str) -> None:
    """ssh would take what begins with - for an option."""
    check_text.line(text)
    if text.startswith("-") or " " in text:
        raise ValueError(f"{shown(text)} is no name for ssh: it begins with - or has a blank in it")


def _file(text: str) -> None:
    check_text.line(text)
    if not text.startswith(("/", "~/")):
        raise ValueError(f"{shown(text)} is not an absolute path: it must begin with / or ~/")
