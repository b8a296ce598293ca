"""The text of a manifest -> its objects, with all that had to be repaired on the way."""

import re
from collections.abc import Iterator, Sequence

from msgspec import Struct

from hpclaunch.convert.draft import Draft
from hpclaunch.convert.manifests.text import api, characters, indentation, lines
from hpclaunch.convert.manifests.text.fields import Book, Field, check, say_twice
from hpclaunch.convert.manifests.text.lines import Line, Note
from hpclaunch.spec.source import LIMIT
from hpclaunch.spec.tree import MappingNode, Node, ScalarNode, SequenceNode, compose, is_null
from hpclaunch.values.conversion import Place
from hpclaunch.values.errors import InputError, Problem

_KIND = "manifest"
_MOST_DOCUMENTS = 500
_MOST_LINES = 20_000
_MOST_REPAIRED = 10_000  # lines
_WORD = re.compile(r"""^[\s-]*["']?(apiVersion|kind)["']?\s*:\s*["']?([\w./-]*)["']?""")
_WHERE = re.compile(r"^(.*):(\d+):(\d+)$", re.DOTALL)
# git-merge(1), "HOW CONFLICTS ARE PRESENTED".
_CONFLICT, _ITS_END = re.compile(r"^<{7} ", re.MULTILINE), re.compile(r"^>{7} ", re.MULTILINE)
_OF_HELM = re.compile(r"\{\{[^{}\n]*(?:\.(?:Values|Release|Chart)\b|\b(?:include|toYaml)\b)")
# Of Helm, and of others where a value begins with it, or is one that the API takes as it stands: {{ }} in a
# command may be the program's own, and so may one behind other words of a quoted text: that of a dashboard in
# a config map ("errors: {{ error }}"). A formatter of YAML makes { { NAME } } of it.
TEMPLATE = re.compile(
    r"\{\{-?\s{0,9}(?:\$?\.(?:Values|Release|Chart)\b|if |range |include |with |define |end\b|toYaml)"
    r"|^(?:[^\"\n]|\"[^\"\n]*\")*(?<=[:-] )\{\{-?\s{0,9}[.$\w]"
    r"|(?<=[:-] )\{ \{ ?[.$\w][\w.]* ?\} \}"
    r"|^[ \t-]*(?:name|generateName|namespace|image|claimName)[\"']?:[ \t]+[^#\n]*?"
    r"\{\{-?\s{0,9}\$?\.?[A-Za-z_][\w.-]{0,200}\s{0,9}-?\}\}",
    re.MULTILINE,
)


_CONTAINERS = ("containers", "initContainers")
_REFUSED = "the API has a list here, and refuses an object"


class Object(Struct, frozen=True):
    """One object of the API."""

    kind: str
    version: str
    root: Field
    lines: tuple[Line, ...]

    @property
    def kind_place(self) -> Place:
        """The line of its kind."""
        return (self.root.get("kind") or self.root).at

    @property
    def name(self) -> str:
        """kind and name, for people."""
        found = self.root.get("metadata", "name")
        return f"{self.kind or 'an object without a kind'} {found.text() if found else ''}".strip()


def objects(file: str, text: str, draft: Draft) -> list[Object]:
    """The objects of a text, lists of them (kind: List) unfolded. What was repaired is said in `draft`.

    Raises InputError, with file:line:col, where a text cannot be repaired.
    """
    if len(text.encode("utf-8", "surrogatepass")) > LIMIT:
        raise InputError(
            [Problem(f"more than {LIMIT:,} bytes: no manifest of a job is so large", where=file)]
        )
    if text.count("\n") > _MOST_LINES:
        raise InputError([Problem(f"more than {_MOST_LINES:,} lines", where=f"{file}:{_MOST_LINES + 1}:1")])
    _refuse_conflict(file, text)
    _refuse_template(file, text)
    given, notes = characters.plain(lines.split(text))
    _say(draft, file, notes)
    found: list[Object] = []
    try:
        parts = _documents(given)
        read = [_read(file, part, draft) for part in parts]
    except InputError:
        if len(given) > _MOST_REPAIRED:
            raise
        # As a whole: a cut `---` may be what is wrong.
        given, notes = characters.structural(given, api.known_keys())
        read = [_repaired(file, part, draft) for part in _documents(given)]
        _say(draft, file, notes)
    for each in read:
        if each is not None:
            if api.has(each.version, each.kind):
                _listed(each)
            mended = _improved(file, each, draft)
            # Not before: of two keys with one name one may belong to another parent.
            say_twice(mended.root.node, mended.root.book)
            found += _unfolded(mended, draft)
    return found


def _refuse_conflict(file: str, text: str) -> None:
    """A text of which git could not tell what counts is two texts, and no YAML."""
    found = _CONFLICT.search(text)
    if found and _ITS_END.search(text, found.end()):
        message = "a conflict that git left open (<<<<<<<): take one of its sides, and convert again"
        raise InputError([Problem(message, where=f"{file}:{text.count(chr(10), 0, found.start()) + 1}:1")])


def _refuse_template(file: str, text: str) -> None:
    found = TEMPLATE.search(text)
    if found:
        before = text[: found.start() + max(found[0].rfind("{{"), found[0].rfind("{ {"))]
        column = len(before) - before.rfind("\n")
        message = "a template ({{ ... }}) and no manifest yet: convert what is made of it"
        message += " (`helm template` makes it of a chart)" * bool(_OF_HELM.search(text))
        raise InputError([Problem(message, where=f"{file}:{before.count(chr(10)) + 1}:{column}")])


def _documents(given: Sequence[Line]) -> list[list[Line]]:
    """The documents: between lines of ---, and where an object begins after another one."""
    found: list[list[Line]] = [[]]
    seen: set[str] = set()
    columns: dict[str, int] = {}
    for index, line in enumerate(given):
        if line.text.startswith("---") and line.text[3:4] in ("", " ", "\t"):
            rest = line.text[3:].strip()
            found.append([Line(line.number, rest)] if rest and not rest.startswith("#") else [])
            seen, columns = set(), {}
            continue
        match = _WORD.match(line.text)
        is_item = match is not None and "-" in line.text[: match.start(1)]  # of a List
        if (
            match
            and not is_item
            and match[1] in seen
            and line.column == columns[match[1]]
            and _begins(given, index, match[1])
        ):
            found.append([])
            seen, columns = set(), {}
        if match and not is_item:
            columns.setdefault(match[1], line.column)
            seen.add(match[1])
        found[-1].append(line)
    parts = [part for part in found if any(not line.is_blank for line in part)]
    if len(parts) > _MOST_DOCUMENTS:
        raise InputError(f"more than {_MOST_DOCUMENTS} objects in one file")
    return parts


def _begins(given: Sequence[Line], index: int, word: str) -> bool:
    """Whether the other one of apiVersion and kind is on the next line or the one before."""
    other = "kind" if word == "apiVersion" else "apiVersion"
    after = characters.next_text(given, index)
    return word == "apiVersion" or bool((match := _WORD.match(after)) and match[1] == other)


def _read(file: str, part: Sequence[Line], draft: Draft) -> Object | None:
    book = Book(file, part, draft)
    try:
        root = compose(lines.joined(part), file, _KIND)
    except InputError as error:
        raise InputError([_moved(problem, book) for problem in error.problems]) from None
    if root is None or is_null(root):
        return None
    check(root, book)
    field = Field(book, root, ())
    if not isinstance(root, MappingNode):
        place = book.place(root)
        message = "a manifest is an object with apiVersion and kind"
        raise InputError([Problem(message, where=f"{file}:{place.line}:{root.start_mark.column + 1}")])
    version, kind = (field.get(key) for key in ("apiVersion", "kind"))
    return Object(kind.text() if kind else "", version.text() if version else "", field, tuple(part))


def _moved(problem: Problem, book: Book) -> Problem:
    """The problem with the line that it has in the input."""
    match = _WHERE.match(problem.where)
    if match is None:
        return problem
    where = f"{match[1]}:{book.number(int(match[2]) - 1)}:{match[3]}"
    return Problem(problem.message, problem.document, problem.path, where)


def _repaired(file: str, part: list[Line], draft: Draft) -> Object | None:
    """An object that may be no YAML as it stands. Raises InputError where nothing helps."""
    try:
        return _read(file, part, draft)
    except InputError as error:
        first = error
    bare, gone = characters.omissions(part)
    version, kind = _word(bare, "apiVersion"), _word(bare, "kind")
    made = None
    if api.has(version, kind):
        made = indentation.repaired(bare, api.type_of(version, kind))
    if made is None:
        raise first
    try:
        found = _read(file, made.lines, draft)
    except InputError:
        raise first from None
    _say_omitted(draft, file, gone)
    _say(draft, file, made.notes)
    return found


def _improved(file: str, given: Object, draft: Draft) -> Object:
    """The object, or where YAML reads keys beside their parent that belong below it, or items of a list as
    parts of the one before, with those moved."""
    if not api.has(given.version, given.kind) or len(given.lines) > _MOST_REPAIRED:
        return given
    kind = api.type_of(given.version, given.kind)
    wrong = _wrong(given, kind)
    if not wrong:
        return given
    made = indentation.repaired(given.lines, kind)
    if made is None or made.strangers >= wrong:
        return given
    try:
        found = _read(file, made.lines, Draft())
        if found is None or _wrong(found, kind) >= wrong or _pods(found, kind) < _pods(given, kind):
            return given
        again = _read(file, made.lines, draft)
    except InputError:
        return given
    _say(draft, file, made.notes)
    return again or given


def _listed(given: Object) -> None:
    """One container whose fields stand where the API has a list of them becomes the one item of a list."""
    for node in _nodes(given.root.node):
        for index, (key, value) in enumerate(node.value if isinstance(node, MappingNode) else ()):
            if key.value in _CONTAINERS and isinstance(value, MappingNode) and _is_one(value):
                one = SequenceNode("tag:yaml.org,2002:seq", [value], value.start_mark, value.end_mark, False)
                node.value[index] = (key, one)
                place = given.root.book.place(key)
                said = "its fields are read as those of one container"
                given.root.book.draft.say(
                    "repaired", [place], f"{key.value} without a list", became=said, why=_REFUSED
                )


def _nodes(root: Node) -> Iterator[Node]:
    """The node and all below it but keys."""
    waiting = [root]
    while waiting:
        node = waiting.pop()
        yield node
        if isinstance(node, SequenceNode):
            waiting += node.value
        elif isinstance(node, MappingNode):
            waiting += [value for _, value in node.value]


def _is_one(node: MappingNode) -> bool:
    """Whether it has the fields of one container: of two without their dashes each key stands twice."""
    keys = [str(key.value) for key, _ in node.value]
    return "image" in keys and len(keys) == len(set(keys))


def _wrong(given: Object, kind: str) -> int:
    """How many keys stand where another parent was meant, and items within the text of another."""
    lost = [key for type_, key in _strangers(given.root.node, kind) if _is_lost(key, type_)]
    return len(lost) + _swallowed(given)


def _swallowed(given: Object) -> int:
    """Lines that look like items of a list, and that YAML takes for more text of the plain item before."""
    count = 0
    for node in _nodes(given.root.node):
        if isinstance(node, ScalarNode) and not node.style and node.end_mark.line > node.start_mark.line:
            inside = given.lines[node.start_mark.line + 1 : node.end_mark.line + 1]
            count += sum(line.text.lstrip().startswith("- ") for line in inside)
    return count


def _strangers(node: Node, kind: str) -> list[tuple[str, str]]:
    """(type, key) of keys that their parent's type does not have."""
    return [(type_, key) for type_, key, below in _keys(node, kind) if below is None]


def _pods(given: Object, kind: str) -> int:
    """How many lists of containers stand where the API has them."""
    return sum(key == "containers" and bool(below) for _, key, below in _keys(given.root.node, kind))


def _keys(node: Node, kind: str) -> Iterator[tuple[str, str, str | None]]:
    """The type of a parent, each key of it, and the type of what the key has: None where the API has none."""
    waiting = [(node, kind)]
    while waiting:
        each, name = waiting.pop()
        if isinstance(each, SequenceNode):
            below = api.item(name)
            waiting += [(child, below) for child in each.value if below]
        elif isinstance(each, MappingNode) and name != api.TEXT:
            for key, value in each.value:
                word = str(key.value)
                below = api.below(name, word)
                yield name, word, below
                if below is not None and below not in api.FREE:
                    waiting.append((value, below))


def _is_lost(key: str, kind: str) -> bool:
    """Whether another type has it."""
    return (key in api.known_keys() or api.is_amount(key)) and api.below(kind, key) is None


def _word(part: Sequence[Line], key: str) -> str:
    """The object's apiVersion or kind, by the first line that has one."""
    for line in part:
        match = _WORD.match(line.text)
        if match and match[1] == key:
            return match[2]
    return ""


# Where an AppWrapper has the objects that it wraps (project-codeflare/appwrapper, api/v1beta2; before that
# project-codeflare/multi-cluster-app-dispatcher).
_WRAPPED = (
    (("spec", "components"), "template"),
    (("spec", "resources", "GenericItems"), "generictemplate"),
)


def _unfolded(given: Object, draft: Draft) -> Iterator[Object]:
    """The items of a List, as kubectl takes them, and what an AppWrapper wraps."""
    wrapped = _in_wrapper(given)
    inside = given.root.get("items")
    if wrapped:
        queue = given.root.get("metadata", "labels", "kueue.x-k8s.io/queue-name")
        why = "what it wraps is read as if it stood alone; the queue takes it as a whole"
        todo = f"name the queue for the job: sites.NAME.queue: {queue.peek()}" if queue is not None else ""
        draft.say("left", [given.root.at], given.name, why=why, todo=todo)
        yield from map(object_of, wrapped)
        return
    if inside is None or not given.kind.endswith("List"):
        yield given
        return
    for key in ("apiVersion", "kind", "metadata"):
        field = given.root.get(key)
        if field is not None:
            field.take()
    yield from map(object_of, inside.items())


def _in_wrapper(given: Object) -> list[Field]:
    if given.kind != "AppWrapper":
        return []
    listed = ((given.root.get(*path), key) for path, key in _WRAPPED)
    found = (
        each.get(key)
        for field, key in listed
        if field is not None and field.is_list
        for each in field.items()
    )
    return [each for each in found if each is not None]


def object_of(item: Field) -> Object:
    """An object that stands in another one, such as an item of a List."""
    version, kind = (item.get(key) for key in ("apiVersion", "kind"))
    return Object(kind.text() if kind else "", version.text() if version else "", item, ())


def _say(draft: Draft, file: str, notes: Sequence[Note]) -> None:
    for note in notes:
        draft.say("repaired", lines.places(file, note.numbers), note.what, became=note.became, why=note.why)


def _say_omitted(draft: Draft, file: str, gone: Sequence[int]) -> None:
    if gone:
        draft.say(
            "left",
            lines.places(file, gone),
            "[...]",
            why="the text leaves something out here, and nobody can know what",
            todo="compare with the manifest that really ran",
        )
