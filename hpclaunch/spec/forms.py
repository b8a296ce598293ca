"""A tree of nodes -> a Struct, guided by the Struct's own annotations, with every problem collected.

A `Form` says which nodes a type can be read from. Where a node is wrong the problem is noted and a harmless
value of the right type takes its place, so that one reading finds everything that is wrong in a file.
"""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any, Literal, Union, get_args, get_origin

from msgspec import NODEFAULT, Struct

from hpclaunch.spec import scalars
from hpclaunch.spec.reading import Reading, entries
from hpclaunch.spec.tree import NULLS, MappingNode, Node, ScalarNode, SequenceNode
from hpclaunch.spec.wording import dotted, nearest
from hpclaunch.values.errors import Path

# A value that `convert` could not find out: <ask: QUESTION>, which every reader of YAML takes for text.
OPEN, OPEN_END = "<ask: ", ">"

ReadScalar = Callable[[str], Any]
ReadMap = Callable[[Reading, MappingNode, Path], Any]


class Form:
    """How a type is read: from a scalar, from a list of `items`, from a map. What is None is refused."""

    __slots__ = ("entries", "filler", "fixed", "items", "nullable", "scalar", "struct", "text", "words")

    def __init__(self) -> None:
        self.words: list[str] = []  # what is allowed, for messages
        self.filler: Any = None  # stands in for a value that is wrong
        self.nullable = False
        self.text = False  # takes the scalar's own text, quoted or not
        self.scalar: ReadScalar | None = None
        self.items: Form | None = None
        self.fixed: ReadMap | None = None
        self.entries: Form | None = None
        self.struct: type[Struct] | None = None


class Rules:
    """What annotations cannot say, by (Struct, field): `scalars` reads the text of a field in another way,
    `keys` checks the keys of a map."""

    def __init__(
        self,
        scalars: dict[tuple[type, str], tuple[ReadScalar, str]],
        keys: dict[tuple[type, str], Callable[[str], str]],
    ):
        self.scalars = scalars
        self.keys = keys
        self.structs: dict[type, StructForm] = {}

    def struct(self, cls: type[Struct]) -> StructForm:
        found = self.structs.get(cls)
        if found is None:
            found = self.structs[cls] = StructForm(cls, self)
        return found


class StructForm:
    """The fields of a Struct and how each is read."""

    def __init__(self, cls: type[Struct], rules: Rules):
        self.cls = cls
        self.fields: dict[str, Form] = {}
        self.attributes: dict[str, str] = {}
        self.required: list[str] = []
        names = cls.__struct_fields__
        defaults = cls.__struct_defaults__
        first_default = len(names) - len(defaults)
        annotations = _annotations(cls)
        for index, (name, key) in enumerate(zip(names, cls.__struct_encode_fields__, strict=True)):
            form = form_of(annotations[name], rules)
            special = rules.scalars.get((cls, name))
            if special:
                form.scalar, form.words = special[0], [special[1]]
                form.text = True
            if (cls, name) in rules.keys:
                form.fixed = _map_reader(form, rules.keys[cls, name])
            self.fields[key] = form
            self.attributes[key] = name
            if index < first_default or defaults[index - first_default] is NODEFAULT:
                self.required.append(key)

    def read(self, reading: Reading, node: MappingNode, path: Path) -> Any:
        values: dict[str, Any] = {}
        for key, key_node, value in entries(reading, node, path):
            form = self.fields.get(key)
            if form is None:
                reading.wrong(key_node, (*path, key), self.unknown(key, path))
            else:
                values[self.attributes[key]] = read(form, reading, value, (*path, key))
        for name in self.required:
            if self.attributes[name] not in values:
                place = f" (in {dotted(path)})" if path else ""
                reading.wrong_paths.add((*path, name))
                reading.wrong(node, path, f"the key {name!r} is missing{place}")
                reading.wrong_paths.discard(path)
                values[self.attributes[name]] = self.fields[name].filler
        return self.cls(**values)

    def filled(self) -> Any:
        """A value that stands in for a wrong one."""
        return self.cls(**{self.attributes[key]: self.fields[key].filler for key in self.required})

    def unknown(self, key: str, path: Path) -> str:
        place = f" in {dotted(path)}" if path else ""
        allowed = ", ".join(self.fields)
        return f"unknown key {scalars.shown(key)}{place}{nearest(key, self.fields)}; allowed: {allowed}"


def _annotations(cls: type[Struct]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for base in reversed(cls.__mro__):
        found.update(getattr(base, "__annotations__", {}))
    return found


def form_of(annotation: Any, rules: Rules) -> Form:
    """The form of one annotation. The Structs of this package use only what is handled here."""
    form = Form()
    _extend(form, annotation, rules)
    return form


def _extend(form: Form, annotation: Any, rules: Rules) -> None:
    origin = get_origin(annotation)
    if origin in (Union, types.UnionType):
        for part in get_args(annotation):
            _extend(form, part, rules)
        if form.nullable:
            form.filler = None
    elif annotation is type(None):
        form.nullable = True
    elif annotation is Any:  # kept as text, lists and maps, for who reads it later
        form.scalar, form.text, form.nullable = scalars.carried, True, True
        form.items = form.entries = form
        form.fixed = _map_reader(form, scalars.carried)
        form.words.append("a value")
    elif annotation is str:
        form.scalar, form.text, form.filler = scalars.carried, True, ""
        form.words.append("text")
    elif annotation is int:
        form.scalar, form.filler = scalars.whole_number, 1
        form.words.append("a whole number")
    elif annotation is bool:
        form.scalar, form.filler = scalars.boolean, False
        form.words.append("true or false")
    elif origin is Literal:
        _extend_literal(form, get_args(annotation))
    elif origin is tuple:
        form.items = form_of(get_args(annotation)[0], rules)
        form.words.append("a list")
        if form.scalar is None:
            form.filler = ()
    elif origin is dict:
        form.entries = form_of(get_args(annotation)[1], rules)
        form.fixed = _map_reader(form, scalars.carried)
        form.filler = {}
        form.words.append("a map (KEY: value)")
    else:
        struct = rules.struct(annotation)
        form.struct, form.fixed = annotation, struct.read
        form.words.append(f"a map with the keys {', '.join(struct.fields)}")
        if form.scalar is None:
            form.filler = struct.filled()


def _extend_literal(form: Form, values: tuple[Any, ...]) -> None:
    by_text = {str(value): value for value in values}
    form.filler = values[0]
    form.text = isinstance(values[0], str)
    form.words.append(f"one of {', '.join(by_text)}" if len(by_text) > 1 else str(values[0]))
    words = form.words

    def choose(text: str) -> Any:
        if text not in by_text:
            raise ValueError(f"{scalars.shown(text)} is not {' or '.join(words)}{nearest(text, by_text)}")
        return by_text[text]

    form.scalar = choose


def read(form: Form, reading: Reading, node: Node, path: Path) -> Any:
    """The value of `node`. What is wrong goes to `reading`, and the form's filler comes back."""
    reading.note(node, path)
    if node.tag:
        message = f"the YAML tag {scalars.shown(node.tag)} is not read here: leave it out"
        reading.wrong(node, path, message)
        return form.filler
    if isinstance(node, ScalarNode):
        if node.value.startswith(OPEN) and node.value.endswith(OPEN_END):
            reading.wrong(node, path, _still_open(node.value, path))
            return form.filler
        return _read_scalar(form, reading, node, path)
    if isinstance(node, SequenceNode):
        if form.items is None:
            return _refuse(form, reading, node, path, "a list")
        return tuple(
            [read(form.items, reading, item, (*path, index)) for index, item in enumerate(node.value)]
        )
    if form.fixed is None or not isinstance(node, MappingNode):
        return _refuse(form, reading, node, path, "a map")
    return form.fixed(reading, node, path)


def _still_open(text: str, path: Path) -> str:
    question = text.removeprefix(OPEN).removesuffix(OPEN_END)
    key = ".".join(map(str, path))
    return f"{dotted(path)} is still open ({question}): write its value here, or give --set {key}=VALUE"


def _read_scalar(form: Form, reading: Reading, node: ScalarNode, path: Path) -> Any:
    text = node.value
    if not node.style and text in NULLS:
        return _read_null(form, reading, node, path)
    if form.scalar is None:
        return _refuse(form, reading, node, path, f"the text {scalars.shown(text)}")
    if node.style and not form.text:
        return _refuse(form, reading, node, path, f"the quoted text {scalars.shown(text)}")
    try:
        return form.scalar(text)
    except ValueError as error:
        reading.wrong(node, path, f"{dotted(path)}: {error}")
        return form.filler


def _read_null(form: Form, reading: Reading, node: ScalarNode, path: Path) -> Any:
    if form.nullable:
        return None
    if form.scalar is None:
        # `env:` with nothing under it, as when its lines were commented out.
        if form.entries is not None:
            return {}
        if form.items is not None:
            return ()
        if form.fixed is not None:
            return form.fixed(reading, MappingNode("", [], node.start_mark, node.end_mark), path)
    right = (
        'write "" for an empty value' if form.text and form.words == ["text"] else f"write {_allowed(form)}"
    )
    reading.wrong(node, path, f"{dotted(path)} has no value: {right}")
    return form.filler


def _refuse(form: Form, reading: Reading, node: Node, path: Path, found: str) -> Any:
    reading.wrong(node, path, f"{dotted(path) or 'the file'} must be {_allowed(form)}, not {found}")
    return form.filler


def _allowed(form: Form) -> str:
    return " or ".join(form.words)


def _map_reader(form: Form, check: Callable[[str], str]) -> ReadMap:
    inner = form.entries
    assert inner is not None

    def read_map(reading: Reading, node: MappingNode, path: Path) -> dict[str, Any]:
        values: dict[str, Any] = {}
        for key, key_node, value in entries(reading, node, path):
            try:
                check(key)
            except ValueError as error:
                reading.wrong(key_node, (*path, key), f"{dotted(path)}: {error}")
            values[key] = read(inner, reading, value, (*path, key))
        return values

    return read_map
