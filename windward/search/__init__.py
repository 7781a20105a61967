"""Where the next decision may be, and the best one there by an acquisition."""

from windward.search.acquisition import Acquisition, Maximizer
from windward.search.design import Central, Design, RandomDesign, Sobol
from windward.search.grid import OverGrid
from windward.search.multistart import MultiStart
from windward.search.near import NearBest
from windward.search.region import Region

# The parts of this room.
PARTS: tuple[type, ...] = (Central, MultiStart, NearBest, OverGrid, RandomDesign, Sobol)

__all__ = [
    "PARTS",
    "Acquisition",
    "Central",
    "Design",
    "Maximizer",
    "MultiStart",
    "NearBest",
    "OverGrid",
    "RandomDesign",
    "Region",
    "Sobol",
]
