"""Where the next decision may be, and the best one there by an acquisition."""

from windward.search.acquisition import Acquisition, Maximizer
from windward.search.design import Design, RandomDesign, Sobol
from windward.search.grid import OverGrid
from windward.search.multistart import MultiStart
from windward.search.region import Region

# The parts of this room.
PARTS: tuple[type, ...] = (MultiStart, OverGrid, RandomDesign, Sobol)

__all__ = [
    "PARTS",
    "Acquisition",
    "Design",
    "Maximizer",
    "MultiStart",
    "OverGrid",
    "RandomDesign",
    "Region",
    "Sobol",
]
