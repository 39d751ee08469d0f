"""python3-jwcrypto. Usage: python3_jwcrypto.py FOLDER (jwks.json, cases.tsv)."""
import sys
from jwcrypto import jwk, jwt

folder = sys.argv[1]
keys = jwk.JWKSet.from_json(open(f"{folder}/jwks.json").read())
for line in open(f"{folder}/cases.tsv"):
    name, token = line.rstrip("\n").split("\t")
    try:
        jwt.JWT(jwt=token, key=keys, algs=["ES256"])
        print(name, "accept", "", sep="\t")
    except Exception as error:
        print(name, "refuse", type(error).__name__, sep="\t")
