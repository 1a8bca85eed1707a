"""Real programs behind an emulated link: ``sojourn shell`` and :func:`emulate`.

A process holds network namespaces without names, in which two hosts run programs on the kernel's own network stack.
``sojournd`` forwards between them with the schemes of the library and the links of scenarios. It needs no root where
the system has user namespaces.
"""

from sojourn.real.shell.emulation import Emulation, Program, emulate
from sojourn.real.shell.link import Link
from sojourn.real.shell.outcome import DirectionOutcome, Outcome

__all__ = ["DirectionOutcome", "Emulation", "Link", "Outcome", "Program", "emulate"]
