"""Read the description of a question: its foreign lines without their marks."""

from restgpt.tools.text.quotation import FOREIGN, GOES_ON


def unmarked(description: str) -> list[str]:
    """The lines of a description, in which foreign lines are whole again and have no marks."""
    lines = description.replace("\n" + GOES_ON, "").split("\n")
    return [line.removeprefix(FOREIGN) for line in lines]


def own_lines(text: str) -> list[str]:
    """The lines of a text for a person that carry no mark: those which this program says in its own name."""
    return [line for line in text.splitlines() if line.strip() and not line.startswith("    ")]
