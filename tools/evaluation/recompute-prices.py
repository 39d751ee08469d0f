"""Computes the prices of a table again, from its published inputs alone and in exact fractions.

It shares no code with the program whose figures it checks. Standard input: {"inputs": ..., "combinations": [{"kind", "roots"}]}.
Standard output: {"entries": [...], "combinations": [...]}. The formulas are in docs/reference/forging.md.
"""

import json
import sys
from fractions import Fraction
from itertools import product

THOUSAND = 1000
CLASSES = (("F4", 1000), ("F3", 100), ("F2", 10), ("F1", 1))
NO_LIMIT = None


def script_cost(inputs, family):
    fixed = sum(
        Fraction(inputs["items"][part["item"]]) * part["quantity"] / part["lifeActs"] for part in family["fixed"]
    )
    network = min(
        each["usdPerAddressDay"] / Fraction(inputs["addressActsPerDay"])
        + Fraction(each["usdPerGigabyte"]) * family["bytes"] / 10**9
        for each in inputs["networks"]
    )
    machine = Fraction(family["cpuSeconds"]) * inputs["corePerHour"] / 3600
    person = Fraction(family["humanSeconds"]) * inputs["wagePerHour"] / 3600
    return (fixed + network + machine + person) / Fraction(family["successRate"])


def attention(inputs, kind):
    prices = [Fraction(inputs["humanSeconds"][kind]) * inputs["wagePerHour"] / 3600]
    for family in inputs["families"]:
        if family["kind"] == kind and family["root"] == "network" and family["successRate"] > 0:
            prices.append(script_cost(inputs, family))
    return min(prices)


def least_of(roots, cost_and_search):
    """The dearest choice of one root in each class, each by its cheapest combination of ways."""
    with_ways = [root for root in roots if root["ways"]]
    by_class = {}
    for root in with_ways:
        by_class.setdefault(root["class"], []).append(root)
    dearest = Fraction(0)
    for chosen in product(*by_class.values()):
        cheapest = None
        for ways in product(*(root["ways"] for root in chosen)):
            parts = [cost_and_search(root, way) for root, way in zip(chosen, ways)]
            searches = [search for _, search in parts if search is not None]
            total = sum(cost for cost, _ in parts) + (max(searches) if searches else 0)
            cheapest = total if cheapest is None or total < cheapest else cheapest
        if cheapest is not None and cheapest > dearest:
            dearest = cheapest
    return dearest


def thousand_acts(inputs, kind, roots, limit):
    def cost_and_search(root, way):
        per_day = Fraction(root["actsPerDay"])
        if root["counted"] and limit is not NO_LIMIT:
            per_day = min(per_day, Fraction(limit) * way["subjects"])
        acts = per_day * way["lifeDays"]
        hired = way["by"] == "hire"
        cost = way["usd"] / acts
        if root["confirmed"]:
            wage = inputs["ownerWagePerHour"] if hired else inputs["wagePerHour"]
            cost += Fraction(inputs["confirmSeconds"]) * wage / 3600
        return cost, inputs["searchUsd"] / acts if hired else None

    return THOUSAND * (attention(inputs, kind) + least_of(roots, cost_and_search))


def thousand_humans(inputs, kind, roots):
    def cost_and_search(_root, way):
        subjects = Fraction(way["subjects"])
        return way["usd"] / subjects, inputs["searchUsd"] / subjects if way["by"] == "hire" else None

    uncounted = [root for root in roots if not root["counted"]]
    counted = [root for root in roots if root["counted"]]
    return thousand_acts(inputs, kind, uncounted, NO_LIMIT) + THOUSAND * least_of(counted, cost_and_search)


def price(usd):
    exponent = 0
    while Fraction(10) ** exponent > usd:
        exponent -= 1
    while Fraction(10) ** (exponent + 1) <= usd:
        exponent += 1
    rounded = Fraction(10) ** exponent
    name = next((name for name, bound in CLASSES if rounded >= bound), "F0")
    return {"usd": float(f"1e{exponent}"), "class": name}


def prices(inputs, kind, names):
    roots = [inputs["roots"][name] for name in names]
    open_roots = [root for root in roots if root["level"] != "named"]
    if not open_roots:
        return dict.fromkeys(("actsB", "acts10", "acts1", "humans"), "named")
    return {
        "actsB": price(thousand_acts(inputs, kind, open_roots, NO_LIMIT)),
        "acts10": price(thousand_acts(inputs, kind, open_roots, 10)),
        "acts1": price(thousand_acts(inputs, kind, open_roots, 1)),
        "humans": price(thousand_humans(inputs, kind, open_roots)),
    }


def main():
    given = json.load(sys.stdin, parse_float=Fraction)
    inputs = given["inputs"]
    entries = [
        {"kind": kind, "root": name, "level": root["level"], **prices(inputs, kind, [name])}
        for kind in inputs["humanSeconds"]
        for name, root in inputs["roots"].items()
    ]
    combinations = [
        {**each, **prices(inputs, each["kind"], each["roots"])} for each in given["combinations"]
    ]
    json.dump({"entries": entries, "combinations": combinations}, sys.stdout)


main()
