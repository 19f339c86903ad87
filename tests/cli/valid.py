"""valid.py - checks reports against a schema: valid.py SCHEMA REPORT...  A null has a reason beside it, always."""
import json, sys

schema = json.load(open(sys.argv[1]))
kinds = {bool: "boolean", int: "integer", float: "number", str: "string", list: "array", dict: "object", type(None): "null"}

def check(value, rule, path):
    if "$ref" in rule:
        rule = schema["$defs"][rule["$ref"].split("/")[-1]]
    allowed = rule["type"] if isinstance(rule["type"], list) else [rule["type"]]
    kind = kinds[type(value)]
    assert kind in allowed or (kind == "integer" and "number" in allowed), (path, kind, allowed)
    assert "enum" not in rule or value in rule["enum"], (path, value)
    if kind == "object":
        assert not set(rule["required"]) - set(value), (path, set(rule["required"]) - set(value))
        for key, member in value.items():
            assert key in rule["properties"], (path, key, "is not in the schema")
            assert member is not None or value.get(key + "_reason"), (path, key, "is null without a reason")
            check(member, rule["properties"][key], path + "." + key)
    if kind == "array":
        for i, member in enumerate(value):
            check(member, rule["items"], "%s[%d]" % (path, i))

for name in sys.argv[2:]:
    check(json.loads(open(name, "rb").read().decode("utf-8")), schema, name)
