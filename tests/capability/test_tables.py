"""What a release has, by the tables."""

import pytest

from hpclaunch.capability import tables


def test_releases_are_compared_by_number() -> None:
    def names(version: str) -> set[str]:
        return {option.name for option in tables.pyxis_options(version)}

    assert "container-readonly" not in names("0.9.1")
    assert "container-readonly" in names("0.11.0")
    assert "container-unshare" not in names("0.23.0")
    assert tables.pyxis_has("--container-readonly", "0.11.0") is True
    assert tables.pyxis_has("--container-readonly", "0.9.1") is False


@pytest.mark.parametrize(("version", "has"), [("0.9.1", False), ("0.14.0", False), ("0.15.0", True)])
def test_images_of_a_nodes_docker(version: str, has: bool) -> None:
    assert tables.pyxis_has_feature("dockerd", version) is has


def test_what_an_option_negates_is_an_option_that_came_no_later() -> None:
    options = {option.name: option for option in tables.pyxis_options("99.0.0")}
    pairs = [(option, options[option.negates]) for option in options.values() if option.negates]
    assert len(pairs) == 4
    assert all(tables.version(other.since) <= tables.version(option.since) for option, other in pairs)
