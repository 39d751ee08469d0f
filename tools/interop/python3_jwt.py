"""python3-jwt. Usage: python3_jwt.py FOLDER (jwks.json, cases.tsv); prints name, accept or refuse, why."""
import json, sys
import jwt

folder = sys.argv[1]
keys = {key["kid"]: jwt.PyJWK(key).key for key in json.load(open(f"{folder}/jwks.json"))["keys"]}
for line in open(f"{folder}/cases.tsv"):
    name, token = line.rstrip("\n").split("\t")
    try:
        jwt.decode(token, keys[jwt.get_unverified_header(token)["kid"]], algorithms=["ES256"])
        print(name, "accept", "", sep="\t")
    except Exception as error:
        print(name, "refuse", type(error).__name__, sep="\t")
