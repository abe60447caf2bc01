"""Guards what is counted about the prompts of runs on real servers."""

from langchain_core.messages import HumanMessage
from scripted import ScriptedModel

from lab.real.prompts import PromptWatch


def test_phrases_are_counted_once_for_each_prompt_that_holds_them() -> None:
    watch = PromptWatch(["Successful Response", "first page only"])
    model = ScriptedModel(["one", "two"])
    for text in ("successful response, Successful Response", "nothing of the kind"):
        model.invoke([HumanMessage(text)], config={"callbacks": [watch]})
    assert (watch.prompts, watch.characters) == (2, 59)
    assert watch.counts == {"Successful Response": 1, "first page only": 0}
