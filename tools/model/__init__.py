"""Chat models: found by name, asked for text or for validated values, recorded and replayed.

The roles of the agent that ask a chat model, as section 3 of the paper names them.

A role may have a model of its own: by `RESTGPT_MODEL_<ROLE>` (`tools/settings/`), or by the setting `<role>_model` of
a run (`nodes/run/services.py`); `nodes/run/services.py` looks both up.
"""

from typing import Literal, get_args

Role = Literal["planner", "selector", "caller", "parser"]
ROLES: tuple[Role, ...] = get_args(Role)
