"""The commands of the command line, a module per kind; nothing heavy is imported before a command runs."""
