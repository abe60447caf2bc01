"""`python -m restgpt` starts the command line."""

from restgpt.cli import main

if __name__ == "__main__":
    main()
