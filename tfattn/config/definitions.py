"""What a class or function takes and what a class inherits from, as the text of its module says."""

import ast
import contextlib
import dataclasses
import typing
from collections.abc import Iterator, Sequence
from inspect import Parameter
from typing import Any

from tfattn.source_text import Definition, Imported, Module, Unread


def ancestry(definition: Definition) -> Iterator[Definition | str]:
    """Follow a class to what it inherits from.

    Yields:
        its own definition, that of its base, and so on, up to `object`, or to a class of which only `module:Class` is
        known. Of several bases, those are left out that take nothing.

    Raises:
        Unread: it has several bases that may decide what it takes, or one that cannot be found.
    """
    yield definition
    bases = [_base(definition.module, expression) for expression in definition.node.bases]
    bases = [base for base in bases if base is not object]
    match bases if len(bases) < 2 else [base for base in bases if not _takes_nothing(base)]:
        case []:
            return
        case [Definition() as base]:
            yield from ancestry(base)
        case [str() as base]:
            yield base
        case _:
            raise Unread(definition.path)


def parameters(line: Sequence[Definition | str]) -> list[Parameter]:
    """Read what a class takes, `self` aside, or a function.

    Args:
        line: of a class, its `ancestry`; or a function alone.

    Raises:
        Unread: the text does not say it, such as of a class with a decorator.
    """
    for place, definition in enumerate(line):
        if isinstance(definition, str):
            raise Unread(definition)
        if isinstance(definition.node, ast.FunctionDef):
            return _of_function(definition.module, definition.node)
        options = _dataclass_options(definition)
        own = definition.module.bound(definition.node.body)
        if "__init__" in own:
            return _of_function(definition.module, own["__init__"])[1:]
        if options is not None:
            return _of_fields(line[place:])
    return []


def _takes_nothing(base: Definition | str) -> bool:
    """Tell whether a class is known to have neither a constructor nor a base, nor fields that make one."""
    if isinstance(base, str):
        return False
    return not (base.node.bases or base.node.decorator_list or "__init__" in base.module.bound(base.node.body))


def _base(names: Module, expression: ast.expr) -> Definition | str | type:
    """Find what a class names as its base; `object` for what adds nothing to what it takes, such as ABC."""
    if isinstance(expression, ast.Subscript):  # of type variables
        return _base(names, expression.value)
    with contextlib.suppress(Unread):
        if names.value(expression).__init__ is object.__init__:
            return object
    match expression:
        case ast.Name(id=name):
            return names.definition(name)
        case ast.Attribute(value=ast.Name(id=name), attr=attribute):
            origin = names.binding(name)
            if isinstance(origin, Imported):
                return f"{origin.module}.{origin.name}".rstrip(".") + f":{attribute}"
    raise Unread(ast.unparse(expression))


def _of_function(names: Module, node: Any) -> list[Parameter]:
    if not isinstance(node, ast.FunctionDef) or node.decorator_list:
        raise Unread(names.name)
    takes = node.args
    found = [Parameter(one.arg, Parameter.POSITIONAL_OR_KEYWORD) for one in (*takes.posonlyargs, *takes.args)]
    for one, default in zip(takes.kwonlyargs, takes.kw_defaults, strict=True):
        hint = names.hint(one.annotation) if one.annotation else Any
        value = Parameter.empty if default is None else names.value(default)
        found.append(Parameter(one.arg, Parameter.KEYWORD_ONLY, default=value, annotation=hint))
    return found


def _of_fields(line: Sequence[Definition | str]) -> list[Parameter]:
    """Read what a dataclass takes: its fields, after those of the dataclasses that it inherits from."""
    found: dict[str, Parameter] = {}
    for definition in reversed(line):
        if isinstance(definition, str):
            raise Unread(definition)
        options = _dataclass_options(definition)
        if options is not None:
            found |= {one.name: one for one in _fields(definition, keyword_only=options.get("kw_only", False))}
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
                default = _default_of(default)
            kind = Parameter.KEYWORD_ONLY if keyword_only else Parameter.POSITIONAL_OR_KEYWORD
            yield Parameter(statement.target.id, kind, default=default, annotation=hint)


def _default_of(field: dataclasses.Field) -> Any:
    if not field.init or field.kw_only is not dataclasses.MISSING:
        raise Unread("a field with options of its own")
    if field.default_factory is not dataclasses.MISSING:
        return field.default_factory()
    return Parameter.empty if field.default is dataclasses.MISSING else field.default


def _dataclass_options(definition: Definition) -> dict[str, Any] | None:
    """Read the options of `@dataclass`; None for a class without decorators."""
    node, names = definition.node, definition.module
    if node.keywords or len(node.decorator_list) > 1:  # a metaclass, or who knows what, may change what it takes
        raise Unread(definition.path)
    for decorator in node.decorator_list:
        called, keywords = (decorator.func, decorator.keywords) if isinstance(decorator, ast.Call) else (decorator, [])
        if names.value(called) is not dataclasses.dataclass:
            raise Unread(definition.path)
        options = {one.arg: names.value(one.value) for one in keywords}
        if not options.get("init", True):
            raise Unread(definition.path)
        return options
    return None
