"""Callers, checks and counts for the run of schemathesis that main.ts starts."""

import atexit
import json
import os
import random
from collections import Counter

import schemathesis

settings = json.loads(os.environ["FUZZ_SETTINGS"])
chosen = random.Random(settings["seed"])
tally = Counter(serverErrors=0, undocumented=0, schemaViolations=0)
statuses = Counter()
reached = set()


@atexit.register
def write_tally():
    with open(settings["tally"], "w") as file:
        json.dump({**tally, "statuses": statuses, "operations": len(reached)}, file)


@schemathesis.hook
def before_call(context, case, kwargs):
    callers = settings["callers"]
    if case.operation.path in settings["keyEndingPaths"]:
        key = settings["ownKey"]
    else:
        key = callers[0] if chosen.random() < 0.8 else chosen.choice(callers)
    headers = {name: value for name, value in (case.headers or {}).items() if name.lower() != "authorization"}
    case.headers = headers if key is None else {**headers, "Authorization": f"Bearer {key}"}


@schemathesis.hook
def after_call(context, case, response):
    statuses[response.status_code] += 1
    reached.add(case.operation.label)


@schemathesis.check
def documented(ctx, response, case):
    status = response.status_code
    is_documented = str(status) in case.operation.responses.status_codes
    if status >= 500 and not (status == 503 and is_documented):
        tally["serverErrors"] += 1
        raise AssertionError(f"serverErrors: {status}")
    # The document lists no methods that a path does not have.
    if case.method.lower() != case.operation.method.lower():
        return
    if not is_documented:
        tally["undocumented"] += 1
        raise AssertionError(f"undocumented: {status}")
    if not response.headers.get("content-type", [""])[0].startswith("application/json"):
        return
    try:
        case.operation.validate_response(response, case=case)
    except BaseException:
        tally["schemaViolations"] += 1
        raise
