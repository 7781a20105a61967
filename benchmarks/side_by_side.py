"""Tasks of a benchmark in several processes of one thread each."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

import torch

Task = TypeVar("Task")
Found = TypeVar("Found")


def done_by(processes: int, function: Callable[[Task], Found], tasks: Iterable[Task]) -> Iterator[Found]:
    """Yield what a function returns for each task, as they finish; in their order where there is one process.

    Processes are forked, so they share what was made before; a parent that has computed with several threads must not call it.
    """
    if processes == 1:
        yield from map(function, tasks)
        return
    with multiprocessing.get_context("fork").Pool(processes, torch.set_num_threads, (1,)) as pool:
        yield from pool.imap_unordered(function, tasks)
