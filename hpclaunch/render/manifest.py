"""The manifest of a plan: an MPIJob, or a Job of one pod."""

from collections.abc import Iterator

from hpclaunch import __version__
from hpclaunch.render import pods, processes, words
from hpclaunch.render.pods import Process
from hpclaunch.values.launchplan import LaunchPlan
from hpclaunch.values.pods import KubernetesTarget, MpiJob, RunPolicy
from hpclaunch.values.yamltext import comment, finished, under, value


def render(plan: LaunchPlan, target: KubernetesTarget) -> str:
    """The text that is submitted: the same for the same plan, so a submission's tag is not in it. Raises
    ValueError for a text that YAML cannot hold, such as one with NUL."""
    job = target.mpi_job
    if job is None:
        started = target.starter or target.stays
        process = (processes.launcher if started else processes.of_rank)(plan.common, target)
        worker = processes.after_staging(process, target.worker)
        lines, texts = _job(target, worker), worker.texts
    else:
        launcher = processes.launcher(plan.common, target)
        serving = processes.serving(target.serve) if target.serve else Process()
        worker = processes.after_staging(serving, target.worker)
        lines, texts = _mpi_job(target, job, launcher, worker), launcher.texts | worker.texts
    kind = ("batch/v1", "Job") if job is None else (f"kubeflow.org/{job.api}", "MPIJob")
    text = "\n".join((*_head(plan, target), *_metadata(target, *kind), "spec:", *lines, ""))
    return finished(text, texts)


def _head(plan: LaunchPlan, target: KubernetesTarget) -> Iterator[str]:
    """The comment at the top, with the command that makes the Secret of a submission, with values that no
    process list shows."""
    yield f"# {comment(target.name)} on {comment(plan.site)}: {comment(words.title(plan))}."
    made_by = f"Made by hpclaunch {__version__} from a job file and a site file"
    yield f"# {made_by}: change those, and render again."
    yield "#"
    yield "# The kubelet makes one `$` of the `$$` in command, args and env."
    if not target.variables_secret:
        return
    from hpclaunch.render import quote  # its patterns take a start longer than the rest of this page

    pod = target.launcher or target.worker
    made = [secret for secret in pod.secrets if secret.name == target.variables_secret]
    context = ["--context", target.context] if target.context else []
    kubectl = ["kubectl", *context, "-n", target.namespace, "create", "secret", "generic"]
    by_hand = [" ".join(map(quote.bash, (*kubectl, target.variables_secret)))]
    by_hand += [f'--from-file={secret.key}=<(printf %s "${secret.variable}")' for secret in made]
    yield "#"
    of_submit = "`hpclaunch submit` makes it of your shell's variables"
    yield f"# A Secret must be there first. {of_submit}; by hand, in bash:"
    yield "#   " + " \\\n#     ".join(by_hand)
    optional = [secret.variable for secret in made if secret.optional]
    if optional:
        yield f"# Leave out what is not set of {', '.join(optional)}: the job starts without."


def _metadata(target: KubernetesTarget, api: str, kind: str) -> Iterator[str]:
    yield f"apiVersion: {api}"
    yield f"kind: {kind}"
    yield "metadata:"
    yield f"  name: {value(target.name)}"
    yield f"  namespace: {value(target.namespace)}"
    yield from pods.labelled(target.labels, target.annotations)


def _job(target: KubernetesTarget, process: Process) -> Iterator[str]:
    """The spec of a Job."""
    yield from _kept(target.run_policy, 2)
    yield from _end(target.run_policy, 2)
    yield "  template:"
    yield under(pods.template(target.worker, process, restart="Never"), 4)


def _mpi_job(target: KubernetesTarget, job: MpiJob, launcher: Process, worker: Process) -> Iterator[str]:
    """The spec of an MPIJob."""
    assert target.launcher is not None
    yield f"  slotsPerWorker: {job.slots} # ranks on each worker"
    if job.implementation:
        yield f"  mpiImplementation: {value(job.implementation)}"
    if job.ssh_auth_mount_path:
        yield f"  sshAuthMountPath: {value(job.ssh_auth_mount_path)}"
    if job.launcher_creation_policy:
        yield f"  launcherCreationPolicy: {value(job.launcher_creation_policy)}"
    yield from _run_policy(target, job)
    yield "  mpiReplicaSpecs:"
    yield "    Launcher:"
    yield "      replicas: 1"
    yield "      restartPolicy: Never # with OnFailure a failed pod goes, and what it wrote"
    yield "      template:"
    yield under(pods.template(target.launcher, launcher), 8)
    yield "    Worker:"
    yield f"      replicas: {job.workers}"
    yield "      restartPolicy: Never"
    yield "      template:"
    yield under(pods.template(target.worker, worker), 8)


def _run_policy(target: KubernetesTarget, job: MpiJob) -> Iterator[str]:
    """How the job's pods end, where each version of the API has it."""
    run = target.run_policy
    if job.api == "v2beta1":
        yield "  runPolicy:"
        yield from _clean(run, 4)
    else:
        yield f"  mainContainer: {value(target.worker.container)} # where kubectl exec starts processes"
        yield from _clean(run, 2)
    if job.api == "v1":
        yield "  runPolicy:"
    if job.api == "v1alpha2":
        yield from _end(run, 2)
        return
    yield from _kept(run, 4)
    yield from _end(run, 4)
    if run.min_available is not None:
        yield from _gang(run)


def _clean(run: RunPolicy, column: int) -> Iterator[str]:
    indent = " " * column
    yield f"{indent}# The workers' pods go when the launcher ends, and with them their hold on the GPUs."
    yield f"{indent}cleanPodPolicy: {value(run.clean_pod_policy)}"


def _kept(run: RunPolicy, column: int) -> Iterator[str]:
    if run.ttl_s is not None:
        why = "then the object goes, with its pods and their logs"
        yield f"{' ' * column}ttlSecondsAfterFinished: {run.ttl_s} # {why}"


def _end(run: RunPolicy, column: int) -> Iterator[str]:
    indent = " " * column
    if run.active_deadline_s is not None:
        if run.deadline_why:
            yield f"{indent}# {comment(run.deadline_why)}"
        yield f"{indent}activeDeadlineSeconds: {run.active_deadline_s}"
    why = "" if run.backoff_limit else " # what failed stays, with its logs"
    yield f"{indent}backoffLimit: {run.backoff_limit}{why}"


def _gang(run: RunPolicy) -> Iterator[str]:
    yield "    schedulingPolicy: # so many pods start, or none"
    yield f"      minAvailable: {run.min_available}"
    if run.queue:
        yield f"      queue: {value(run.queue)}"
    if run.priority_class:
        yield f"      priorityClass: {value(run.priority_class)}"
