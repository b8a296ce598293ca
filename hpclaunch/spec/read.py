"""Reading job files, site files and node types. Every function raises InputError with all problems of the
file, each with its file:line:col."""

import os
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import msgspec
from msgspec import structs

from hpclaunch.spec import scalars, sets
from hpclaunch.spec.check_job import job_problems, job_relations
from hpclaunch.spec.check_nodetype import node_type_problems
from hpclaunch.spec.check_site import site_problems, site_relations
from hpclaunch.spec.document import Document
from hpclaunch.spec.extend import read_chain
from hpclaunch.spec.forms import Rules
from hpclaunch.spec.groups import GroupSpec
from hpclaunch.spec.job import Job
from hpclaunch.spec.limits import LimitsSpec
from hpclaunch.spec.longrun import SignalSpec
from hpclaunch.spec.nodetype import NodeType
from hpclaunch.spec.preflight import PreflightSpec
from hpclaunch.spec.reading import Reading, TooManyProblems
from hpclaunch.spec.search import is_path
from hpclaunch.spec.site import Sharp, Site
from hpclaunch.spec.source import read_text
from hpclaunch.spec.tree import MappingNode, Node, SequenceNode, compose, where
from hpclaunch.values.errors import InputError, Path, Problem

T = TypeVar("T", bound=msgspec.Struct)


RULES = Rules(
    scalars={
        (Job, "time"): (scalars.minutes, "a time such as 00:30:00 or 30m"),
        (LimitsSpec, "time"): (scalars.minutes, "a time such as 00:30:00 or 30m"),
        (PreflightSpec, "limit"): (scalars.span, "a time such as 2m or 90s"),
        (SignalSpec, "before"): (scalars.span, "a time such as 2m or 90s"),
    },
    keys={
        (Job, "env"): scalars.variable_name,
        (GroupSpec, "env"): scalars.variable_name,
        (Site, "env"): scalars.variable_name,
        (Sharp, "env"): scalars.variable_name,
        (NodeType, "env"): scalars.variable_name,
    },
)


def read_job(path: str | os.PathLike[str], sets: Sequence[str] = ()) -> Document[Job]:
    """The job in the file at `path`, with `--set KEY=VALUE` texts put in. Relative paths in it start from
    the folder of the file."""
    file = os.fspath(path)
    return parse_job(read_text(file, "job"), file, os.path.dirname(os.path.abspath(file)), sets)


def parse_job(text: str, file: str, directory: str, sets: Sequence[str] = ()) -> Document[Job]:
    """The job in `text`, which came from `file`; relative paths in it start from `directory`, unless it says
    another."""
    try:
        directory.encode()
    except UnicodeEncodeError:
        message = "the name of its folder is not UTF-8, and no record or script could hold it: rename it"
        raise InputError([Problem(message, "job", (), file)]) from None
    root = _put(_root(compose(text, file, "job"), file, "job"), sets)
    document = convert_job(root, file)
    # A record's job says where its paths start, since its file lies elsewhere.
    folder = os.path.normpath(os.path.join(directory, document.value.directory))
    value = structs.replace(document.value, directory=folder if document.value.directory else directory)
    return Document(document.kind, document.file, value, document.marks, document.files)


def convert_job(root: Node, file: str) -> Document[Job]:
    """The job of a tree, whose `directory` is as it was written."""
    return _convert(root, Job, "job", file, job_problems, job_relations)


def read_site(name_or_path: str) -> Document[Site]:
    """The site of this name, or in this file; a site that `extends` another is complete in the result.

    A name is searched as `spec.search.site_folders` says; what has a `/` or ends in .yaml is a path. Paths
    of node types in the result start from the current folder, as those of other files do.
    """
    root, file = read_chain(name_or_path)
    return _with_files(_convert(root, Site, "site", file, site_problems, site_relations))


def _with_files(document: Document[Site]) -> Document[Site]:
    """Node types that are files start, as `extends` does, from the folder of the site file that has them."""
    groups = []
    for index, group in enumerate(document.value.node_types):
        written_in = document.files.get(("node_types", index, "type"), document.file)
        if is_path(group.type):
            group = structs.replace(group, type=os.path.join(os.path.dirname(written_in), group.type))
        groups.append(group)
    value = structs.replace(document.value, node_types=tuple(groups))
    return Document(document.kind, document.file, value, document.marks, document.files)


def read_node_type(path: str | os.PathLike[str]) -> Document[NodeType]:
    """The node type in the file at `path`."""
    file = os.fspath(path)
    return parse_node_type(read_text(file, "node type"), file)


def parse_node_type(text: str, file: str) -> Document[NodeType]:
    """The node type in `text`, which came from `file`."""
    root = _root(compose(text, file, "node type"), file, "node type")
    return _convert(root, NodeType, "node type", file, node_type_problems)


def _put(root: Node, texts: Sequence[str]) -> Node:
    return sets.apply(root, texts, "job") if texts else root


def _root(root: Node | None, file: str, kind: str) -> Node:
    if root is None:
        raise InputError([Problem(f"the file is empty; a {kind} is a map of keys", kind, (), file)])
    return root


def _convert(
    root: Node,
    cls: type[T],
    kind: str,
    file: str,
    check: Callable[[T], list[Problem]],
    relate: Callable[[T], list[Problem]] = lambda value: [],
) -> Document[T]:
    if not isinstance(root, MappingNode):
        found = "a list" if isinstance(root, SequenceNode) else "one text"
        message = f"a {kind} is a map of keys (name: ...), not {found}"
        raise InputError([Problem(message, kind, (), where(root, ()))])
    reading = Reading(kind, file)
    value: Any = None
    try:
        reading.note(root, ())
        value = RULES.struct(cls).read(reading, root, ())
    except TooManyProblems:
        more = Problem("there are more problems; reading stopped here", kind)
        raise InputError([*reading.problems, more]) from None
    document = Document(kind, file, value, reading.marks, reading.files)
    semantic = check(value)
    if not reading.problems:
        semantic += relate(value)
    if semantic or reading.problems:
        placed = [
            Problem(problem.message, kind, problem.path, document.locate(problem.path))
            for problem in semantic
            if not _covered(problem.path, reading.wrong_paths)
        ]
        raise InputError(sorted([*reading.problems, *placed], key=_order))
    return document


def _covered(path: Path, wrong: set[Path]) -> bool:
    """Is a value that this path leads to, or through, already known to be wrong?"""
    return any(path[: len(other)] == other or other[: len(path)] == path for other in wrong)


def _order(problem: Problem) -> tuple[str, int, int]:
    """The order of the file."""
    file, _, place = problem.where.rpartition(":")
    file, _, line = file.rpartition(":")
    return (file, int(line), int(place)) if line.isdigit() and place.isdigit() else (problem.where, 0, 0)
