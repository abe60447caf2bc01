"""`restgpt ui`: the page over the threads of the command line, served by as much of the Agent Protocol as it uses."""
