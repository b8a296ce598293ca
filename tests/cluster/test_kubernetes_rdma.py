"""`site export rdma-config` and `machine-config`: what the device plugins, the SR-IOV operator and the nodes
of OpenShift take."""

import base64
import configparser
import json
import re
from pathlib import Path
from typing import Any

import pytest
from kubernetes_sites import SHARED, exported, site_file

from hpclaunch.cluster.export import export
from hpclaunch.cluster.hcaresources import interface
from hpclaunch.spec.read import read_site
from hpclaunch.topology import catalogue, model
from hpclaunch.values.errors import InputError


def refusal(form: str, site: Path) -> InputError:
    value = read_site(str(site)).value
    machines = {group.type: catalogue.load(group.type).value for group in value.node_types}
    with pytest.raises(InputError) as caught:
        export(form, value, machines, None)
    return caught.value


def plugin_config(site: str | Path) -> dict[str, Any]:
    """The plugin's configuration, as it takes it (pkg/resources/resources_manager.go, ValidateConfigs)."""
    (config_map,) = exported("rdma-config", site)
    assert config_map["metadata"]["name"] == "rdma-devices"
    config: dict[str, Any] = json.loads(config_map["data"]["config.json"])
    names = [entry["resourceName"] for entry in config["configList"]]
    assert len(names) == len(set(names)) > 0
    for entry in config["configList"]:
        assert re.fullmatch("[a-zA-Z0-9_]+", entry["resourceName"])
        assert set(entry) == {"resourceName", "rdmaHcaMax", "selectors"}
        assert entry["selectors"]["ifNames"]
        assert entry["rdmaHcaMax"] > 0
    return config


def interfaces(site: str | Path) -> dict[str, list[str]]:
    return {
        entry["resourceName"]: entry["selectors"]["ifNames"] for entry in plugin_config(site)["configList"]
    }


def test_the_published_plugin_of_the_dgx1s() -> None:
    """The seed's resources and interfaces, and its number of shares."""
    config = plugin_config("openshift-dgx1-spectrumscale")
    assert interfaces("openshift-dgx1-spectrumscale") == {f"shared_ib{n}": [f"ib{n}"] for n in range(4)}
    assert {entry["rdmaHcaMax"] for entry in config["configList"]} == {100}


# The interfaces of the compute HCAs, as NVIDIA's user guides of the machines print them.
PUBLISHED = {
    "dgx-a100": "ibp12s0 ibp18s0 ibp75s0 ibp84s0 ibp141s0 ibp148s0 ibp186s0 ibp204s0",
    "dgx-h100": "ibp24s0 ibp64s0 ibp79s0 ibp94s0 ibp154s0 ibp192s0 ibp206s0 ibp220s0",
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_interfaces_are_named_as_on_the_machine(tmp_path: Path, name: str) -> None:
    machine = catalogue.load(name).value
    hcas = model.named_hcas(machine, None)
    rdma = ", ".join(f"'{hca.pci}': ib_{number}" for number, hca in enumerate(hcas))
    found = interfaces(site_file(tmp_path, f"rdma: {{{rdma}}}", node_type=name))
    assert " ".join(name for names in found.values() for name in names) == PUBLISHED[name]


def test_a_port_of_a_card_with_several_has_its_number() -> None:
    machine = catalogue.load("dgx-h100").value
    ports = [hca for hca in machine.hcas if hca.pci.startswith("0000:29")]
    assert [interface(hca, machine) for hca in ports] == ["ibp41s0f0", None]


def test_one_resource_may_stand_for_all_hcas(tmp_path: Path) -> None:
    rdma = "rdma: {mlx5_0: all, mlx5_1: all, mlx5_2: all, mlx5_3: all}"
    assert interfaces(site_file(tmp_path, rdma)) == {"all": ["ibp5s0", "ibp12s0", "ibp132s0", "ibp139s0"]}


def test_what_the_site_says_of_interfaces_counts(tmp_path: Path) -> None:
    said = "rdma_interfaces: {shared_ib1: [ib1], shared_ib0: [ib7]}"
    found = interfaces(site_file(tmp_path, SHARED, said))
    assert found == {
        "shared_ib0": ["ib7"],
        "shared_ib1": ["ib1"],
        "shared_ib2": ["ibp132s0"],
        "shared_ib3": ["ibp139s0"],
    }


def test_policies_choose_exactly_the_hcas_of_their_resource() -> None:
    """Of all functions on the machine, storage and Ethernet ones too, by the operator's own rule
    (SriovNetworkNicSelector.Selected)."""
    machine = catalogue.load("dgx-a100").value
    site = read_site("k8s-superpod-a100").value
    assert site.kubernetes is not None
    policies = exported("rdma-config", "k8s-superpod-a100")
    chosen = {}
    for policy in policies:
        spec = policy["spec"]
        assert policy["metadata"]["namespace"] == "nvidia-network-operator"
        assert (spec["isRdma"], spec["linkType"], spec["deviceType"]) == (True, "ib", "netdevice")
        assert 1 <= spec["numVfs"] <= 128
        assert spec["nodeSelector"] == site.node_types[0].selector
        for hca in machine.hcas:
            if hca.pci in spec["nicSelector"]["rootDevices"]:
                chosen[hca.pci] = f"nvidia.com/{spec['resourceName']}"
    assert chosen == site.kubernetes.rdma
    assert set(chosen) == {hca.pci for hca in model.named_hcas(machine, None)}


def test_openshifts_operator_has_its_own_namespace(tmp_path: Path) -> None:
    site = site_file(tmp_path, "rdma: {mlx5_0: openshift.io/ib_0, mlx5_1: openshift.io/ib_0}")
    (policy,) = exported("rdma-config", site)
    assert policy["metadata"] | {"labels": None} == {
        "name": "ib-0",
        "namespace": "openshift-sriov-network-operator",
        "labels": None,
    }
    assert policy["spec"]["nicSelector"]["rootDevices"] == ["0000:05:00.0", "0000:0c:00.0"]


WRONG_RDMA = [
    ((), "dgx-1v", "kubernetes.rdma names no HCA's resource"),
    (("rdma: {mlx5_9: a}",), "dgx-1v", "mlx5_9 is no HCA of dgx-1v"),
    (("rdma: {mlx5_0: a, '0000:05:00.0': b}",), "dgx-1v", "is the same HCA of a dgx-1v as mlx5_0"),
    (("rdma: {mlx5_0: intel.com/sriov}",), "dgx-1v", "made by whoever runs the device plugin of intel.com"),
    (("rdma: {mlx5_5: a}",), "dgx-a100", "rdma_interfaces: {a: [...]}"),
    (("rdma: {mlx5_4: nvidia.com/a, mlx5_5: nvidia.com/a}",), "dgx-a100", "InfiniBand and Ethernet"),
]


@pytest.mark.parametrize(("keys", "node_type", "said"), WRONG_RDMA)
def test_what_cannot_be_configured(tmp_path: Path, keys: tuple[str, ...], node_type: str, said: str) -> None:
    assert said in str(refusal("rdma-config", site_file(tmp_path, *keys, node_type=node_type)))


def test_a_policy_needs_the_labels_of_its_nodes(tmp_path: Path) -> None:
    site = site_file(tmp_path, "rdma: {mlx5_0: nvidia.com/a}")
    site.write_text(site.read_text().replace(", selector: {gpu: here}", ""))
    assert "write a selector" in str(refusal("rdma-config", site))


OPENSHIFT = ("openshift: true", "service_account: mpi")


def test_the_nodes_runtime_gets_the_limit(tmp_path: Path) -> None:
    site = site_file(tmp_path, *OPENSHIFT, 'version: "1.27"', "machine_pool: gpu")
    (config,) = exported("machine-config", site)
    assert config["metadata"]["labels"]["machineconfiguration.openshift.io/role"] == "gpu"
    ignition = config["spec"]["config"]
    assert ignition["ignition"] == {"version": "3.2.0"}
    (file,) = ignition["storage"]["files"]
    assert (file["path"].startswith("/etc/crio/crio.conf.d/"), file["mode"], file["overwrite"]) == (
        True,
        0o644,
        True,
    )
    kind, _, data = file["contents"]["source"].partition(",")
    assert kind == "data:text/plain;charset=utf-8;base64"
    toml = configparser.ConfigParser()
    toml.read_string(base64.b64decode(data, validate=True).decode())
    assert {name: dict(toml[name]) for name in toml.sections()} == {
        "crio.runtime": {"default_ulimits": '["memlock=-1:-1"]'}
    }


def test_other_clusters_are_told_what_to_do(tmp_path: Path) -> None:
    assert "LimitMEMLOCK=infinity" in str(refusal("machine-config", site_file(tmp_path)))
    old = refusal("machine-config", site_file(tmp_path, *OPENSHIFT, 'version: "1.19"'))
    assert "before 4.7" in str(old)
    assert "default_ulimits" in str(old)
