"""The prompts of OpenFunctions: one Markdown file each, rendered as strictly as those of the agent."""

from importlib.resources import files

from restgpt import prompts


def render(name: str, /, **variables: str) -> str:
    """Render the prompt `name`; raises `PromptError` unless `variables` are exactly its variables."""
    source = files("restgpt_functions.prompts").joinpath(f"{name}.md")
    return prompts.render(name, source.read_text(encoding="utf-8"), **variables)
