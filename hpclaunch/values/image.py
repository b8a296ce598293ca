"""How an image that is a squashfs file is told from a reference to one in a registry."""

FILE_ENDINGS = (".sqsh", ".squashfs", ".sqfs")


def is_file(image: str) -> bool:
    """Whether the image is a squashfs file and not a reference."""
    return image.startswith(("/", "./", "../")) or image.endswith(FILE_ENDINGS)
