"""What a site may say of its ways to Slurm."""

from pathlib import Path

import pytest

from hpclaunch.spec.read import read_site
from hpclaunch.values.errors import InputError
from hpclaunch.values.slurmaccess import RestServer, SlurmAccess

SITE = """\
version: 1
name: pod
scheduler: slurm
node_types: [{{type: dgx-a100, count: 2}}]
slurm: {{version: "{version}", {more}}}
"""


def site(tmp_path: Path, more: str, version: str = "22.05") -> str:
    file = tmp_path / "pod.yaml"
    file.write_text(SITE.format(version=version, more=more))
    return str(file)


def access(file: str) -> SlurmAccess:
    slurm = read_site(file).value.slurm
    assert slurm is not None
    return slurm.access


def test_a_site_that_says_nothing_lets_hpclaunch_choose(tmp_path: Path) -> None:
    assert access(site(tmp_path, "partition: batch")) == SlurmAccess("auto", None)


@pytest.mark.parametrize(
    ("version", "api"),
    [("20.11", "v0.0.36"), ("22.05.8", "v0.0.38"), ("23.11", "v0.0.40"), ("26.05", "v0.0.45")],
)
def test_the_api_is_that_of_the_site_s_slurm(tmp_path: Path, version: str, api: str) -> None:
    found = access(site(tmp_path, "rest: {url: 'http://head:6820'}", version))
    assert found == SlurmAccess("auto", RestServer("http://head:6820", api))


def test_every_key_is_read(tmp_path: Path) -> None:
    keys = "url: 'https://head:6820', api: v0.0.39, token_file: ~/.jwt, user: me, ca_file: /etc/ca.pem"
    server = RestServer("https://head:6820", "v0.0.39", "~/.jwt", "me", "/etc/ca.pem")
    assert access(site(tmp_path, f"via: rest, rest: {{{keys}}}")) == SlurmAccess("rest", server)


@pytest.mark.parametrize(
    ("more", "key"),
    [
        ("via: telnet", "slurm.via"),
        ("via: rest", "slurm.via"),
        ("rest: {url: 'ftp://head:21'}", "slurm.rest.url"),
        ("rest: {url: 'http://head'}", "slurm.rest.url"),
        ("rest: {url: 'http://me:secret@head:6820'}", "slurm.rest.url"),
        ("rest: {url: 'http://head:6820/slurm'}", "slurm.rest.url"),
        ("rest: {url: 'http://head:99999'}", "slurm.rest.url"),
        ("rest: {url: 'http://[head:6820'}", "slurm.rest.url"),
        ("rest: {url: 'unix:run/socket'}", "slurm.rest.url"),
        ("rest: {url: 'unix:///run/socket'}", "slurm.rest.url"),
        ("rest: {url: 'unix:/s', api: v0.0.99}", "slurm.rest.api"),
        ("rest: {url: 'unix:/s', token_file: token}", "slurm.rest.token_file"),
        ("rest: {url: 'unix:/s', token: abc}", "token"),
    ],
)
def test_what_is_wrong_is_located(tmp_path: Path, more: str, key: str) -> None:
    with pytest.raises(InputError) as caught:
        read_site(site(tmp_path, more))
    (problem,) = caught.value.problems
    assert key in problem.message
    assert problem.where.startswith(f"{tmp_path}/pod.yaml:5:")


def test_a_release_that_nobody_knows_needs_its_api(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="name one of v0"):
        read_site(site(tmp_path, "rest: {url: 'unix:/s'}", "29.11"))
    assert access(site(tmp_path, "rest: {url: 'unix:/s', api: v0.0.45}", "29.11")).rest
