"""Guards the Dockerfile: what goes into the image, as whom it runs, and how its server starts and stops."""

import re
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from lab.container import (
    CHECK_SANDBOX,
    Instruction,
    Simulated,
    checks,
    dockerfile,
    final_user,
    stages,
    tracked,
)

ROOT = Path(__file__).parents[2]
BUILD, FINAL = dockerfile()
PAGE = (ROOT / "docs" / "servers.md").read_text(encoding="utf-8")
COMPOSE = ROOT / "docs" / "examples" / "container" / "compose.yaml"
SECRET = re.compile(r"(?i)key|token|secret|password|passwd|credential|auth")


def test_a_dockerfile_is_read_with_continued_lines_flags_and_comments() -> None:
    [first, second] = stages(
        "# a\nFROM a:1 AS build\nRUN b \\\n    && c\n# d\nFROM e:2\nENV A=1 \\\n    B='x y'\nCOPY --from=build /f /g\n"
        'HEALTHCHECK --interval=5s \\\n    CMD ["h"]\n'
    )
    assert (first.image, first.name, first.all("RUN")[0].value) == ("a:1", "build", "b && c")
    assert (second.image, second.name) == ("e:2", "")
    assert second.environment() == {"A": "1", "B": "x y"}
    assert second.last("COPY") == Instruction("COPY", {"from": "build"}, "/f /g")
    assert second.last("HEALTHCHECK").value == 'CMD ["h"]'
    with pytest.raises(ValueError, match=r"exec form|Expecting value"):
        Instruction("CMD", {}, "restgpt serve").words()


def test_both_stages_begin_with_one_image_pinned_by_name_and_version() -> None:
    assert BUILD.image == FINAL.image
    assert re.fullmatch(r"python:3\.\d+\.\d+-slim-[a-z]+", FINAL.image)
    minor = FINAL.image.removeprefix("python:").rpartition(".")[0]
    assert f'"python_version": "{minor}"' in (ROOT / "langgraph.json").read_text(encoding="utf-8")


def test_the_image_runs_as_a_user_without_privileges_by_number() -> None:
    assert FINAL.last("USER").value == "10001:10001"
    after = FINAL.instructions[FINAL.instructions.index(FINAL.last("USER")) :]
    assert [one.word for one in after if one.word in ("RUN", "COPY", "ADD")] == []


def test_the_command_and_the_health_check_are_in_exec_form() -> None:
    assert FINAL.last("CMD").words()[0] == "langgraph"
    health = FINAL.last("HEALTHCHECK").value
    assert Instruction("CMD", {}, health.removeprefix("CMD ")).words()[0] == "python"
    assert FINAL.all("ENTRYPOINT") == []


def test_only_files_that_git_tracks_are_copied_and_all_rooms_are() -> None:
    copies = [one for stage in (BUILD, FINAL) for one in stage.all("COPY") if "from" not in one.flags]
    sources = [source for one in copies for source in one.value.split()[:-1]]
    assert [source for source in sources if not tracked(source)] == []
    assert [source for source in sources if source in (".", "./") or "*" in source] == []
    assert [one for stage in (BUILD, FINAL) for one in stage.all("ADD")] == []
    rooms = {link.name for link in (ROOT / "restgpt").iterdir() if link.is_symlink()} - {"lab"}
    assert rooms <= set(sources)
    assert {"constraints.txt", "pyproject.toml", "setup.py", "LICENSE", "README.md"} <= set(sources)


def test_no_file_that_is_copied_is_left_out_by_dockerignore() -> None:
    left_out = (ROOT / ".dockerignore").read_text(encoding="utf-8").split()
    sources = {source for stage in (BUILD, FINAL) for one in stage.all("COPY") for source in one.value.split()[:-1]}
    assert sources & set(left_out) == set()


def test_the_packages_are_those_of_the_constraints_and_nothing_is_compiled() -> None:
    [install] = BUILD.all("RUN")
    for command in install.value.split("&&"):
        if "pip install" in command or " install " in command:
            assert "--constraint constraints.txt" in " ".join(command.split())
    assert "--only-binary :all:" in install.value
    assert not re.search(r"apt-get|gcc|build-essential|curl|wget|git ", str([BUILD, FINAL]))


def test_no_secret_is_in_the_image() -> None:
    for stage in (BUILD, FINAL):
        assert stage.all("ARG") == []
        assert [name for name in stage.environment() if SECRET.search(name)] == []
        assert [one.value for one in stage.all("COPY") if ".env" in one.value or "apis.yaml" in one.value] == []


def test_the_state_has_one_volume_and_all_places_lead_there() -> None:
    [volume] = FINAL.last("VOLUME").words()
    environment = FINAL.environment()
    assert {volume, FINAL.last("WORKDIR").value, environment["RESTGPT_HOME"], environment["HOME"]} == {"/state"}


def test_the_compose_file_takes_nothing_that_the_sandbox_does_not_need() -> None:
    compose: dict[str, Any] = yaml.safe_load(COMPOSE.read_text(encoding="utf-8"))
    for service in compose["services"].values():
        assert (COMPOSE.parent / service["build"]["context"]).resolve() == ROOT
        assert (service["init"], service["read_only"], service["cap_drop"]) == (True, True, ["ALL"])
        assert not {"privileged", "cap_add", "user"} & service.keys()
        assert all(port.startswith("127.0.0.1:") for port in service["ports"])
        names = [volume.partition(":")[0] for volume in service["volumes"] if not volume.startswith(".")]
        assert set(names) <= compose["volumes"].keys()


def test_the_page_gives_the_commands_that_the_rig_tries() -> None:
    assert CHECK_SANDBOX in PAGE
    assert FINAL.image in PAGE
    words = FINAL.last("CMD").words()
    assert f"{' '.join(words[:-2])}\n" in PAGE


@pytest.fixture
def image(tmp_path: Path) -> Simulated:
    """The second stage over the environment of the tests, as the user of the tests."""
    (tmp_path / "opt").mkdir()
    (tmp_path / "opt" / "restgpt").symlink_to(sys.prefix)
    (tmp_path / "state").mkdir()
    place = tmp_path / "srv" / "restgpt"
    place.mkdir(parents=True)
    (place / "langgraph.json").write_bytes((ROOT / "langgraph.json").read_bytes())
    return Simulated(tmp_path)


@pytest.mark.slow
def test_the_command_of_the_image_starts_a_healthy_server_that_ends_on_sigterm(image: Simulated) -> None:
    assert image.serves_and_stops() == ""


@pytest.mark.slow
@pytest.mark.parametrize("label", ["the sandbox is the locked interpreter", "the command line answers"])
def test_a_check_of_the_rig_holds(image: Simulated, label: str) -> None:
    assert checks(image)[label]() == ""


def test_a_check_of_the_rig_tells_what_went_wrong(tmp_path: Path) -> None:
    binary = tmp_path / "opt" / "restgpt" / "bin"
    binary.mkdir(parents=True)
    (tmp_path / "state").mkdir()
    for name in ("restgpt", "python", "langgraph"):
        (binary / name).write_text("#!/bin/sh\necho broken >&2\nexit 3\n")
        (binary / name).chmod(0o755)
    found = {label: check() for label, check in checks(Simulated(tmp_path)).items()}
    assert found.pop("the user is not root") == ""
    assert set(found.values()) == {"broken\n"}


def test_the_rig_becomes_the_user_of_the_image() -> None:
    assert final_user()[:3] == ["setpriv", "--reuid=10001", "--regid=10001"]
