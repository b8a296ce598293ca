"""Where a site's name is searched, and which file wins."""

import pytest

from hpclaunch.spec.read import read_site
from hpclaunch.spec.search import by_name, shipped_sites, site_folders
from hpclaunch.values.errors import InputError


@pytest.fixture
def places(tmp_path, monkeypatch):
    """Four folders in the order in which they are searched."""
    folders = [
        tmp_path / "one",
        tmp_path / "two",
        tmp_path / "user/hpclaunch/sites",
        tmp_path / "sys/hpclaunch/sites",
    ]
    for folder in folders:
        folder.mkdir(parents=True)
    monkeypatch.setenv("HPCLAUNCH_SITES", f"{folders[0]}:{folders[1]}")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "user"))
    monkeypatch.setenv("XDG_CONFIG_DIRS", str(tmp_path / "sys"))
    return folders


def write(folder, name, env):
    (folder / name).write_text(
        f"name: s\nscheduler: local\nnode_types: [{{type: local}}]\nenv: {{FROM: {env}}}\n"
    )


def test_the_first_folder_wins(places):
    for index in (3, 2, 1, 0):
        write(places[index], "s.yaml", index)
        assert read_site("s").value.env == {"FROM": str(index)}
    assert by_name(site_folders())["s"] == str(places[0] / "s.yaml")


def test_both_endings_are_found_and_other_files_are_not_listed(places):
    write(places[0], "a.yml", 0)
    write(places[0], ".hidden.yaml", 0)
    write(places[0], "notes.txt", 0)
    names = list(by_name(site_folders()))
    assert "a" in names
    assert ".hidden" not in names
    assert "notes" not in names
    assert read_site("a").value.name == "s"


def test_without_home_configuration_the_default_places_are_searched(tmp_path, monkeypatch):
    monkeypatch.delenv("HPCLAUNCH_SITES", raising=False)
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    folder = tmp_path / ".config/hpclaunch/sites"
    folder.mkdir(parents=True)
    write(folder, "homely.yaml", 1)
    assert read_site("homely").file == str(folder / "homely.yaml")


def test_a_path_is_not_searched(places, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    write(places[0], "s.yaml", 0)
    write(tmp_path, "s.yaml", "here")
    assert read_site("s.yaml").value.env == {"FROM": "here"}
    assert read_site("./s.yaml").value.env == {"FROM": "here"}
    with pytest.raises(InputError, match=r"no/such: no such site file"):
        read_site("no/such")


@pytest.mark.parametrize("name", ["superpd", "", ".", "a b", "é", "x\0y"])
def test_an_unknown_name_says_where_it_looked(places, name):
    write(places[1], "superpod.yaml", 0)
    with pytest.raises(InputError) as caught:
        read_site(name)
    message = str(caught.value)
    assert all(str(place) in message for place in places)
    assert shipped_sites() in message
    assert "superpod" in message
    if name == "superpd":
        assert "did you mean 'superpod'" in message
