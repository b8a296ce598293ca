"""The files of a sandbox: Slurm's configuration, the site file, and the list of daemons."""

import json
import os
from pathlib import Path
from typing import Any

import yaml
from msgspec import Struct

from hpclaunch.capability.tables import pyxis_has_feature, pyxis_options
from hpclaunch.cluster.slurmconf import gres_lines, node_line
from hpclaunch.sandbox import accounting
from hpclaunch.sandbox.groups import Group
from hpclaunch.sandbox.layout import Layout
from hpclaunch.sandbox.packages import find

CONTROLLER = "slurmctld"
BIND_TOOLS = ("taskset", "numactl")


class Settings(Struct, frozen=True):
    """What a sandbox is made from. `ports` are the controller's and then one for each node with a slurmd, and
    `accounts_port` is slurmdbd's where there is one."""

    name: str
    groups: tuple[Group, ...]
    slurm_version: str
    pyxis_version: str
    ports: tuple[int, ...]
    user: str
    accounts_port: int | None = None

    @property
    def hosts(self) -> tuple[str, ...]:
        return tuple(host for group in self.groups for host in group.hosts)

    @property
    def most_gpus(self) -> int:
        return max(len(group.machine.gpu_numa) for group in self.groups)


def slurm_conf(layout: Layout, settings: Settings) -> str:
    """slurm.conf, in keys that Slurm 22.05 reads (its read_config.c)."""
    lines = [
        f"ClusterName={settings.name}",
        f"SlurmctldHost={CONTROLLER}(127.0.0.1)",
        f"SlurmctldPort={settings.ports[0]}",
        f"SlurmUser={settings.user}",
        f"SlurmdUser={settings.user}",
        "AuthType=auth/munge",
        f"AuthInfo=socket={layout.munge_socket}",
        f"StateSaveLocation={layout.run}/state",
        f"SlurmdSpoolDir={layout.run}/spool/%n",
        f"SlurmctldPidFile={layout.run}/slurmctld.pid",
        f"SlurmdPidFile={layout.run}/slurmd-%n.pid",
        f"SlurmctldLogFile={layout.log}/slurmctld.log",
        f"SlurmdLogFile={layout.log}/slurmd-%n.log",
        # Two nodes' PMIx servers would collide in one /tmp.
        f"TmpFS={layout.run}/tmp/%n",
        f"PlugStackConfig={layout.folder}/etc/plugstack.conf",
        # The nodes may claim hardware that is not there.
        "SlurmdParameters=config_overrides",
        "ProctrackType=proctrack/linuxproc",
        "TaskPlugin=task/affinity",
        "SelectType=select/cons_tres",
        "SelectTypeParameters=CR_Core_Memory",
        # Else a job that names no memory takes all of the node's, and no second one fits beside it.
        f"DefMemPerCPU={min(each.machine.memory_mib // each.machine.cpu_count for each in settings.groups)}",
        "GresTypes=gpu",
        "MpiDefault=none",
        # Jobs start at once, and end soon after they were told to.
        "SchedulerParameters=batch_sched_delay=0,sched_interval=1,bf_interval=1",
        "KillWait=5",
        # Without accounting a finished job is forgotten after this time (seconds).
        "MinJobAge=7200",
        "JobCompType=jobcomp/filetxt",
        f"JobCompLoc={layout.log}/jobcomp.txt",
        # Sweeps of thousands, in the smallest that is more than 10,000 tasks.
        "MaxArraySize=10001",
        "MaxJobCount=50000",
        "MailProg=/bin/true",
        "ReturnToService=2",
    ]
    if settings.accounts_port is not None:
        lines += accounting.slurm_conf_lines(layout, settings.accounts_port)
    ports = iter(settings.ports[1:])
    for group in settings.groups:
        for host in group.hosts:
            where = {"NodeHostname": host, "NodeAddr": "127.0.0.1", "Port": str(next(ports))}
            lines.append(node_line(group.machine, host, **where, State="UNKNOWN"))
        if rest := group.hosts_without_daemon:
            # A cloud node that is powered down counts as usable, so that `sbatch --test-only` accepts it.
            lines += [
                node_line(group.machine, rest, NodeAddr="127.0.0.1", Weight="1000", State="CLOUD"),
                "SuspendProgram=/bin/true",
                "ResumeProgram=/bin/true",
                "SuspendTime=86400",
            ]
    lines.append("PartitionName=batch Nodes=ALL Default=YES MaxTime=INFINITE State=UP")
    return "".join(f"{line}\n" for line in lines)


def gres_conf(layout: Layout, settings: Settings) -> str:
    """gres.conf: the fake devices of all nodes, declared ones too."""
    device = f"{layout.folder}/devices/nvidia"
    lines = (gres_lines(group.machine, group.declared_hosts, device) for group in settings.groups)
    return "".join(f"{line}\n" for group in lines for line in group)


def plugstack_conf(layout: Layout, settings: Settings) -> str:
    """The lines that load the made-up machines, and the stand-in for Pyxis with the options of the declared
    release."""
    machine = f"required {layout.native}/spank_machine.so machines={layout.machines} tasks={layout.tasks}\n"
    words = ["required", f"{layout.native}/spank_pyxis.so", f"record={layout.pyxis}"]
    words += [name for name in ("sbatch", "environment") if pyxis_has_feature(name, settings.pyxis_version)]
    for option in pyxis_options(settings.pyxis_version):
        flags = [option.name]
        flags += ["argument"] if option.argument else []
        flags += ["repeats"] if option.repeats else []
        flags += [f"negates={option.negates}"] if option.negates else []
        words.append("option=" + ",".join(flags))
    return machine + " ".join(words) + "\n"


def site_yaml(layout: Layout, settings: Settings) -> str:
    """The site file, good for `--site`."""
    site = {
        "version": 1,
        "name": settings.name,
        "scheduler": "slurm",
        "node_types": [_node_group(group) for group in settings.groups],
        "container": "pyxis",
        "slurm": {
            "version": settings.slurm_version,
            "pyxis": settings.pyxis_version,
            "partition": "batch",
            "mpi_plugin": {"pmix": "pmix"},
            "conf": str(layout.slurm_conf),
        },
        "network": {"socket_ifname": "lo"},
    }
    text = yaml.safe_dump(site, sort_keys=False)
    count = len(settings.hosts)
    return f"# Written by `hpclaunch sandbox up`: {count} fake nodes on this machine.\n{text}"


def _node_group(group: Group) -> dict[str, str]:
    found = {"type": group.node_type, "hosts": group.declared_hosts}
    return found if group.variant is None else {**found, "variant": group.variant}


def hosts_file(settings: Settings) -> str:
    """/etc/hosts as the nodes see it: each node has an address of its own, all on the loopback device."""
    lines = ["127.0.0.1 localhost", "::1 localhost ip6-localhost", f"127.0.0.1 {CONTROLLER}"]
    lines += [f"127.1.{index // 250}.{index % 250 + 1} {host}" for index, host in enumerate(settings.hosts)]
    return "".join(f"{line}\n" for line in lines)


def services_json(layout: Layout, settings: Settings) -> str:
    """The daemons for supervisor.py, in the order in which they start."""
    # munged ends where it holds a folder above its files unsafe, and the machine's own may be: / belongs to
    # nobody in the user's own mode, and a group may write to it in a container.
    munged = [find("munged"), "--foreground", "--num-threads=2", "--force"]
    munged += [f"--socket={layout.munge_socket}", f"--key-file={layout.run}/munge/key"]
    munged += [f"--pid-file={layout.run}/munge/pid", f"--seed-file={layout.run}/munge/seed"]
    munged += [f"--log-file={layout.run}/munge/log"]
    conf = str(layout.slurm_conf)
    services: list[dict[str, Any]] = [
        {"name": "munged", "argv": munged, "socket": str(layout.munge_socket), "node": False},
    ]
    if settings.accounts_port is not None:
        services += accounting.services(layout, settings.name, settings.user, settings.accounts_port)
    services += [
        {
            "name": CONTROLLER,
            "argv": [find("slurmctld"), "-D", "-f", conf],
            "socket": "",
            "node": False,
        },
    ]
    for number, group in enumerate(settings.groups):
        env = [f"LD_PRELOAD={layout.preload(number)}", f"HWLOC_SYNTHETIC={group.hwloc}"]
        for host in group.hosts:
            argv = [find("slurmd"), "-D", "-N", host, "-f", conf]
            services.append({"name": host, "argv": argv, "socket": "", "node": True, "env": env})
    # slurmd wants a device file for each GPU. This one every user may mount, and it goes with the namespace.
    binds = [("/dev/null", f"{layout.folder}/devices/nvidia{gpu}") for gpu in range(settings.most_gpus)]
    # The stand-ins take the place of the programs themselves, so that no PATH has to change.
    binds += [(f"{layout.native}/bin/{tool}", os.path.realpath(find(tool))) for tool in BIND_TOOLS]
    plan = {
        "run": str(layout.run),
        "hostname": CONTROLLER,
        "binds": [(str(layout.folder / "etc" / "hosts"), "/etc/hosts"), *binds],
        # A few small files for each task: in memory, and gone with the namespace.
        "tasks": str(layout.tasks),
        "services": services,
    }
    return json.dumps(plan, indent=1)


def write(layout: Layout, settings: Settings) -> None:
    """Write all of them. The folders exist."""
    etc: Path = layout.folder / "etc"
    (etc / "slurm.conf").write_text(slurm_conf(layout, settings), encoding="utf-8")
    (etc / "gres.conf").write_text(gres_conf(layout, settings), encoding="utf-8")
    (etc / "plugstack.conf").write_text(plugstack_conf(layout, settings), encoding="utf-8")
    (etc / "hosts").write_text(hosts_file(settings), encoding="utf-8")
    if settings.accounts_port is not None:
        accounting.write_slurmdbd_conf(layout, settings.user, settings.accounts_port)
    layout.services.write_text(services_json(layout, settings), encoding="utf-8")
    layout.site.write_text(site_yaml(layout, settings), encoding="utf-8")
