"""Finding a site's file, and putting the site that it `extends` under it.

Maps are merged key by key, what the extending site says wins; lists and other values are replaced whole.
`name` and `version` are never taken over.
"""

import os
from collections.abc import Sequence

from hpclaunch.spec.merge import Merging, Pair
from hpclaunch.spec.search import by_name, candidates, is_path, site_folders
from hpclaunch.spec.source import read_text
from hpclaunch.spec.tree import MappingNode, Node, ScalarNode, compose, is_null, where
from hpclaunch.spec.wording import not_found
from hpclaunch.values.errors import InputError, Problem

KIND = "site"
_OWN = ("name", "version", "extends")
_MAX_CHAIN = 8


def read_chain(name_or_path: str) -> tuple[Node, str]:
    """The tree of a site with all that it extends, and its file. Raises InputError."""
    file = _find(name_or_path, "", ())
    return _complete(file, ()), file


def _complete(file: str, chain: Sequence[str]) -> Node:
    root = compose(read_text(file, KIND), file, KIND)
    if root is None:
        raise InputError([Problem("the file is empty; a site is a map of keys", KIND, (), file)])
    if not isinstance(root, MappingNode):
        return root
    merging = Merging(KIND)
    pairs = merging.pairs(root)
    bases = [value for key, value in pairs if key.value == "extends"]
    if len(bases) != 1:
        return root  # none; or two, which reading reports
    own = _without(pairs, ("extends",))
    below = _below(bases[0], file, (*chain, os.path.realpath(file)))
    under = MappingNode("", _without(merging.pairs(below), _OWN), below.start_mark, below.end_mark)
    return _merge(under, MappingNode("", own, root.start_mark, root.end_mark), merging)


def _below(base: Node, file: str, chain: Sequence[str]) -> MappingNode:
    """The tree of the site that `file` extends; `chain` are the files that led here."""
    place = where(base, ("extends",))
    if is_null(base) or not isinstance(base, ScalarNode):
        raise _problem("must be the name or the path of one site", place)
    try:
        found = _find(base.value, os.path.dirname(file), chain)
        if os.path.realpath(found) in chain:
            raise _problem(f"{found} extends this site in turn", place)
        if len(chain) > _MAX_CHAIN:
            raise _problem(f"more than {_MAX_CHAIN} sites extend one another", place)
        under = _complete(found, chain)
    except InputError as error:
        if any(problem.where for problem in error.problems):
            raise
        raise _problem(str(error), place) from None
    if not isinstance(under, MappingNode):
        raise _problem(f"{found} is not a site: it has no keys", place)
    return under


def _problem(message: str, place: str) -> InputError:
    return InputError([Problem(f"extends: {message}", KIND, ("extends",), place)])


def _without(pairs: Sequence[Pair], keys: Sequence[str]) -> list[Pair]:
    return [pair for pair in pairs if pair[0].value not in keys]


def _merge(under: MappingNode, over: MappingNode, merging: Merging) -> MappingNode:
    """`over` on `under`. A key that stands twice in one of them stays so: reading reports it."""
    below = {key.value: value for key, value in merging.pairs(under) if isinstance(key, ScalarNode)}
    entries: list[Pair] = []
    names = set()
    for key, value in merging.pairs(over):
        found = below.get(key.value) if isinstance(key, ScalarNode) else None
        if isinstance(value, MappingNode) and isinstance(found, MappingNode):
            value = _merge(found, value, merging)
        entries.append((key, value))
        if isinstance(key, ScalarNode):
            names.add(key.value)
    entries += [
        pair
        for pair in merging.pairs(under)
        if not (isinstance(pair[0], ScalarNode) and pair[0].value in names)
    ]
    return MappingNode(over.tag, entries, over.start_mark, over.end_mark)


def _find(name: str, folder: str, chain: Sequence[str]) -> str:
    """The file of a site. A name skips the files of `chain`, so that a user's superpod-a100 can extend the
    shipped one."""
    if is_path(name):
        return os.path.join(folder, name)
    places = site_folders()
    files = candidates(name, places)
    for file in files:
        if os.path.realpath(file) not in chain:
            return file
    if files:
        return files[0]
    raise InputError(not_found(KIND, name, list(by_name(places)), places))
