"""The results of a run or a comparison as users have them: data with tables, notices, files, pictures and pages."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Self

from sojourn.base import provided
from sojourn.base.core import Document
from sojourn.base.errors import RunError
from sojourn.base.units import Time
from sojourn.results import export, notices
from sojourn.results.data import ResultData
from sojourn.results.notices import Notice
from sojourn.results.tables import frame

if TYPE_CHECKING:
    import pandas as pd

    from sojourn.results.drawing import Plots


class Results(ResultData):
    """The results of one run or comparison.

    Notes
    -----
    Made by :func:`sojourn.run` and :func:`sojourn.compare`, read from a run folder by :meth:`read`, or from the store
    of a plan by :func:`sojourn.plan.results`. Values and estimates are those of
    :class:`sojourn.results.data.ResultData`, which names the parameters.
    """

    @cached_property
    def warnings(self) -> tuple[Notice, ...]:
        """Notices to read before trusting the results, each with a sentence in ``text``.

        :mod:`sojourn.results.notices` lists their kinds. Whether a steady state was reached is known only of runs
        with time series.
        """
        return notices.of(self)

    def summary(
        self, names: Sequence[str] | None = None, *, by: Literal["group", "phase"] | None = None
    ) -> pd.DataFrame:
        """Return every metric's estimate.

        Parameters
        ----------
        names
            Of metrics; by default all that at least one run has.
        by
            ``"group"``: of each group of flows by itself, with a column ``group`` behind ``scheme``. ``"phase"``: of
            each phase, with columns ``phase`` and ``group``, which is empty for all flows together; phases of one
            name count together.

        Returns
        -------
        pandas.DataFrame
            Columns ``scheme``, ``queue``, ``metric``, ``unit``, ``mean``, ``low``, ``high`` (95 % interval as of
            :meth:`estimate`, NaN where there is none) and ``replications`` (those in which the metric exists). A
            metric of queues has a row for each of the 8 busiest queues under test; the column ``queue`` is empty for
            all other metrics. Groups of flows have no such column.

        Raises
        ------
        SojournError
            Unknown metric, or another `by`.
        """
        if by == "group":
            return frame(export.SUMMARY_BY_GROUP, export.summary_by_group(self, names), 4)
        if by == "phase":
            return frame(export.SUMMARY_BY_PHASE, export.summary_by_phase(self, names), 6)
        if by is not None:
            raise RunError(f'by={by!r}; allowed: "group", "phase" or None')
        return frame(export.SUMMARY, export.summary(self, names), 4)

    def differences(self, baseline: str | None = None, names: Sequence[str] | None = None) -> pd.DataFrame:
        """Return every metric's paired difference to a baseline scheme.

        Parameters
        ----------
        baseline
            A scheme's label; by default the first scheme.
        names
            Of metrics; by default all that at least one run has.

        Returns
        -------
        pandas.DataFrame
            Columns ``scheme``, ``baseline``, ``queue`` (as in :meth:`summary`), ``metric``, ``unit``, ``difference``
            (scheme - baseline), ``low``, ``high`` (95 % interval of the paired differences, NaN where there is none),
            ``replications`` (the pairs in which the metric exists on both sides), ``correlation`` (Pearson's r of the
            pairs, :class:`sojourn.stats.Pairs`), ``effect``, ``effect_low``, ``effect_high`` (Hedges' g of the pairs
            with its 95 % interval), ``p`` (paired t test) and ``p_holm`` (corrected for the number of schemes, see
            :meth:`corrected`).

        Raises
        ------
        SojournError
            Unknown scheme or metric.
        """
        base = None if baseline is None else self._known(baseline)
        return frame(export.DIFFERENCES, export.differences(self, base, names), 5)

    def fairness(self, flows: str | None = None) -> pd.DataFrame:
        """Return measures of fairness among the flows that began, with 95 % intervals over replications.

        Parameters
        ----------
        flows
            ``tcp``, ``udp`` or a group of flows alone; by default all. ``unresponsive_share`` is of all in any case.

        Returns
        -------
        pandas.DataFrame
            Columns ``scheme``, ``measure``, ``mean``, ``low``, ``high`` and ``replications`` (those in which the
            measure exists); the measures are in :data:`sojourn.results.fairness.MEASURES`.

        Raises
        ------
        SojournError
            Unknown flows.

        Examples
        --------
        >>> import sojourn as sj
        >>> results = sj.run(sj.dumbbell(flows=2, duration=sj.s(3), warm_up=sj.s(1)), replicates=2, seed=7)
        >>> table = results.fairness("tcp").set_index("measure")
        >>> bool(0.5 <= table.loc["jain_index", "mean"] <= 1)
        True
        """
        # Slow to import.
        from sojourn.results import fairness

        return fairness.table(self, flows)

    def fairness_over_time(self, window: Time, flows: str | None = None) -> pd.DataFrame:
        """Return measures of fairness in windows of time, with 95 % intervals over replications.

        Needs each flow's goodput as a time series in every replication: ``series.interval`` and ``series.flows=true``
        of the scenario. A flow counts in the windows after its start and before its end.

        Parameters
        ----------
        window
            A multiple of the series' interval.
        flows
            As in :meth:`fairness`.

        Returns
        -------
        pandas.DataFrame
            Columns ``scheme``, ``from_s``, ``to_s``, ``measure`` (of
            :data:`sojourn.results.fairness.OVER_TIME`), ``mean``, ``low``, ``high`` and ``replications``.

        Raises
        ------
        SojournError
            Unknown flows, no such series, or another window.
        """
        # Slow to import.
        from sojourn.results import fairness

        return fairness.over_time(self, window, flows)

    def to_parquet(self, folder: str | Path, *, force: bool = True) -> None:
        """Write a run folder: scenario, schemes, tables, meta data and report.

        The folder appears whole or not at all.

        Parameters
        ----------
        folder
            The place. A folder with files that Sojourn did not write is refused.
        force
            Whether to replace an earlier run folder.

        Raises
        ------
        SojournError
            If the folder cannot be written.
        """
        provided.get("run folder").replace(self, folder, force=force)

    @classmethod
    def read(cls, folder: str | Path) -> Self:
        """Read a run folder.

        Raises
        ------
        SojournError
            If it is not one.
        """
        found: Self = provided.get("run folder").read(folder, cls)
        return found

    def report(self, path: str | Path) -> Path:
        """Write the report, one self-contained HTML page, and return its path.

        Raises
        ------
        SojournError
            If the file cannot be written.
        """
        target = Path(path)
        provided.get("run folder").write_text(target, provided.get("report")(self))
        return target

    def to_document(self, *, series: bool = True) -> Document:
        """Return the results as one JSON document: ``runs``, ``summary`` and what made them.

        Parameters
        ----------
        series
            Whether to include the time series that there are.

        Notes
        -----
        It holds nothing that changes from one execution to the next: no date, no path, no thread count.
        """
        return export.document(self, [one.text for one in self.warnings], series=series)

    @property
    def plot(self) -> Plots:
        """Pictures, a :class:`sojourn.view.plot.Plots`: ``results.plot.delay_throughput()`` and others."""
        made: Plots = provided.get("plots")(self)
        return made

    @cached_property
    def _html(self) -> str:
        return str(provided.get("notebook")(self))

    def _repr_html_(self) -> str:
        return self._html
