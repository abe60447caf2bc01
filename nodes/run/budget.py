"""Budgets: checks whether an instruction has used up its API plans, requests, tokens or seconds."""

from restgpt.nodes.run.context import Context
from restgpt.nodes.state.records import Usage, tokens


def used_up(context: Context, steps: int, spent: Usage) -> str:
    """Return the budgets that are used up, in words; empty if there is budget left."""
    budgets = {
        f"{context.max_steps} API plans": steps >= context.max_steps,
        f"{context.max_requests} requests": spent["requests"] >= context.max_requests,
        f"{context.max_tokens} tokens": tokens(spent) >= context.max_tokens,
        f"{context.max_seconds:g} seconds": spent["seconds"] >= context.max_seconds,
    }
    return ", ".join(name for name, over in budgets.items() if over)


def allows_a_last_question(context: Context, spent: Usage) -> bool:
    """Return whether tokens and seconds are left for one more model call, which writes the final answer."""
    return tokens(spent) < context.max_tokens and spent["seconds"] < context.max_seconds
