"""Whether an answer of /api/v1 has the form that the OpenAPI document gives, and nothing more: a key that the document lacks
is an error, as is a needed key that is absent."""

TYPES = {"string": str, "boolean": bool, "object": dict, "array": list, "null": type(None)}


def is_of(kind, value):
    if kind in ("integer", "number"):
        return isinstance(value, int if kind == "integer" else (int, float)) and not isinstance(value, bool)
    return isinstance(value, TYPES[kind])


class Forms:
    def __init__(self, document):
        self.document = document

    def schema_of(self, path, method="get"):
        """Of the answer to a path without its root, such as "workloads/a/b/cost"."""
        segments = path.strip("/").split("/")
        for template, methods in self.document["paths"].items():
            names = template.removeprefix("/api/v1/").split("/")
            fits = len(names) == len(segments) and all(name.startswith("{") or name == segment for name, segment in zip(names, segments))
            if fits and method in methods:
                return methods[method]["responses"]["200"]["content"]["application/json"]["schema"]
        raise KeyError(f"the document has no {method} {path}")

    def resolved(self, schema):
        while "$ref" in schema:
            schema = self.document["components"]["schemas"][schema["$ref"].rsplit("/", 1)[-1]]
        return schema

    def errors(self, schema, value, at=""):
        """What is wrong, in words; empty: the value has the form."""
        schema = self.resolved(schema)
        if "oneOf" in schema:
            tried = [self.errors(each, value, at) for each in schema["oneOf"]]
            return [] if [] in tried else min(tried, key=len)
        kinds = schema.get("type", "object")
        kinds = kinds if isinstance(kinds, list) else [kinds]
        if not any(is_of(kind, value) for kind in kinds):
            return [f"{at}: {value!r} is no {' or '.join(kinds)}"]
        if "enum" in schema and value not in schema["enum"]:
            return [f"{at}: {value!r} is none of {schema['enum']}"]
        if isinstance(value, list):
            return [error for i, each in enumerate(value) for error in self.errors(schema.get("items", {}), each, f"{at}[{i}]")]
        if not isinstance(value, dict):
            return []
        if "additionalProperties" in schema:
            return [error for key, each in value.items() for error in self.errors(schema["additionalProperties"], each, f"{at}.{key}")]
        known = schema.get("properties", {})
        found = [f"{at}.{key}: the document has no such key" for key in value if key not in known]
        found += [f"{at}.{key} is absent" for key in schema.get("required", []) if key not in value]
        return found + [error for key, each in value.items() if key in known for error in self.errors(known[key], each, f"{at}.{key}")]

    def check(self, path, value, method="get"):
        """Raises AssertionError with what is wrong."""
        found = self.errors(self.schema_of(path, method), value)
        if found:
            raise AssertionError(f"{method} {path}: " + "; ".join(found[:10]))
