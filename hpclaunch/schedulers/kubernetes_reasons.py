"""Kubernetes' reasons in plain words, as data.

Unschedulable: the scheduler's plugins (pkg/scheduler/framework/plugins/*, "ErrReason..."), Kubernetes 1.20 to
1.33. Waiting containers: pkg/kubelet/images/types.go and pkg/kubelet/container/sync_result.go. Disruptions:
"Pod disruption conditions" of the documentation, and before 1.26 the pod's status.reason.
"""

import re

from hpclaunch.values.job import State

# What the scheduler says of some nodes -> what that means. {0} is the number of nodes, {1} what is named.
NODES = (
    (r"(\d+) Insufficient ([\w./-]*\w)", "{0} with too little {1} free"),
    (
        r"(\d+) node\(s\) (?:had|were) (?:untolerated )?taint \{node\.kubernetes\.io/unschedulable: ?\}",
        "{0} cordoned",
    ),
    (
        r"(\d+) node\(s\) had (?:untolerated )?taint \{node\.kubernetes\.io/(?:not-ready|unreachable): ?\}",
        "{0} not ready",
    ),
    (
        r"(\d+) node\(s\) had (?:untolerated )?taint \{([^}]*?)(?:: )?\}",
        "{0} with the taint {1}, which the job does not tolerate",
    ),
    (r"(\d+) node\(s\) were unschedulable", "{0} cordoned"),
    (r"(\d+) node\(s\) were not ready", "{0} not ready"),
    (
        r"(\d+) node\(s\) didn't match (?:Pod's )?node (?:affinity/selector|affinity|selector)",
        "{0} not of those that the job asks for",
    ),
    (
        r"(\d+) node\(s\) didn't (?:match pod affinity/anti-affinity(?: rules)?|match pod anti-affinity rules"
        r"|satisfy existing pods anti-affinity rules)",
        "{0} with a worker of this job already",
    ),
    (r"(\d+) node\(s\) had volume node affinity conflict", "{0} out of reach of a volume of the job"),
    (r"(\d+) node\(s\) didn't have free ports", "{0} with the job's port in use"),
    (r"(\d+) Too many pods", "{0} full of pods"),
)
OF_NODES = re.compile(r"^\d+/(\d+) nodes are available")
NODE_REASONS = tuple((re.compile(pattern), text) for pattern, text in NODES)

# What the scheduler says of the job, whatever the nodes.
UNSCHEDULABLE = (
    (re.compile(r'persistentvolumeclaim "([^"]+)" not found'), "there is no claim {0} in the namespace"),
    (re.compile(r"unbound immediate PersistentVolumeClaims"), "a claim of it has no volume yet"),
    (
        re.compile(r'persistentvolumeclaim "([^"]+)" bound to non-existent'),
        "the volume behind the claim {0} is gone",
    ),
)

# Why an image does not come.
IMAGE = (
    (
        re.compile(r"unauthorized|authorization failed|denied|401|403|no basic auth", re.I),
        "the registry wants a login (or has no such image): see image_pull_secrets of the site file",
    ),
    (re.compile(r"not found|manifest unknown|does not exist", re.I), "the registry has no such image or tag"),
    (re.compile(r"x509|certificate", re.I), "the node does not trust the registry's certificate"),
    (
        re.compile(r"no such host|timeout|timed out|connection refused|unreachable|EOF", re.I),
        "the node cannot reach the registry",
    ),
    (re.compile(r"no space left", re.I), "the node's disk is full"),
    (re.compile(r"no match for platform|exec format", re.I), "it is for another kind of processor"),
)
IMAGE_REASONS = frozenset({"ErrImagePull", "ImagePullBackOff", "ImageInspectError", "RegistryUnavailable"})

# A waiting container's reason -> what that means; {0} is the kubelet's message.
WAITING = {
    "InvalidImageName": "its image's name is not valid: {0}",
    "ErrImageNeverPull": "its image is not on the node, and image_pull_policy is Never",
    "CreateContainerConfigError": "its container cannot be set up: {0}",
    "CreateContainerError": "its container cannot be made: {0}",
    "RunContainerError": "its container cannot be started: {0}",
    "CrashLoopBackOff": "its container ends again and again",
    "PostStartHookError": "its container cannot be started: {0}",
}
STARTING = frozenset({"ContainerCreating", "PodInitializing"})
NEVER_STARTS = "the MPI operator leaves such a job as it is: cancel it"
STAGING = "folders are being copied to its node (stage_in)"

# An event's reason, a part of its message -> what that means; {0} is the message.
EVENTS = (
    (
        "FailedMount",
        "hostPath type check failed",
        "a path of its mounts is not on the node, or is no folder: {0}",
    ),
    ("FailedMount", "not found", "a volume of it is not there: {0}"),
    ("FailedMount", "", "a volume cannot be mounted: {0}"),
    ("FailedAttachVolume", "", "a volume cannot be attached: {0}"),
    ("FailedCreatePodSandBox", "", "its network cannot be set up: {0}"),
    ("", "exceeded quota", "the namespace's quota is used up: {0}"),
    ("", "security context constraint", "no SCC allows its pods (`hpclaunch site export rbac` has one): {0}"),
    ("", "violates PodSecurity", "the namespace's PodSecurity level does not allow its pods: {0}"),
    ("", 'serviceaccount "', "its service account is missing: {0}"),
    ("FailedCreate", "", "its pods cannot be made: {0}"),
    ("ValidationError", "", "the MPI operator refuses it: {0}"),
    ("MPIJobFailed", "", "the MPI operator could not make its pods: {0}"),
    ("ErrResourceExists", "", "something of another job has a name that it needs: {0}"),
    ("FailedScheduling", "gang", "the gang scheduler waits until all workers fit: {0}"),
    ("Unschedulable", "", "the gang scheduler waits until all workers fit: {0}"),
)

# DisruptionTarget's reason, or the pod's own -> the job's state, and what happened to the pod.
DISRUPTIONS: dict[str, tuple[State, str]] = {
    "PreemptionByScheduler": ("PREEMPTED", "a pod of higher priority took its place"),
    "PreemptionByKubeScheduler": ("PREEMPTED", "a pod of higher priority took its place"),
    "Preempting": ("PREEMPTED", "a pod of higher priority took its place"),
    "DeletionByTaintManager": ("NODE_FAIL", "its node failed, or was tainted"),
    "EvictionByEvictionAPI": ("NODE_FAIL", "its node was drained"),
    "DeletionByPodGC": ("NODE_FAIL", "its node is gone"),
    "TerminationByKubelet": ("NODE_FAIL", "its node ended it"),
    "Evicted": ("NODE_FAIL", "its node evicted it"),
    "NodeLost": ("NODE_FAIL", "its node is lost"),
    "NodeShutdown": ("NODE_FAIL", "its node was shut down"),
    "Shutdown": ("NODE_FAIL", "its node was shut down"),
    "Terminated": ("NODE_FAIL", "its node was shut down"),
    "UnexpectedAdmissionError": ("NODE_FAIL", "its node could not give it what was promised"),
    "OutOfcpu": ("NODE_FAIL", "its node had too few CPUs when it came"),
    "OutOfmemory": ("NODE_FAIL", "its node had too little memory when it came"),
    "OutOfnvidia.com/gpu": ("NODE_FAIL", "its node had too few GPUs when it came"),
}
# The kubelet evicts a pod also for what the pod itself did.
OWN_FAULT = re.compile(r"exceeds? the (?:total )?limit|exceeded its local ephemeral storage limit", re.I)


def unschedulable(message: str) -> str:
    """Why no node takes a pod, from the scheduler's message; the message itself where it is not known."""
    for pattern, text in UNSCHEDULABLE:
        if found := pattern.search(message):
            return text.format(*found.groups())
    now = message.split("preemption:", 1)[0].strip()  # the rest tells what preemption would not help
    total = OF_NODES.search(now)
    parts: list[str] = []
    rest = now
    for pattern, text in NODE_REASONS:
        parts += [text.format(*found.groups()) for found in pattern.finditer(rest)]
        rest = pattern.sub("", rest)
    if not total or not parts:
        return f"no node takes it: {now}"
    return f"no node can take it: of {total[1]} nodes {', '.join(parts)}"


def image(name: str, message: str) -> str:
    """Why an image does not come."""
    for pattern, text in IMAGE:
        if pattern.search(message):
            return f"the image {name} cannot be pulled: {text}"
    return f"the image {name} cannot be pulled{': ' + message if message else ''}"


def not_staged(message: str) -> str:
    """Why folders were not copied: the last two lines of the container say what is wrong."""
    lines = [line.removeprefix("hpclaunch: ") for line in message.splitlines() if line.strip()]
    return "; ".join(lines[-2:]) or "folders were not copied to its node (stage_in)"


def event(reason: str, message: str) -> str:
    """What an event means for a job that does not start, "" for one that is of no account."""
    for name, part, text in EVENTS:
        if name in ("", reason) and part in message:
            return text.format(message)
    return ""
