"""What a run was made of, from its record, or would be made of today."""

from pathlib import Path
from typing import Any

import yaml

from hpclaunch.cli import locking
from hpclaunch.cli.outcomes import Metrics, metrics_of, seconds
from hpclaunch.cli.output import say
from hpclaunch.cli.planning import Planned
from hpclaunch.records import lock, metrics, repository, tasks
from hpclaunch.records.lock import CHANGES, Lock
from hpclaunch.records.record import Record, own_versions
from hpclaunch.records.repository import Repository
from hpclaunch.render import script
from hpclaunch.report.runs import Run, digest, flat
from hpclaunch.spec.dump import dump_job, dump_site
from hpclaunch.values.errors import HpclaunchError
from hpclaunch.values.job import JobStatus

Facts = dict[str, str]


def of_record(record: Record, task: int | None, status: JobStatus) -> Run:
    """A run that was submitted, or one task of it. Raises HpclaunchError for a damaged record."""
    diff = record.folder / CHANGES
    made_of = {
        **flat("job", _map(record, "job.yaml")),
        **flat("site", _map(record, "site.yaml")),
        **_of_lock(lock.read(record), diff.read_bytes() if diff.exists() else b""),
        **{f"version of {name}": version for name, version in record.intent.versions.items()},
    }
    points = tasks.points(record)
    if task is not None and points is not None:
        made_of |= {f"point.{key}": value for key, value in points.values(task).items()}
    log = record.log if task is None else record.log_of(task)
    outcome = {**_outcome(status), **_measured(metrics_of(record), log)}
    name = f"{record.state().job_id or record.tag}{'' if task is None else f'_{task}'}"
    return Run(name, made_of, outcome, _read(record, record.script.name))


def of_plan(planned: Planned) -> Run:
    """What would be sent now. No secret's value is in it."""
    found, diff = repository.look(planned.job.value.directory).result()
    facts = locking.of_plan(planned)
    diff = repository.without(diff, locking.secrets_of(planned))
    made_of = {
        **flat("job", yaml.safe_load(dump_job(planned.job.value))),
        **flat("site", yaml.safe_load(dump_site(planned.site.value))),
        **_of_lock(facts, diff, found),
        **{f"version of {name}": version for name, version in own_versions().items()},
    }
    return Run("today", made_of, {}, script.render(planned.plan))


def _of_lock(known: Lock, diff: bytes, found: Repository | None = None) -> Facts:
    facts: Facts = {}
    image, found = known.image, found or known.repository
    if image is not None:
        told = {
            "image digest": image.digest,
            "image sha256": image.sha256,
            "image file": image.file,
            "image size": image.size,
            "image changed": image.modified,
            "image ends_sha256": image.ends_sha256,
        }
        facts |= {name: str(value) for name, value in told.items() if value not in (None, "")}
    if found is not None and found.commit is not None:
        facts["git commit"] = found.commit
        facts["git branch"] = found.branch
        facts["git changed files"] = ", ".join(found.changed)
        facts["git untracked files"] = ", ".join(found.untracked)
        facts["git changes"] = f"diff {digest(diff)}" if diff else ""
    facts["inherited variables"] = ", ".join(known.environment.inherited)
    return facts


def _outcome(status: JobStatus) -> Facts:
    ran = seconds(status)
    facts = {
        "state": status.state,
        "cause": status.cause,
        "reason": status.reason,
        "exit code": status.exit_code,
        "signal": status.signal,
        "first rank that failed": status.rank,
        "nodes used": status.nodes,
        "submitted": status.submitted,
        "started": status.started,
        "ended": status.ended,
        "seconds": ran,
    }
    return {name: str(value) for name, value in facts.items() if value not in (None, "")}


def _measured(wanted: Metrics, log: Path) -> Facts:
    with metrics.Reader(wanted, say) as reader:
        return {f"metric {name}": value for name, value in reader.read(log).items()}


def _map(record: Record, name: str) -> dict[str, Any]:
    try:
        found = yaml.safe_load(_read(record, name))
    except yaml.YAMLError:
        found = None
    if not isinstance(found, dict):
        raise HpclaunchError(f"the record's {record.folder / name} cannot be read: it has no map of keys")
    return found


def _read(record: Record, name: str) -> str:
    path = record.folder / name
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise HpclaunchError(f"the record's {path} cannot be read: {error}") from error
