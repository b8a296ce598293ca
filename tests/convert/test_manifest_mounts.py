"""Where mounts of pods are, and what of a volume they show."""

import pytest
from manifest_cases import converted

from hpclaunch.convert.conversion import convert
from hpclaunch.convert.inputs import classified
from hpclaunch.convert.options import Options

_MOUNTED = """\
apiVersion: v1
kind: Pod
metadata: {name: a}
spec:
  containers:
  - {name: c, image: "reg/x:1", command: [/t], volumeMounts: [MOUNT]}
  volumes:
  - {name: v, VOLUME}
"""
_CLAIM = "persistentVolumeClaim: {claimName: corpus}"


@pytest.mark.parametrize(
    ("path", "volume", "mount"),
    [
        ("data/raw", _CLAIM, "corpus:/data/raw"),
        ("/data", _CLAIM, "corpus:/data"),
        ("dev/shm", "emptyDir: {}", ""),
    ],
)
def test_a_relative_path_of_a_mount_is_one_below_the_root(path: str, volume: str, mount: str) -> None:
    text = _MOUNTED.replace("MOUNT", f"{{name: v, mountPath: {path}}}").replace("VOLUME", volume)
    fact = converted(text).facts.get(("mounts", 0))
    assert (fact.value if fact is not None else "") == mount


@pytest.mark.parametrize(
    ("source", "target", "mount"),
    [
        ("/dev/infiniband", "/dev/infiniband", ""),
        ("/proc/", "/proc", ""),
        ("/proc", "/host/proc", "/proc:/host/proc"),
        ("/sys", "/host/sys", "/sys:/host/sys"),
        ("/dev/shm", "/corpus", "/dev/shm:/corpus"),  # files that wait in the memory of the host
        ("/dev/shm/corpus", "/corpus", "/dev/shm/corpus:/corpus"),
        ("/dev/shm", "/dev/shm", ""),
    ],
)
def test_a_folder_of_the_host_comes_by_itself_at_its_own_place_alone(source, target, mount) -> None:
    volume = f"hostPath: {{path: {source}}}"
    text = _MOUNTED.replace("MOUNT", f"{{name: v, mountPath: {target}}}").replace("VOLUME", volume)
    fact = converted(text).facts.get(("mounts", 0))
    assert (fact.value if fact is not None else "") == mount


def test_a_volume_of_no_kind_is_an_empty_folder() -> None:
    mount = "{name: v, mountPath: /steps, readOnly: true}"
    draft = converted(_MOUNTED.replace("MOUNT", mount).replace("{name: v, VOLUME}", "{name: v}"))
    assert draft.facts["mounts", 0].value == "v:/steps:ro"
    assert draft.hints["volumes.v"] == {"empty_dir": {}}
    assert not any("no site has such a volume" in each.why for each in draft.findings)


def test_one_file_of_a_config_map_is_asked_about() -> None:
    mount = "{name: v, mountPath: /t, subPath: start.sh}"
    text = _MOUNTED.replace("MOUNT", mount).replace("VOLUME", "configMap: {name: scripts}")
    draft = converted(text)
    fact = draft.facts[("mounts", 0)]
    assert fact.is_open
    assert any("may start several ranks" in each.why for each in draft.findings)
    assert "start.sh of the config map scripts, one file" in fact.question


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ("defaultMode: 0750", "defaultMode 0750"),
        ("defaultMode: 0o555", "defaultMode 0o555"),
        ("defaultMode: 493", "defaultMode 493"),
        ("items: [{key: a, path: a, mode: 0700}]", "mode 0700"),
        ("defaultMode: 0644", ""),
        ("defaultMode: 420", ""),
        ("optional: false", ""),
    ],
)
def test_files_of_a_config_map_that_could_be_executed_are_said(fields: str, said: str) -> None:
    text = _MOUNTED.replace("MOUNT", "{name: v, mountPath: /tools}")
    draft = converted(text.replace("VOLUME", f"configMap: {{name: kit, {fields}}}"))
    whole = [each.what for each in draft.findings if "ode " in each.what]
    assert whole == ([f"{said} of the config map kit"] if said else [])
    assert draft.facts["mounts", 0].value == "kit:/tools:ro"


def test_a_file_of_users_is_asked_about_by_its_name() -> None:
    mount = "{name: v, mountPath: /etc/passwd, subPath: users-of-lab-31}"
    text = _MOUNTED.replace("MOUNT", mount).replace("VOLUME", "configMap: {name: people}")
    job = convert(classified({"pod.yaml": text}), Options({})).job
    assert "what is mounted at /etc/passwd, which is users-of-lab-31 of the config map people" in job


@pytest.mark.parametrize(
    ("command", "target", "is_it"),
    [
        ("fetch.sh", "/usr/local/bin/fetch.sh", True),
        ("fetch.sh, --all", "/sbin/fetch.sh", True),
        ("fetch.sh", "/opt/fetch.sh", False),  # no folder of programs
        ("./prefetch", "/bin/fetch.sh", False),
    ],
)
def test_a_script_that_is_started_by_its_name_is_that_of_the_config_map(command, target, is_it):
    mount = f"{{name: v, mountPath: {target}, subPath: fetch.sh}}"
    text = _MOUNTED.replace("MOUNT", mount).replace("VOLUME", "configMap: {name: scripts}")
    draft = converted(text.replace("command: [/t]", f"command: [{command}]"))
    said = {each.what for each in draft.findings if each.kind == "question"}
    assert ("what fetch.sh of the config map scripts does" in said) == is_it
    assert ("whether fetch.sh starts ranks itself" in said) == ("/opt" in target)


def test_a_part_of_an_empty_folder_is_said() -> None:
    mount = "{name: v, mountPath: /data, subPath: first}"
    draft = converted(_MOUNTED.replace("MOUNT", mount).replace("VOLUME", "emptyDir: {}"))
    assert draft.facts[("mounts", 0)].value == "v:/data"
    assert any(each.what == "subPath of an empty folder" for each in draft.findings)


@pytest.mark.parametrize(
    ("volume", "named", "uses"),
    [
        ("configMap: {name: settings}", "settings", True),
        ("projected: {sources: [{configMap: {name: settings}}]}", "settings", True),
        ("configMap: {name: settings}", "others", False),
        ("configMap: settings", "settings", False),
        (_CLAIM, "settings", False),
    ],
)
def test_a_config_map_that_no_pod_of_the_job_names_is_not_its_own(
    volume: str, named: str, uses: bool
) -> None:
    text = _MOUNTED.replace("MOUNT", "{name: v, mountPath: /t}").replace("VOLUME", volume)
    beside = f"---\napiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {named}}}\ndata: {{a.ini: x}}\n"
    said = next(each for each in converted(text + beside).findings if each.what == f"ConfigMap {named}")
    assert (said.why == "the job does not use it") != uses


@pytest.mark.parametrize(
    ("command", "is_it"),
    [
        ("./tide, --with, /deck/tide.yaml", False),
        ("./tide, --with=/deck/tide.yaml", False),
        ("bash, -e, /deck/tide.txt", True),
        ("/deck/tide.cfg", True),
        ("./tide, /deck/tide.sh", True),
    ],
)
def test_what_a_program_only_reads_of_a_config_map_is_no_script(command: str, is_it: bool) -> None:
    mount = "{name: v, mountPath: /deck}"
    text = _MOUNTED.replace("MOUNT", mount).replace("VOLUME", "configMap: {name: deck}")
    draft = converted(text.replace("command: [/t]", f"command: [{command}]"))
    assert any("of the config map deck does" in each.what for each in draft.findings) == is_it
