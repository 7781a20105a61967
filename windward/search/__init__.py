"""Where the next decision may be, and the best one there by an acquisition."""
