"""Site files: what is read, what is refused, and how a site extends another."""

import os

import pytest

from hpclaunch.spec.read import read_site
from hpclaunch.spec.site import Network, NodeGroup, Site, SlurmSite, Volume
from hpclaunch.values.errors import InputError

SITE = """\
version: 1
name: pod
scheduler: slurm
node_types: [{type: dgx-a100, hosts: "dgx[001-140]", reserved_cpus: 0,128}]
container: pyxis
slurm: {version: 22.10, pyxis: 0.20.0, mpi_plugin: {pmix: pmix_v4}, exclusive: yes}
network: {socket_ifname: ib0, exclude: [lo, docker0]}
volumes:
  imagenet: {path: /raid/imagenet}
  claimed: {claim: data-pvc}
env: {NCCL_DEBUG: WARN, OFF: off}
"""


@pytest.fixture
def sites(tmp_path, monkeypatch):
    """A folder of site files, the only one that is searched besides the shipped one."""
    folder = tmp_path / "sites"
    folder.mkdir()
    monkeypatch.setenv("HPCLAUNCH_SITES", str(folder))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "none"))
    monkeypatch.setenv("XDG_CONFIG_DIRS", str(tmp_path / "none"))

    def write(name: str, text: str) -> str:
        file = folder / f"{name}.yaml"
        file.write_text(text)
        return str(file)

    return write


def problems_of(name: str) -> list[tuple[str, str]]:
    with pytest.raises(InputError) as caught:
        read_site(name)
    return [(problem.where, problem.message) for problem in caught.value.problems]


def test_every_key_of_a_site_is_read(sites):
    sites("pod", SITE.replace("0,128", '"0,128"'))
    assert read_site("pod").value == Site(
        name="pod",
        scheduler="slurm",
        node_types=(NodeGroup(type="dgx-a100", hosts="dgx[001-140]", reserved_cpus="0,128"),),
        container="pyxis",
        slurm=SlurmSite(version="22.10", pyxis="0.20.0", mpi_plugin={"pmix": "pmix_v4"}, exclusive=True),
        network=Network(socket_ifname="ib0", exclude=("lo", "docker0")),
        volumes={"imagenet": Volume(path="/raid/imagenet"), "claimed": Volume(claim="data-pvc")},
        env={"NCCL_DEBUG": "WARN", "OFF": "off"},
    )


HEAD = "version: 1\nname: pod\n"
SLURM = HEAD + "scheduler: slurm\nslurm: {version: 22.05}\n"
GROUP = "node_types: [{type: t, count: 1}]\n"

CORPUS = [
    (HEAD + "scheduler: pbs\n" + GROUP, "3:12", "'pbs' is not one of slurm, kubernetes, local"),
    (HEAD + "scheduler: slurm\n" + GROUP, "1:1", "slurm: scheduler: slurm needs it"),
    (SLURM + "node_types: []\n", "5:13", "node_types: the list is empty"),
    (SLURM + "node_types: [{type: t}]\n", "5:14", "needs hosts"),
    (SLURM + "node_types: [{type: t, count: 1, hosts: a}]\n", "5:31", "not both"),
    (SLURM + "node_types: [{type: t, count: 0}]\n", "5:31", "0 must be from 1"),
    (SLURM + "node_types: [{type: t, hosts: 'a[1-'}]\n", "5:31", "missing bracket"),
    (
        SLURM + "node_types: [{type: t, hosts: 'a[1-2]'}, {type: u, hosts: a2}]\n",
        "5:59",
        "a2 is in an earlier group",
    ),
    (
        SLURM + "node_types: [{type: t, count: 1, reserved_cpus: x}]\n",
        "5:49",
        "'x' is neither a number nor a range",
    ),
    (SLURM + GROUP + "container: docker\n", "6:12", "'docker' is not one of pyxis, none"),
    (SLURM + GROUP + "container: pyxis\n", "4:8", "container: pyxis needs its version"),
    (HEAD + "scheduler: local\ncontainer: pyxis\n" + GROUP, "4:12", "pyxis needs scheduler: slurm"),
    (HEAD + "scheduler: local\nnode_types: [{type: t, mig: {1g.5gb: 7}}]\n", "4:29", "needs a scheduler"),
    (SLURM.replace("22.05", "22") + GROUP, "4:18", "'22' is not a version of Slurm"),
    (SLURM.replace("22.05", "22.05-1") + GROUP, "4:18", "not a version of Slurm, such as 22.05"),
    (SLURM.replace("22.05", "22.05, pyxis: 0.20") + GROUP, "4:32", "'0.20' is not a version such as 0.20.0"),
    (SLURM.replace("22.05", "22.05, conf: slurm.conf") + GROUP, "4:31", "not an absolute path"),
    (
        SLURM.replace("22.05", "22.05, mpi_plugin: {openmpi: x}") + GROUP,
        "4:47",
        "'openmpi' is not a family of MPI",
    ),
    (SLURM + GROUP + "volumes: {a: {}}\n", "6:14", "needs a path"),
    (SLURM + GROUP + "volumes: {a: {path: b}}\n", "6:21", "not an absolute path"),
    (SLURM + GROUP + "volumes: {'a:b': {path: /b}}\n", "6:18", "'a:b' is not a name"),
    (SLURM + GROUP + "env: {SHLVL: 1}\n", "6:7", "belongs to the shell"),
    (SLURM + GROUP + "pbs: {}\n", "6:1", "unknown key 'pbs'"),
    ("", "", "the file is empty"),
    ("- a", "1:1", "a site is a map of keys"),
]


@pytest.mark.parametrize(("text", "place", "said"), CORPUS, ids=[case[2] for case in CORPUS])
def test_one_problem_at_its_place(sites, text, place, said):
    file = sites("pod", text)
    ((where, message),) = problems_of("pod")
    assert where == (f"{file}:{place}" if place else file)
    assert said in message


def test_a_local_site_needs_no_hosts(sites):
    sites("here", "name: here\nscheduler: local\nnode_types: [{type: local}]\n")
    assert read_site("here").value.node_types == (NodeGroup(type="local"),)


def test_maps_are_merged_and_lists_replaced(sites):
    base = sites("pod", SITE.replace("0,128", '"0,128"'))
    mine = sites(
        "mine", "extends: pod\nname: mine\nslurm: {partition: fast}\nnetwork: {exclude: [lo]}\nenv: {A: b}\n"
    )
    document = read_site("mine")
    site = document.value
    assert (site.name, site.extends, site.scheduler) == ("mine", None, "slurm")
    assert site.slurm == SlurmSite(
        version="22.10", pyxis="0.20.0", mpi_plugin={"pmix": "pmix_v4"}, exclusive=True, partition="fast"
    )
    assert site.network == Network(socket_ifname="ib0", exclude=("lo",))
    assert site.env == {"NCCL_DEBUG": "WARN", "OFF": "off", "A": "b"}
    assert document.locate(("slurm", "partition")) == f"{mine}:3:20"
    assert document.locate(("slurm", "version")) == f"{base}:6:18"
    assert document.locate(("env", "NCCL_DEBUG")) == f"{base}:11:19"


def test_a_problem_in_the_extended_site_names_its_file(sites):
    base = sites("pod", SITE.replace("0,128", "x"))
    sites("mine", "extends: pod\nname: mine\n")
    ((where, message),) = problems_of("mine")
    assert where == f"{base}:4:69"
    assert "reserved_cpus" in message


def test_the_name_is_not_taken_over(sites):
    mine = sites("mine", "extends: pod\n")
    sites("pod", SITE.replace("0,128", "0"))
    assert problems_of("mine") == [(f"{mine}:1:1", "the key 'name' is missing")]


def test_a_path_is_relative_to_the_file(sites, tmp_path):
    (tmp_path / "base.yaml").write_text(SITE.replace("0,128", "0"))
    sites("mine", "extends: ../base.yaml\nname: mine\n")
    assert read_site("mine").value.volumes["imagenet"] == Volume(path="/raid/imagenet")


def test_a_path_may_go_up_where_no_pod_mounts_it(sites):
    sites("mine", SITE.replace("0,128", "0").replace("/raid/imagenet", "/raid/../imagenet"))
    assert read_site("mine").value.volumes["imagenet"].path == "/raid/../imagenet"


def test_a_site_may_extend_the_one_of_its_own_name_further_on(sites, tmp_path, monkeypatch):
    sites("pod", "extends: pod\nname: pod\nenv: {MINE: 1}\n")
    system = tmp_path / "etc" / "hpclaunch" / "sites"
    system.mkdir(parents=True)
    (system / "pod.yaml").write_text(SITE.replace("0,128", "0"))
    monkeypatch.setenv("XDG_CONFIG_DIRS", str(tmp_path / "etc"))
    assert read_site("pod").value.env == {"NCCL_DEBUG": "WARN", "OFF": "off", "MINE": "1"}


def test_merge_keys_of_both_sites_count(sites):
    text = "name: base\nscheduler: local\nnode_types: [{type: local}]\n"
    text += "volumes:\n  a: &a {path: /base}\n  b: {<<: *a}\n"
    sites("base", text)
    sites("mine", "extends: base\n" + text.replace("base", "mine"))
    assert read_site("mine").value.volumes["b"] == Volume(path="/mine")


@pytest.mark.parametrize(
    ("files", "place", "said"),
    [
        ({"a": "extends: a\nname: a\n"}, "a.yaml:1:10", "extends this site in turn"),
        (
            {"a": "extends: b\nname: a\n", "b": "extends: a\nname: b\n"},
            "b.yaml:1:10",
            "extends this site in turn",
        ),
        ({"a": "extends: ./a.yaml\nname: a\n"}, "a.yaml:1:10", "extends this site in turn"),
        ({"a": "extends: pd\nname: a\n", "pod": "x: 1"}, "a.yaml:1:10", "did you mean 'pod'"),
        ({"a": "extends: ./none.yaml\nname: a\n"}, "a.yaml:1:10", "no such site file"),
        ({"a": "extends: [b]\nname: a\n"}, "a.yaml:1:10", "the name or the path of one site"),
        ({"a": "extends:\nname: a\n"}, "a.yaml:1:9", "the name or the path of one site"),
        ({"a": "extends: b\nname: a\n", "b": "text"}, "a.yaml:1:10", "it has no keys"),
        ({"a": "extends: b\nname: a\n", "b": "x: [\n"}, "b.yaml:2:1", "is not closed"),
    ],
)
def test_extends_that_leads_nowhere(sites, tmp_path, files, place, said):
    for name, text in files.items():
        sites(name, text)
    ((where, message),) = problems_of("a")
    assert where == f"{tmp_path}/sites/{place}"
    assert said in message


def test_a_long_chain_is_refused(sites):
    for number in range(50):
        sites(f"s{number}", f"extends: s{number + 1}\nname: s{number}\n")
    ((_, message),) = problems_of("s0")
    assert "sites extend one another" in message


def test_two_extends_are_a_double_key(sites):
    file = sites("a", "extends: b\nextends: c\nname: a\n")
    assert (f"{file}:2:1", f"the key 'extends' stands twice, first at {file}:1:1") in problems_of("a")


def test_a_node_type_that_is_a_file_starts_from_the_site_file_that_names_it(tmp_path, monkeypatch):
    """Not from the folder that the user happens to be in; also where the site is extended from elsewhere."""
    groups = ("./ours.yaml", "n1"), ("/etc/theirs.yaml", "n2"), ("dgx-2", "n3")
    group = "node_types:\n" + "".join(f"  - {{type: {kind}, hosts: {hosts}}}\n" for kind, hosts in groups)
    for name in ("base", "other", "elsewhere"):
        (tmp_path / name).mkdir()
    (tmp_path / "base/site.yaml").write_text(
        f"version: 1\nname: base\nscheduler: slurm\n{group}\nslurm: {{version: '23.02'}}\n"
    )
    (tmp_path / "other/site.yaml").write_text("version: 1\nname: other\nextends: ../base/site.yaml\n")
    monkeypatch.chdir(tmp_path / "elsewhere")
    for name in ("base", "other"):
        for path in (f"../{name}/site.yaml", str(tmp_path / name / "site.yaml")):
            ours, theirs, named = (group.type for group in read_site(path).value.node_types)
            assert os.path.realpath(ours) == str(tmp_path / "base/ours.yaml")
            assert (theirs, named) == ("/etc/theirs.yaml", "dgx-2")
