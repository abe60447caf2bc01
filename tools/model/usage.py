"""The cost of model calls: their number, and the tokens read and written."""

from dataclasses import dataclass

from langchain_core.messages import AIMessage


@dataclass(frozen=True, slots=True)
class ModelUsage:
    """The number of model calls, and the tokens they read and wrote."""

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0

    def __add__(self, other: "ModelUsage") -> "ModelUsage":
        """Add up two usages."""
        return ModelUsage(
            self.calls + other.calls,
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
        )


def usage_of(message: AIMessage) -> ModelUsage:
    """The cost of one reply; zero tokens if the provider reports none."""
    counts = message.usage_metadata
    if counts is None:
        return ModelUsage(calls=1)
    return ModelUsage(1, counts["input_tokens"], counts["output_tokens"])
