"""The Kubernetes part of a site file: what the API would refuse is refused at its place."""

import re
from pathlib import Path

import jsonschema
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from hpclaunch.spec import apiwords
from hpclaunch.spec.jsonschema import site_schema
from hpclaunch.spec.read import read_site
from hpclaunch.values.errors import InputError

SITE = """\
version: 1
name: k8s
scheduler: kubernetes
node_types: [{type: dgx-a100, count: 2}]
kubernetes:
  namespace: adas
"""


def problems(folder: Path, text: str) -> list[tuple[str, str]]:
    """(line:column, message) of each problem of this site file."""
    file = folder / "site.yaml"
    file.write_text(text)
    try:
        read_site(str(file))
    except InputError as error:
        return [(problem.where.removeprefix(f"{file}:"), problem.message) for problem in error.problems]
    return []


# One line under `kubernetes:`, where in it the value stands, and what is said.
WRONG = [
    ("namespace: Adas", 14, "'Adas' is not a DNS label"),
    ("namespace: a.b", 14, "not a DNS label"),
    (f"namespace: {'a' * 64}", 14, "at most 63 characters"),
    ("version: v1.29", 12, "not a version of Kubernetes, such as 1.29"),
    ("version: 1", 12, "not a version of Kubernetes"),
    ("mpi_operator: 0.8", 17, "not a version of the MPI operator, such as 0.8.0"),
    ("mpi_operator: v0.8.0", 17, "not a version of the MPI operator"),
    ("mpijob: {api: v1beta1}", 17, "is not one of v2beta1, v1, v1alpha2"),
    ("service_account: mpi_user", 20, "not a name that Kubernetes takes"),
    ("image_pull_secrets: [ok, -no]", 28, "'-no' is not a name that Kubernetes takes"),
    ("gpu_resource: gpu", 17, "has no domain: a device plugin's resource is such as nvidia.com/gpu"),
    ("gpu_resource: kubernetes.io/gpu", 17, "for the resources of Kubernetes itself"),
    ("rdma: {mlx5_0: shared-ib0}", 18, "is no resource of the shared device plugin"),
    ("rdma: {mlx5_0: a/b/c}", 18, "is not a key such as"),
    ("rdma: {mlx5/0: shared_ib0}", 18, "'mlx5/0' is not a name"),
    ("rdma: {'0c:00.0': shared_ib0}", 21, "not a PCI address in full and small letters"),
    ("rdma: {'0000:0C:00.0': shared_ib0}", 26, "not a PCI address in full and small letters"),
    ("networks: [a/b/c]", 14, "is not a network attachment"),
    ("networks: [sriov_111]", 14, "is not a network attachment"),
    ("networks: [ok@a-name-of-16-chr]", 14, "not the name of an interface"),
    ("hugepages: {hugepages-2Mi: 1Gi}", 30, "write the size alone: 2Mi"),
    ("hugepages: {2M: 1Gi}", 19, "is not the size of a huge page"),
    ("hugepages: {1024Mi: 1Gi}", 23, "is not the size of a huge page"),
    ("hugepages: {2Mi: 3Mi}", 20, "no multiple of the page size 2Mi: 4Mi is the next"),
    ("shm: 64GB", 8, "'64GB' is not an amount such as 960Gi"),
    ("shm: 64m", 8, "m stands for thousandths"),
    ("shm: 0", 8, "must be above 0"),
    ("queue: Gpu", 10, "not a name that Kubernetes takes"),
    (f"queue: {'q' * 64}", 10, "has 64 characters, and a label takes 63"),
    ("priority_class: High", 19, "not a name that Kubernetes takes"),
    ("gang: {scheduler: kueue}", 21, "is not one of volcano, scheduler-plugins"),
    ("ttl: 0", 8, "0 must be from 1"),
    ("worker_wait: 0", 16, "0 must be from 1"),
    ("sshd: {port: 70000}", 16, "70000 must be from 1 to 65535"),
    ("sshd: {folder: opt/ssh}", 18, "not an absolute path"),
    ("sshd: {kit: a/ssh, folder: /}", 30, "such as /opt/ssh"),
    ("sshd: {kit: docker://x}", 15, "is not an image such as"),
    ("launcher: {cpu: 0}", 19, "0 must be at least 1"),
    ("launcher: {memory: 4GiB}", 22, "is not an amount"),
    ("launcher: {selector: {a: b c}}", 28, "is not a label's value"),
    ("run_as: {user: -1, home: /h}", 18, "-1 must be from 0"),
    ("labels: {hpclaunch/job: x}", 27, "hpclaunch sets it"),
    ("labels: {training.kubeflow.org/job-name: x}", 44, "the MPI operator sets it"),
    ("labels: {kueue.x-k8s.io/queue-name: x}", 39, "write kubernetes.queue"),
    ("labels: {team: 'a b'}", 18, "is not a label's value"),
    ("labels: {-team: a}", 19, "is not a key such as"),
    ("annotations: {k8s.v1.cni.cncf.io/networks: a}", 46, "write kubernetes.networks"),
    ("secrets: {2FAST: {name: a, key: b}}", 20, "not the name of a variable"),
    ("secrets: {TOKEN: {name: A, key: b}}", 27, "not a name that Kubernetes takes"),
    ("secrets: {TOKEN: {name: a, key: b/c}}", 35, "is not a key of a Secret"),
    ("rdma_interfaces: {shared_ib9: [ib0]}", 33, "has no HCA with this resource"),
    ("machine_pool: GPU", 17, "not a name that Kubernetes takes"),
    ("submitters: [alice]", 16, "write user:NAME, group:NAME or serviceaccount:NAMESPACE:NAME"),
    ("submitters: ['serviceaccount:ci']", 16, "write user:NAME"),
]


@pytest.mark.parametrize(("line", "column", "said"), WRONG, ids=[case[0][:30] for case in WRONG])
def test_one_problem_at_its_place(tmp_path: Path, line: str, column: int, said: str) -> None:
    ((where, message),) = problems(tmp_path, SITE.replace("  namespace: adas\n", f"  {line}\n"))
    assert (where, said in message) == (f"6:{column}", True), message


RELATIONS = [
    ("  profile: rootless\n", "rootless needs a user that the images know"),
    ("  profile: rootless\n  run_as: {user: 0, home: /root}\n", "0 is root, and the profile is rootless"),
    ("  run_as: {user: 1000, home: /home/mpi}\n", "write profile: rootless for user 1000"),
    (
        "  profile: rootless\n  run_as: {user: 1000, home: /home/mpi}\n  sshd: {port: 22}\n",
        "sshd can have no port below 1024",
    ),
    ("  openshift: true\n", "hpclaunch site export rbac"),
    ("  mpijob: {operator: training-operator}\n", "serves v1 alone, not v2beta1: write api: v1"),
    (
        '  mpi_operator: "0.8.0"\n  mpijob: {api: v1, operator: training-operator}\n',
        "is the version of the mpi-operator",
    ),
    ("  gang: {scheduler: volcano}\n", "the site names none (mpi_operator)"),
    (
        '  mpi_operator: "0.8.0"\n  gang: {scheduler: scheduler-plugins, queue: a}\n',
        "scheduler-plugins has no queues",
    ),
]


@pytest.mark.parametrize(("lines", "said"), RELATIONS, ids=[case[1][:30] for case in RELATIONS])
def test_keys_that_contradict_one_another(tmp_path: Path, lines: str, said: str) -> None:
    ((_, message),) = problems(tmp_path, SITE + lines)
    assert said in message


NODES = [
    ("selector: {gpu: 'a b'}", "node_types[0].selector.gpu: 'a b' is not a label's value"),
    ("tolerations: [{operator: Equal, value: a}]", "operator: Equal needs the taint's key"),
    ("tolerations: [{operator: Equal, key: a}]", "needs the value of the taint a"),
    ("tolerations: [{key: a, value: b}]", "a value goes with operator: Equal"),
    ("tolerations: [{key: a, effect: NoRun}]", "'NoRun' is not one of NoSchedule"),
    ("tolerations: [{key: 'a b'}]", "is not a key such as"),
    ("allocatable: {cpu: 0}", "0 must be at least 1"),
    ("allocatable: {memory: 960}, selector: {a: ''}", None),
    ("allocatable: {memory: 960g}", "'960g' is not an amount"),
]


@pytest.mark.parametrize(("keys", "said"), NODES, ids=[case[0][:40] for case in NODES])
def test_nodes(tmp_path: Path, keys: str, said: str | None) -> None:
    found = problems(tmp_path, SITE.replace("count: 2", f"count: 2, {keys}"))
    assert [said in message for _, message in found] == [True] * (said is not None)


def test_nodes_of_several_types_are_told_apart_by_labels(tmp_path: Path) -> None:
    two = "[{type: dgx-a100, count: 2, selector: {gpu: a100}}, {type: dgx-h100, count: 2%s}]"

    def with_nodes(more: str) -> list[tuple[str, str]]:
        return problems(tmp_path, SITE.replace("[{type: dgx-a100, count: 2}]", two % more))

    assert "each needs a selector" in with_nodes("")[0][1]
    assert "an earlier group has the same labels" in with_nodes(", selector: {gpu: a100}")[0][1]
    assert with_nodes(", selector: {gpu: h100}") == []


@pytest.mark.parametrize("key", ["selector: {a: b}", "tolerations: [{key: a}]", "allocatable: {cpu: 2}"])
def test_what_only_kubernetes_has_is_not_taken_silently_elsewhere(tmp_path: Path, key: str) -> None:
    text = (
        f"name: s\nscheduler: slurm\nslurm: {{version: 22.05}}\nnode_types: [{{type: t, count: 1, {key}}}]\n"
    )
    assert "is for scheduler: kubernetes alone" in problems(tmp_path, text)[0][1]


VOLUMES = [
    (
        "{claim: a, nfs: {server: s, path: /p}}",
        "volumes.v.nfs: a volume has one source, and this one has claim too",
    ),
    ("{path: /a, claim: a, config_map: b}", "one source"),
    ("{path: /a, claim: a}", None),
    ("{path: /a/../b}", "has a '..', which Kubernetes refuses"),
    ("{claim: A}", "not a name that Kubernetes takes"),
    ("{claim: a, file: true}", "is about a path"),
    ("{path: /etc/hosts, file: true}", None),
    ("{path: /a, folder: b}", "goes with a claim"),
    ("{claim: a, folder: /b}", "not a folder inside the volume"),
    ("{claim: a, folder: b/../../c}", "not a folder inside the volume"),
    ("{claim: a, folder: b/c}", None),
    ("{claim: a, size: 100GB}", "'100GB' is not an amount"),
    ("{claim: a, csi: {driver: d, handle: h}}", "write size, such as size: 100Gi"),
    ("{claim: a, size: 1Gi, csi: {driver: d, handle: ''}}", "the text is empty"),
    ("{claim: a, size: 1Gi, storage_class: s, provision: {provisioner: p}}", None),
    ("{claim: a, size: 1Gi, provision: {provisioner: p}}", "needs the name of the class"),
    (
        "{claim: a, size: 1Gi, storage_class: s, labels: {a: b}, provision: {provisioner: p}}",
        "is given no new volume",
    ),
    (
        "{claim: a, size: 1Gi, storage_class: s, csi: {driver: d, handle: h}, provision: {provisioner: p}}",
        "a claim has one of them",
    ),
    ("{path: /a, size: 1Gi}", "volumes.v.size: goes with a claim"),
    ("{nfs: {server: s, path: p}}", "not an absolute path"),
    ("{empty_dir: {size: 1GB}}", "is not an amount"),
    ("{empty_dir: {}}", None),
    ("{config_map: a_b}", "not a name that Kubernetes takes"),
]


@pytest.mark.parametrize(("volume", "said"), VOLUMES, ids=[case[0][:50] for case in VOLUMES])
def test_volumes(tmp_path: Path, volume: str, said: str | None) -> None:
    found = problems(tmp_path, f"{SITE}volumes:\n  v: {volume}\n")
    assert [said in message for _, message in found] == [True] * (said is not None)


def test_a_site_on_top_of_another_changes_single_keys(tmp_path: Path) -> None:
    base = tmp_path / "base.yaml"
    base.write_text(
        SITE + "  rdma: {mlx5_0: a, mlx5_1: b}\n  run_as: {user: 7, home: /h}\n  profile: rootless\n"
    )
    over = tmp_path / "over.yaml"
    over.write_text("name: over\nextends: ./base.yaml\nkubernetes: {rdma: {mlx5_1: c}, run_as: {user: 8}}\n")
    kubernetes = read_site(str(over)).value.kubernetes
    assert kubernetes is not None
    assert kubernetes.namespace == "adas"
    assert kubernetes.rdma == {"mlx5_0": "a", "mlx5_1": "c"}
    assert kubernetes.run_as is not None
    assert (kubernetes.run_as.user, kubernetes.run_as.home) == (8, "/h")


# The API server's own patterns (k8s.io/apimachinery/pkg/util/validation).
LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
WORD = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
ALPHABET = st.text("aZ09-_./é", max_size=8)


@pytest.mark.parametrize(
    ("rule", "pattern"),
    [
        (apiwords.label, LABEL),
        (apiwords.name, rf"{LABEL}(\.{LABEL})*"),
        (apiwords.label_value, f"({WORD})?"),
        (apiwords.label_key, rf"({LABEL}(\.{LABEL})*/)?{WORD}"),
        (apiwords.secret_key, r"(?!\.\.?$)[-._a-zA-Z0-9]+"),
    ],
)
def test_the_grammar_is_that_of_the_api(rule, pattern: str) -> None:
    @given(ALPHABET)
    def same(text: str) -> None:
        try:
            rule(text)
            taken = True
        except ValueError:
            taken = False
        assert taken == bool(re.fullmatch(pattern, text, re.ASCII))

    same()


@pytest.mark.parametrize(
    ("rule", "longest"),
    [(apiwords.label, 63), (apiwords.label_value, 63), (apiwords.label_key, 63), (apiwords.name, 253)],
)
def test_lengths(rule, longest: int) -> None:
    rule("a" * longest)
    with pytest.raises(ValueError, match=str(longest)):
        rule("a" * (longest + 1))


SHIPPED = Path(__file__).parent.parent.parent / "site-configs"


@pytest.mark.parametrize("file", sorted(SHIPPED.glob("*.yaml")), ids=lambda file: file.stem)
def test_shipped_sites_are_named_as_their_files(file: Path) -> None:
    site = read_site(str(file)).value
    assert site.name == file.stem
    assert (site.scheduler == "kubernetes") == ("kubernetes" in yaml.safe_load(file.read_text()))


@pytest.mark.parametrize("file", sorted(SHIPPED.glob("*.yaml")), ids=lambda file: file.stem)
def test_shipped_sites_are_valid_to_an_editor(file: Path) -> None:
    jsonschema.validate(yaml.safe_load(file.read_text()), site_schema())
