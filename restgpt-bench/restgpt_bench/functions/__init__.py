"""OpenFunctions: function calls, judged by their syntax tree and arguments."""
