#!/usr/bin/env python3
"""check_json.py SCHEMA FILE...: holds each JSON document, or each line of a .jsonl file, against a JSON Schema.

Exit code 77 where python3-jsonschema is not there, 1 where something does not fit.
"""
import json
import sys

try:
    import jsonschema
except ImportError:
    print("python3-jsonschema is not installed")
    sys.exit(77)


def documents(path):
    with open(path, encoding="utf-8") as file:
        if not path.endswith(".jsonl"):
            yield path, json.load(file)
            return
        for number, line in enumerate(file, 1):
            yield f"{path}:{number}", json.loads(line)


def main(schema_path, *paths):
    with open(schema_path, encoding="utf-8") as file:
        schema = json.load(file)
    kind = jsonschema.validators.validator_for(schema)
    kind.check_schema(schema)
    validator = kind(schema, format_checker=jsonschema.FormatChecker())
    wrong = seen = 0
    for path in paths:
        for place, document in documents(path):
            seen += 1
            for error in validator.iter_errors(document):
                wrong += 1
                at = "/".join(str(step) for step in error.absolute_path)
                print(f"{place}: {at or 'the whole'}: {error.message[:300]}")
    print(f"{seen} documents, {wrong} mistakes")
    return 1 if wrong or not seen else 0


sys.exit(main(*sys.argv[1:]))
