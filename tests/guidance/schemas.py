"""Random schemas, each with a value that is valid, as strategies of hypothesis."""

from hypothesis import strategies as st

NAMES = st.text('abé"~/', max_size=3)
LEAVES = st.one_of(
    st.booleans().map(lambda value: ({"type": "boolean"}, value)),
    st.just(({"type": ["null", "boolean"], "title": "none"}, None)),
    st.integers(-999, 10**12).map(lambda value: ({"type": "integer"}, value)),
    st.floats(-1e12, 1e12).map(lambda value: ({"type": "number"}, value)),
    st.tuples(st.integers(0, 2), st.text('ab"é\n😀', min_size=2, max_size=4), st.booleans()).map(
        lambda one: ({"type": "string", "minLength": one[0], **({"maxLength": 4} if one[2] else {})}, one[1])
    ),
    st.tuples(st.text(max_size=2).filter(str.isascii), st.integers(0, 5)).map(lambda one: ({"enum": [*one]}, one[1])),
    st.lists(st.integers(0, 5), max_size=2).map(lambda value: ({"const": {"a": value}}, {"a": value})),
    st.integers(0, 3).map(lambda depth: ({"$ref": "#/$defs/nested"}, nested(depth))),
)
DEFINITIONS = {
    "nested": {
        "type": "object",
        "properties": {"inner": {"anyOf": [{"$ref": "#/$defs/nested"}, {"type": "null"}]}},
        "required": ["inner"],
        "additionalProperties": False,
    }
}


def nested(depth):
    return {"inner": nested(depth - 1) if depth else None}


@st.composite
def arrays(draw, inner):
    items, value = draw(inner)
    least, count = draw(st.integers(0, 2)), draw(st.integers(0, 2))
    bounds = {"minItems": least, **({"maxItems": least + count} if draw(st.booleans()) else {})}
    return {"type": "array", "items": items, **bounds}, [value] * (least + count)


@st.composite
def objects(draw, inner):
    members = draw(st.dictionaries(NAMES, st.tuples(inner, st.booleans(), st.booleans()), max_size=3))
    schema = {
        "type": "object",
        "properties": {name: member for name, ((member, _), _, _) in members.items()},
        "required": [name for name, (_, is_required, _) in members.items() if is_required],
    }
    value = {name: member for name, ((_, member), is_required, is_there) in members.items() if is_required or is_there}
    if draw(st.booleans()):
        schema["additionalProperties"], other = draw(inner)
        name = "z" + draw(NAMES)
        value |= {name: other}
    return schema, value


@st.composite
def unions(draw, inner):
    first, value = draw(inner)
    others = draw(st.lists(inner, max_size=2))
    return {"anyOf": draw(st.permutations([first, *(schema for schema, _ in others)]))}, value


def inside(inner):
    return st.one_of(arrays(inner), objects(inner), unions(inner))


SCHEMAS = st.recursive(LEAVES, inside, max_leaves=5).map(lambda one: ({**one[0], "$defs": DEFINITIONS}, one[1]))
