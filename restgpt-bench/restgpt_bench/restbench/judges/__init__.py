"""The judges: tasks in the worlds with their gold calls, and the checks of what a run answered and changed."""
