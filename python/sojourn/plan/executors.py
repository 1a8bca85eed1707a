"""Executors of batches: threads of this process, or a Dask cluster."""

from __future__ import annotations

import math
import queue
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, TypeAlias

from sojourn.base import core, extras
from sojourn.base.errors import RunError
from sojourn.plan import worker
from sojourn.plan.worker import Batch, Done

LOOK_EVERY_S: Final = 2.0

Answer: TypeAlias = tuple[int, Done | BaseException]


class Local:
    """Threads of this process that `run` batches from a queue; `stop` ends batches that are under way."""

    def __init__(self, width: int, note: str, run: Callable[[Batch], Done], stop: Callable[[], None]) -> None:
        self.width = width
        self.note = note
        self._todo: queue.SimpleQueue[tuple[int, Batch] | None] = queue.SimpleQueue()
        self._done: queue.SimpleQueue[Answer] = queue.SimpleQueue()
        self._closed = False
        self._batch_runner, self._stop_all = run, stop
        self._threads = [threading.Thread(target=self._serve, daemon=True) for _ in range(width)]
        for thread in self._threads:
            thread.start()

    def submit(self, number: int, batch: Batch) -> None:
        """Hand a batch over."""
        self._todo.put((number, batch))

    def next(self, timeout_s: float) -> Answer | None:
        """Wait for a batch to end."""
        try:
            return self._done.get(timeout=timeout_s)
        except queue.Empty:
            return None

    def close(self) -> None:
        """Stop what is under way."""
        self._closed = True
        self._stop_all()
        for _ in self._threads:
            self._todo.put(None)
        # The process must not end under them.
        for thread in self._threads:
            thread.join()

    def _serve(self) -> None:
        while (item := self._todo.get()) is not None and not self._closed:
            number, batch = item
            try:
                self._done.put((number, self._batch_runner(batch)))
            except BaseException as error:  # the driver decides what it means
                self._done.put((number, error))


def threads(jobs: int) -> Local:
    """Return threads that simulate; the interpreter is released while they do."""
    stop = core.Stop()
    note = f"{jobs} thread{'s' * (jobs > 1)}"
    return Local(jobs, note, lambda batch: worker.run(batch, stop), stop.set)


class Cluster:
    """A Dask cluster, `distributed`."""

    def __init__(self, address: str, *, timeout_s: float = 30) -> None:
        try:
            import distributed
        except ImportError:
            raise RunError(f"--scheduler needs Dask: {extras.install('cluster')}") from None
        # Dask's annotations are partial.
        client: Any = distributed.Client
        place: dict[str, Any] = {"scheduler_file": address} if Path(address).is_file() else {"address": address}
        try:
            self._client: Any = client(**place, timeout=timeout_s, set_as_default=False)
        except (OSError, ValueError, TimeoutError) as error:
            raise RunError(f"no Dask scheduler answers at {address}: {_short(error)}") from None
        try:
            self._client.wait_for_workers(1, timeout=timeout_s)
            self._check()
        except TimeoutError:
            self._client.close()
            raise RunError(f"the Dask scheduler at {address} has no worker") from None
        except BaseException:
            self._client.close()
            raise
        self._done: queue.SimpleQueue[Answer] = queue.SimpleQueue()
        self._futures: dict[int, Any] = {}
        self._address = address
        self._width, self._looked = 1, -math.inf

    @property
    def width(self) -> int:
        """Number of threads of all workers, updated from time to time because a cluster may grow and shrink."""
        if time.monotonic() - self._looked > LOOK_EVERY_S:
            self._check_scheduler()
            try:
                workers = self._client.scheduler_info(n_workers=-1)["workers"].values()
            except OSError:
                raise self._unreachable() from None
            self._width = max(sum(worker["nthreads"] for worker in workers), 1)
            self._looked = time.monotonic()
        return self._width

    @property
    def note(self) -> str:
        """Where to look."""
        return f"{self.width} threads of a Dask cluster, dashboard {self._client.dashboard_link}"

    def submit(self, number: int, batch: Batch) -> None:
        """Hand a batch over."""
        future = self._client.submit(worker.run, batch, pure=False, key=f"sojourn-{id(self)}-{number}")
        self._futures[number] = future
        future.add_done_callback(self._when_done(number))

    def _when_done(self, number: int) -> Callable[[Any], None]:
        def put(future: Any) -> None:
            try:
                answer: Done | BaseException = future.result() if future.status == "finished" else _why(future)
            except BaseException as error:
                answer = error
            self._done.put((number, answer))

        return put

    def next(self, timeout_s: float) -> Answer | None:
        """Wait for a batch to end."""
        try:
            number, answer = self._done.get(timeout=timeout_s)
        except queue.Empty:
            self._check_scheduler()
            return None
        if isinstance(answer, BaseException):
            self._check_scheduler()
        # Letting go of the future frees the cluster's memory.
        self._futures.pop(number, None)
        return number, answer

    def close(self) -> None:
        """Take back what is under way and leave."""
        # A scheduler that is gone cannot be told.
        with suppress(Exception):
            if self._client.status == "running":
                self._client.cancel(list(self._futures.values()))
        self._futures.clear()
        with suppress(Exception):
            self._client.close(timeout=5)

    def _check_scheduler(self) -> None:
        if self._client.status != "running":
            raise self._unreachable()

    def _unreachable(self) -> RunError:
        return RunError(
            f"the Dask scheduler at {self._address} is gone; "
            "finished runs are in the store, the same command continues"
        )

    def _check(self) -> None:
        """Refuse workers of another build."""
        try:
            found = self._client.run(core.build, on_error="return")
        except Exception as error:  # whatever a foreign worker raises when it cannot unpickle
            found = {"a worker": error}
        refuse({worker: build if isinstance(build, str) else _short(build) for worker, build in found.items()})


Executor: TypeAlias = Local | Cluster
"""Runs batches and returns their results in any order; `width` of them run at the same time, `note` says where."""


def refuse(builds: dict[str, str]) -> None:
    """Raise if any worker is not of this build."""
    other = {worker: build for worker, build in builds.items() if build != core.build()}
    if other:
        listed = "".join(f"\n  {worker}: {build}" for worker, build in sorted(other.items())[:10])
        raise RunError(
            f"{len(other)} of {len(builds)} workers have another build of Sojourn than this process "
            f"({core.build()}), and results of different builds are not mixed; install the same on all{listed}"
        )


def _why(future: Any) -> BaseException:
    error = future.exception() if future.status == "error" else None
    return error if isinstance(error, BaseException) else RuntimeError(f"the batch was {future.status}")


def _short(error: object) -> str:
    return f"{type(error).__name__}: {error}".splitlines()[0][:200]
