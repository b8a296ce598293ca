"""Kinds of launchers. Each module has `recognise(reading) -> Place | None`, the line by which it is known,
and `convert(reading, draft, options)`."""
