"""What a node has at hand while it runs: the settings of the run, the resources of the process, and its progress."""
