"""``python -m regard``: the command line, for where its script is not on the path."""

from regard.cli.main import main

if __name__ == "__main__":
    main()
