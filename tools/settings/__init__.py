"""The settings of the user: environment, `.env` and `apis.yaml`. No other room reads the environment."""

from restgpt.tools.settings.entry import ApiEntry, EffectRule, PolicyRule, ServerAccess
from restgpt.tools.settings.environment import Secret
from restgpt.tools.settings.settings import Settings

__all__ = ["ApiEntry", "EffectRule", "PolicyRule", "Secret", "ServerAccess", "Settings"]
