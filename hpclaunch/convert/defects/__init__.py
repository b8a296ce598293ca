"""What is wrong in the original. Each module has `find(reading, options) -> Iterator[Finding]`."""
