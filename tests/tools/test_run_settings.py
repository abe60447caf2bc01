"""Guards the settings that a run brings: the schema offers the names of the APIs and changes nothing else."""

import pytest
from pydantic import BaseModel, ValidationError

from restgpt.nodes.run.services import Context
from restgpt.tools.settings.settings import offering_apis


class Other(BaseModel):
    prompting: str = "v1"


@pytest.mark.parametrize("names", [["board"], ["board", "git hub", "ümläut"]])
def test_the_schema_lists_the_names_of_the_apis_and_is_the_same_beside(names: list[str]) -> None:
    before, after = Context.model_json_schema(), offering_apis(Context, names).model_json_schema()
    assert list(after["properties"]) == list(before["properties"])
    offered = after["properties"].pop("apis")
    before["properties"].pop("apis")
    assert offered["items"] == {"enum": names, "type": "string"}
    assert offered["description"].endswith(f"The configured APIs are: {', '.join(names)}.")
    assert after == before


def test_the_settings_are_the_same_and_unknown_ones_are_still_refused() -> None:
    offering = offering_apis(Context, ["board"])
    assert offering(apis=["Board"]).apis == ["Board"]
    assert offering() == offering(apis=[])
    with pytest.raises(ValidationError, match="wrietes"):
        offering(wrietes="deny")


def test_a_schema_stays_as_it_is_without_an_api_and_without_that_setting() -> None:
    assert offering_apis(Context, []) is Context
    assert offering_apis(Other, ["board"]) is Other
