"""Plain values -> typed models, with what the models do not know."""

import re
import types
from collections.abc import Iterator
from typing import Any, TypeVar, Union, get_args, get_origin

import msgspec
from msgspec import Struct

from hpclaunch.readback.kubernetes.document import Document
from hpclaunch.values.errors import Path

T = TypeVar("T")

_LONGEST = 80
_PLACE = re.compile(r" - at `(?:key in )?\$(.*)`$")
_STEP = re.compile(r"\.([^.\[]+)|\[(\d+)\]")


def typed(document: Document, model: type[T]) -> tuple[T, tuple[str, ...]]:
    """The model of a document, and each field that no model knows, as "spec.template.spec.hostAliases: ...".
    Raises InputError with the line of a value of another type than the API's."""
    try:
        found = msgspec.convert(document.value, model)
    except msgspec.ValidationError as error:
        place = _PLACE.search(str(error))
        path = _path(place[1]) if place else ()
        message = str(error)[: place.start()] if place else str(error)
        if message.startswith("Expected `str`, got `") and message[21:] in ("bool`", "int`", "float`"):
            message += ": put it in quotes"
        raise document.refuse(path, f"{_dotted(path)}: {message}" if path else message) from None
    return found, tuple(
        f"{_dotted(path)}: {_short(value)}" for path, value in _unknown(document.value, model, ())
    )


def _unknown(value: Any, model: Any, path: Path) -> Iterator[tuple[Path, Any]]:
    if get_origin(model) in (Union, types.UnionType):
        model = next((each for each in get_args(model) if each is not type(None)), Any)
    if get_origin(model) is tuple and isinstance(value, list):
        for index, each in enumerate(value):
            yield from _unknown(each, get_args(model)[0], (*path, index))
    elif isinstance(model, type) and issubclass(model, Struct) and isinstance(value, dict):
        fields = {field.encode_name: field.type for field in msgspec.structs.fields(model)}
        for name, each in value.items():
            if name not in fields:
                yield (*path, name), each
            else:
                yield from _unknown(each, fields[name], (*path, name))


def _path(text: str) -> Path:
    return tuple(int(index) if index else name for name, index in _STEP.findall(text))


def _dotted(path: Path) -> str:
    return "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in path).lstrip(".")


def _short(value: Any) -> str:
    text = msgspec.json.encode(value).decode("utf-8", "replace")
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."
