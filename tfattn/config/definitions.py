"""Parses the parameters of classes and functions, and the bases of classes, from the source text of their module."""

import ast
import contextlib
import dataclasses
import typing
from collections.abc import Iterator, Sequence
from inspect import Parameter
from typing import Any

from tfattn.source_text import Definition, Imported, Module, UnresolvedError


def ancestry(definition: Definition) -> Iterator[Definition | str]:
    """Iterate over a class and its bases.

    Yields:
        the definition of the class, of its base, and so on, up to `object`, or `module:Class` of a base without
        readable text. Of several bases, those without parameters are left out.

    Raises:
        UnresolvedError: several bases may define the parameters, or a base is not found.
    """
    yield definition
    bases = [_base(definition.module, expression) for expression in definition.node.bases]
    bases = [base for base in bases if base is not object]
    match bases if len(bases) < 2 else [base for base in bases if not _has_no_parameters(base)]:
        case []:
            return
        case [Definition() as base]:
            yield from ancestry(base)
        case [str() as base]:
            yield base
        case _:
            raise UnresolvedError(definition.path)


def parse_parameters(ancestors: Sequence[Definition | str]) -> list[Parameter]:
    """Return the parameters of a class, without `self`, or of a function.

    Args:
        ancestors: the `ancestry` of a class; or a single function.

    Raises:
        UnresolvedError: the text does not define the parameters, such as of a class with a decorator.
    """
    for index, definition in enumerate(ancestors):
        if isinstance(definition, str):
            raise UnresolvedError(definition)
        if isinstance(definition.node, ast.FunctionDef):
            return _function_parameters(definition.module, definition.node)
        options = _dataclass_options(definition)
        own = definition.module.bindings(definition.node.body)
        if "__init__" in own:
            return _function_parameters(definition.module, own["__init__"])[1:]
        if options is not None:
            return _dataclass_parameters(ancestors[index:])
    return []


def _has_no_parameters(base: Definition | str) -> bool:
    """Return whether a class is known to have no constructor, no base and no decorator."""
    if isinstance(base, str):
        return False
    return not (base.node.bases or base.node.decorator_list or "__init__" in base.module.bindings(base.node.body))


def _base(names: Module, expression: ast.expr) -> Definition | str | type:
    """Return the base class that an expression names; `object` for a base without a constructor, such as ABC."""
    if isinstance(expression, ast.Subscript):  # a generic base, such as Base[T]
        return _base(names, expression.value)
    with contextlib.suppress(UnresolvedError):
        if names.value(expression).__init__ is object.__init__:
            return object
    match expression:
        case ast.Name(id=name):
            return names.definition(name)
        case ast.Attribute(value=ast.Name(id=name), attr=attribute):
            origin = names.binding(name)
            if isinstance(origin, Imported):
                return f"{origin.module}.{origin.name}".rstrip(".") + f":{attribute}"
    raise UnresolvedError(ast.unparse(expression))


def _function_parameters(names: Module, node: Any) -> list[Parameter]:
    if not isinstance(node, ast.FunctionDef) or node.decorator_list:
        raise UnresolvedError(names.name)
    arguments = node.args
    found = [
        Parameter(argument.arg, Parameter.POSITIONAL_OR_KEYWORD)
        for argument in (*arguments.posonlyargs, *arguments.args)
    ]
    for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        hint = names.hint(argument.annotation) if argument.annotation else Any
        value = Parameter.empty if default is None else names.value(default)
        found.append(Parameter(argument.arg, Parameter.KEYWORD_ONLY, default=value, annotation=hint))
    return found


def _dataclass_parameters(ancestors: Sequence[Definition | str]) -> list[Parameter]:
    """Return the fields of a dataclass, after the fields of its bases."""
    found: dict[str, Parameter] = {}
    for definition in reversed(ancestors):
        if isinstance(definition, str):
            raise UnresolvedError(definition)
        options = _dataclass_options(definition)
        if options is not None:
            found |= {field.name: field for field in _fields(definition, keyword_only=options.get("kw_only", False))}
    return list(found.values())


def _fields(definition: Definition, *, keyword_only: bool) -> Iterator[Parameter]:
    names = definition.module
    for statement in definition.node.body:
        if not isinstance(statement, ast.AnnAssign):
            continue
        hint = names.hint(statement.annotation)
        if hint is dataclasses.KW_ONLY:
            keyword_only = True
        elif hint is not typing.ClassVar and typing.get_origin(hint) is not typing.ClassVar:
            default = Parameter.empty if statement.value is None else names.value(statement.value)
            if isinstance(default, dataclasses.Field):
                default = _field_default(default)
            kind = Parameter.KEYWORD_ONLY if keyword_only else Parameter.POSITIONAL_OR_KEYWORD
            yield Parameter(statement.target.id, kind, default=default, annotation=hint)


def _field_default(field: dataclasses.Field) -> Any:
    if not field.init or field.kw_only is not dataclasses.MISSING:
        raise UnresolvedError("a field with options of its own")
    if field.default_factory is not dataclasses.MISSING:
        return field.default_factory()
    return Parameter.empty if field.default is dataclasses.MISSING else field.default


def _dataclass_options(definition: Definition) -> dict[str, Any] | None:
    """Return the options of `@dataclass`; None for a class without decorators."""
    node, names = definition.node, definition.module
    if node.keywords or len(node.decorator_list) > 1:  # a metaclass or another decorator may change the constructor
        raise UnresolvedError(definition.path)
    for decorator in node.decorator_list:
        called, keywords = (decorator.func, decorator.keywords) if isinstance(decorator, ast.Call) else (decorator, [])
        if names.value(called) is not dataclasses.dataclass:
            raise UnresolvedError(definition.path)
        options = {keyword.arg: names.value(keyword.value) for keyword in keywords}
        if not options.get("init", True):
            raise UnresolvedError(definition.path)
        return options
    return None
