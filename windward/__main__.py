"""`python -m windward` is the command line."""

from windward.cli.main import main

if __name__ == "__main__":
    main()
