"""The compiled module against its stub, and its lists against what Python makes of them."""

from __future__ import annotations

import ast
import inspect
import json
from importlib import resources

import pytest

from sojourn import _native
from sojourn.base import core
from sojourn.results import metrics


def stub() -> ast.Module:
    return ast.parse((resources.files("sojourn") / "_native.pyi").read_text())


def test_the_stub_names_what_the_module_has() -> None:
    stubbed = {node.name for node in stub().body if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    assert stubbed == {name for name in dir(_native) if not name.startswith("_")}


@pytest.mark.parametrize(
    "node", [node for node in stub().body if isinstance(node, ast.FunctionDef)], ids=lambda node: node.name
)
def test_the_stub_has_the_parameters_that_the_module_has(node: ast.FunctionDef) -> None:
    real = inspect.signature(getattr(_native, node.name))
    assert [argument.arg for argument in node.args.args] == list(real.parameters)
    optional = [name for name, parameter in real.parameters.items() if parameter.default is not parameter.empty]
    assert len(node.args.defaults) == len(optional)


def test_the_error_is_a_value_error() -> None:
    assert issubclass(_native.SojournError, ValueError)


def test_every_metric_that_a_run_reports_is_defined(results) -> None:  # type: ignore[no-untyped-def]
    for name, scope in (("runs", "run"), ("queues", "queue"), ("flows", "flow")):
        from sojourn.results import tables

        for column in tables.metric_columns(name, results.frames[name]):
            where = "crates/sim/src/simulation/report/catalogue.rs"
            assert (scope, column) in metrics.catalogue(), f"{column} of {name} is not in {where}"


def test_every_main_metric_exists() -> None:
    assert set(metrics.MAIN) <= {name for scope, name in metrics.catalogue() if scope == "run"}


def test_every_metric_has_a_title_without_its_unit() -> None:
    for metric in metrics.catalogue().values():
        assert metric.title
        assert "_" not in metric.title


def test_the_schema_is_a_json_schema() -> None:
    schema = core.schema()
    assert schema["$schema"].startswith("https://json-schema.org/")
    assert {"name", "duration", "links", "flows"} <= set(schema["properties"])
    assert json.dumps(schema)
