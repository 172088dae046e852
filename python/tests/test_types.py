"""The types that editors and type checkers see."""

import ast
import inspect
from pathlib import Path

import wordloom
from wordloom import _native


def test_the_stub_has_the_names_of_the_extension():
    def public(names):
        return {name for name in names if not name.startswith("_")}

    tree = ast.parse(Path(wordloom.__file__).with_name("_native.pyi").read_text(encoding="utf-8"))
    stubs = {node.name: node for node in tree.body if isinstance(node, (ast.ClassDef, ast.FunctionDef))}
    assert public(stubs) == public(dir(_native))
    for name, stub in stubs.items():
        value = getattr(_native, name)
        if isinstance(stub, ast.FunctionDef):
            assert [argument.arg for argument in stub.args.args] == list(inspect.signature(value).parameters), name
        elif not issubclass(value, Exception):
            methods = {node.name: node for node in stub.body if isinstance(node, ast.FunctionDef)}
            assert public(methods) == public(vars(value)), name
            for method, node in methods.items():
                if method in vars(value) and callable(getattr(value, method)) and not method.startswith("__"):
                    expected = [argument.arg for argument in node.args.args]
                    static = any(isinstance(mark, ast.Name) and mark.id == "staticmethod" for mark in node.decorator_list)
                    found = list(inspect.signature(getattr(value, method)).parameters)
                    assert expected[not static :] == found[not static :], f"{name}.{method}"
        else:
            assert [base.id for base in stub.bases] == [value.__bases__[0].__name__], name
