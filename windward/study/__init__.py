"""`Study`, what it asks, tells and runs, and how one is declared."""
