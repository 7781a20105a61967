"""What every room uses: errors, checks of arguments, JSON, seeds, words for people. Nothing here imports torch."""
