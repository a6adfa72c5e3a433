"""The papers and the stubs say what the module has."""

import ast
import doctest
import importlib
import inspect
import pathlib
import re
import subprocess
import sys

import pytest

import kaldera
from kaldera import _kaldera

HERE = pathlib.Path(__file__).resolve().parent.parent


@pytest.mark.parametrize("name", ["features", "files", "k2.decode", "k2.dense_fsa_vec", "k2.fsa", "k2.fsa_algo", "k2.fsa_properties", "k2.nbest", "k2.ragged", "k2.symbol_table", "losses", "recognition"])
def test_examples_of_the_documentation_run(name):
    module = importlib.import_module(f"kaldera.{name}")
    assert doctest.testmod(module, optionflags=doctest.NORMALIZE_WHITESPACE).failed == 0
    public = [value for key, value in vars(module).items() if not key.startswith("_") and inspect.isfunction(value)]
    assert all(value.__doc__ for value in public if value.__module__ == module.__name__)


def test_the_lines_of_the_readme_run(monkeypatch):
    monkeypatch.chdir(HERE.parent.parent)
    (block,) = re.findall(r"```python\n(.*?)```", (HERE / "README.md").read_text(), re.S)
    names = {}
    exec(block, names)
    assert names["features"].shape[1] == 80


def test_stubs_have_the_names_of_the_library():
    stub = ast.parse((pathlib.Path(kaldera.__file__).parent / "_kaldera.pyi").read_text())
    classes = {node.name: node for node in stub.body if isinstance(node, ast.ClassDef)}
    functions = {node.name for node in stub.body if isinstance(node, ast.FunctionDef)}
    real = {name: value for name, value in vars(_kaldera).items() if not name.startswith("_")}
    assert set(classes) | functions == set(real)
    for name, node in classes.items():
        written = {item.name for item in node.body if isinstance(item, ast.FunctionDef)}
        has = {key for key in vars(real[name]) if not key.startswith("__")} | {"__new__"}
        hidden = {key for key in written if key.startswith("__")}
        assert written - hidden == has - {"__new__"}, name


def test_k2_is_there_without_an_import_of_its_own():
    code = "import sys, kaldera; assert 'kaldera.k2' not in sys.modules; kaldera.k2.Fsa"
    subprocess.run([sys.executable, "-c", code], check=True)
    with pytest.raises(AttributeError, match="no attribute 'k3'"):
        kaldera.k3


def test_all_public_names_are_exported():
    assert all(hasattr(kaldera, name) for name in kaldera.__all__)
    assert (pathlib.Path(kaldera.__file__).parent / "py.typed").is_file()


@pytest.mark.parametrize("name", ["kaldera", "kaldera.k2", "kaldera.k2.ragged", "kaldera.torch"])
def test_all_public_names_have_documentation(name):
    if name == "kaldera.torch":
        pytest.importorskip("torch")
    module = importlib.import_module(name)
    assert sorted(module.__all__) == list(module.__all__) and module.__doc__
    for key in module.__all__:
        value = getattr(module, key)
        assert inspect.getdoc(value), key
        if inspect.isclass(value):
            own = [(each, item) for each, item in vars(value).items() if not each.startswith("_")]
            assert all(inspect.getdoc(item) for _, item in own if callable(item) or isinstance(item, property)), key
