"""The command line: `main` is the group, the other modules its commands."""
