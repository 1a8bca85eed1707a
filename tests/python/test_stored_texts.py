"""The text of a plug-in that a store keeps may be somebody else's. It may only declare: loading it runs nothing."""

from __future__ import annotations

import pytest

from sojourn.base.core import SojournError
from sojourn.plugins.frozen import check_source

DECLARES = """import math

from sojourn.plugins import ACCEPT, DROP, MARK, SEND, Algorithm, parameter

K = 0.5

N = -3

X = 1e999 - 1e999

def helper(x, y=1):
    return math.sqrt(x) + y

class Mine(Algorithm):
    "A docstring."
    title = 'A title'
    updates = True
    share = parameter(0.5, 'A share.')
    table = [0.0] * 16
    pair = [1, 2]

    def arrival(self, packet):
        return DROP if helper(self.share) > K else ACCEPT
"""

#: Each would run something when it is loaded, or name what may.
RUNS = {
    "a call": "print(1)",
    "a module": "import os",
    "a module by another name": "import math as print",
    "two modules": "import math, os",
    "from a module": "from os import system",
    "a name of ours from another module": "from antigravity import DROP",
    "from a module beside this one": "from . import system",
    "a name of ours that does more": "from sojourn.plugins import load",
    "a name of ours by another name": "from sojourn.plugins import ACCEPT as print",
    "a constant that is computed": "K = print(1)",
    "a constant that takes long": "K = 10 ** 10 ** 10",
    "a constant that takes memory": "K = [0] * 10_000_000_000",
    "a product of products": "K = [[0] * 4096] * 4096",
    "lists of lists": "K = [[0], [0]]",
    "a list with a call": "K = [print(1)]",
    "a negated call": "K = -print(1)",
    "a text with a call": "K = f'{print(1)}'",
    "a difference of calls": "K = print(1) - print(2)",
    "an attribute": "K = math.__loader__",
    "an item": "K = helper[0]",
    "a lambda": "K = lambda: 0",
    "a comprehension": "K = [one for one in helper]",
    "an attribute that is set": "math.sqrt = 1",
    "an item that is set": "K[0] = 1",
    "several that are set": "K, N = 1",
    "an annotation": "K: print(1) = 1",
    "an addition to a name": "K += 1",
    "a parameter that is computed": "K = parameter(print(1), 'A share.')",
    "a parameter with a keyword that is computed": "K = parameter(1, doc=print(1))",
    "another function in place of parameter": "K = print(1, 'A share.')",
    "a decorated function": "@print\ndef f():\n    pass",
    "a default that is computed": "def f(x=print(1)):\n    pass",
    "a default of a name that is computed": "def f(*, x=print(1)):\n    pass",
    "an annotated argument": "def f(x: print(1)):\n    pass",
    "an annotated argument by position": "def f(x: print(1), /):\n    pass",
    "an annotated argument by name": "def f(*, x: print(1)):\n    pass",
    "annotated further arguments": "def f(*x: print(1)):\n    pass",
    "annotated further names": "def f(**x: print(1)):\n    pass",
    "an annotated answer": "def f() -> print(1):\n    pass",
    "an asynchronous function": "async def f():\n    pass",
    "a decorated class": "@print\nclass F(Algorithm):\n    pass",
    "a class of another": "class F(print(1)):\n    pass",
    "a class of two": "class F(Algorithm, print(1)):\n    pass",
    "a metaclass": "class F(Algorithm, metaclass=print):\n    pass",
    "a call in a class": "class F(Algorithm):\n    print(1)",
    "a class in a class": "class F(Algorithm):\n    class G(print(1)):\n        pass",
    "a condition": "if print(1):\n    pass",
    "a loop": "while True:\n    pass",
    "a statement that asserts": "assert print(1)",
    "a context": "with print(1):\n    pass",
    "an attempt": "try:\n    pass\nexcept print(1):\n    pass",
}


def test_a_text_that_declares_is_taken() -> None:
    check_source(DECLARES, "it")


@pytest.mark.parametrize("what", RUNS)
def test_a_text_that_runs_something_is_refused(what: str) -> None:
    # Behind its decorator, if it has one.
    line = DECLARES.count("\n") + 1 + RUNS[what].startswith("@")
    with pytest.raises(SojournError, match=rf"^it, line {line}: Sojourn stores no such text, which runs when"):
        check_source(f"{DECLARES}{RUNS[what]}\n", "it")


@pytest.mark.parametrize(
    "text", ["K = ", "K = '\0'", "K = " + "-" * 100_000 + "1", "K = " + "a." * 100_000 + "b"], ids=range(4)
)
def test_what_is_no_text_of_python_is_refused(text: str) -> None:
    with pytest.raises(SojournError, match=r"^it is not a source text: "):
        check_source(text, "it")
