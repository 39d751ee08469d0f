#!/usr/bin/env bash
# Calls the endpoints of the specification with curl. Read it from top to bottom, or run it against a server of yours:
#
#   npm run dev                                           # in one terminal
#   bash docs/quickstart/journey.sh http://127.0.0.1:3000 # in another
#
# It needs curl, and the Node of this checkout, which reads fields of answers, verifies a JWT, signs with a wallet and receives webhooks.
set -euo pipefail
cd "$(dirname "$0")/../.."
PATH="$PWD/node_modules/.bin:$PATH"
BASE="${1:-http://127.0.0.1:3000}"

say() { printf '\n\033[1m%s\033[0m\n' "$1"; }
fail() { printf 'FAILED: %s\n' "$1" >&2; exit 1; }
# Prints what is piped in, and passes it on.
show() { local text; text=$(cat); printf '%s\n' "$text" >&2; printf '%s' "$text"; }
# Takes one field out of the JSON that is piped in.
field() { node -e 'const a=JSON.parse(require("fs").readFileSync(0,"utf8"));const v=process.argv[1].split(".").reduce((x,k)=>x?.[k],a);if(v===undefined){console.error("no "+process.argv[1]+" in "+JSON.stringify(a));process.exit(1)}console.log(typeof v==="object"?JSON.stringify(v):v)' "$1"; }
post() { curl -sS --fail-with-body -X POST "$BASE$1" -H "Authorization: Bearer $KEY" -H 'Content-Type: application/json' -d "$2"; }
get() { curl -sS --fail-with-body "$BASE$1" -H "Authorization: Bearer $KEY"; }

say '1. Register: a free test key'
KEY=$(curl -sS --fail-with-body -X POST "$BASE/api/agents/register" -H 'Content-Type: application/json' \
  -d '{"name":"Journey","contactEmail":"journey@example.com","mode":"test"}' | show | field apiKey)

say '2. Listen for events: a receiver on this machine, registered as a webhook'
RECEIVED=$(mktemp)
node docs/quickstart/receiver.mjs "$RECEIVED" &
RECEIVER=$!
trap 'kill $RECEIVER 2>/dev/null || true; rm -f "$RECEIVED" "$RECEIVED".*' EXIT
until [ -s "$RECEIVED.port" ]; do sleep 0.1; done
SECRET=$(post /api/agents/webhooks "{\"url\":\"http://127.0.0.1:$(cat "$RECEIVED.port")/hook\",\"events\":[\"*\"]}" | show | field signingSecret)

say '3. Verify: with a test key, a session id of your choice is a simulated attentive person'
VERIFIED=$(post /api/agents/verify '{"sessionId":"my-first-session"}' | show)
VT=$(printf '%s' "$VERIFIED" | field vt)

say '4. Anyone checks the credential against the public keys, with any JWT library'
printf '%s' "$VERIFIED" | field pohf_jwt | node docs/quickstart/check.mjs "$BASE"

say '5. Personhood, bound to a wallet that signs our message'
CHALLENGE=$(post /api/agents/wallet/challenge '{}' | show)
SIGNED=$(printf '%s' "$CHALLENGE" | node docs/quickstart/sign.mjs)
post /api/agents/verify-personhood "$SIGNED" | field pohf_jwt | node docs/quickstart/check.mjs "$BASE"

say '6. Presence: a photo hash and a place become a session, and the session a credential'
PHOTO="photo-$(date +%s%N)"
PRESENCE=$(post /api/kinetic/submit "{\"memberId\":\"anna\",\"source\":\"geo_photo\",\"lat\":52.52,\"lng\":13.4,\"photoHash\":\"$PHOTO\"}" | show | field sessionId)
post /api/agents/verify "{\"sessionId\":\"$PRESENCE\"}" | field kind

say '7. A device attests: the nonce is real, and no evidence is refused honestly'
NONCE=$(post /api/agents/attest/challenge '{}' | field nonce)
post /api/agents/attest/verify "{\"method\":\"webauthn\",\"nonce\":\"$NONCE\",\"subjectRef\":\"anna\"}"

say '8. A micro-task on your site: fetched, answered, verified'
SITE=$(get /api/agents/me | field agentId)
TOKEN=$(curl -sS --fail-with-body "$BASE/api/tasks/next?site=$SITE" | show | field task.token)
DONE=$(curl -sS --fail-with-body -X POST "$BASE/api/tasks/complete" -H 'Content-Type: application/json' \
  -d "{\"token\":\"$TOKEN\",\"answer\":\"yes\"}" | show)
TASK_SESSION=$(printf '%s' "$DONE" | field sessionId)
post /api/agents/verify "{\"sessionId\":\"$TASK_SESSION\"}" | field kind

say '9. What follows a verified view: beacons, a conversion, metrics, the funnel'
curl -sS --fail-with-body -X POST "$BASE/api/track/event" -H 'Content-Type: text/plain' -d "{\"vt\":\"$VT\",\"type\":\"landed\",\"path\":\"/\"}"; echo
curl -sS --fail-with-body -X POST "$BASE/api/track/event" -H 'Content-Type: text/plain' -d "{\"vt\":\"$VT\",\"type\":\"engaged\"}"; echo
[ "$(post /api/agents/track/conversion "{\"vt\":\"$VT\",\"name\":\"signup\",\"value\":12.5,\"currency\":\"USD\"}" | show | field attributed)" = true ] || fail 'the conversion was not attributed'
get /api/agents/metrics; echo
get '/api/agents/metrics?format=csv'
get /api/agents/metrics/funnel; echo

say '10. Credits: the balance, and a pack'
get /api/agents/credits/balance; echo
post /api/agents/credits/buy '{"pack":"starter"}'; echo

say '11. Partners: points become Stars, and a payout is queued for review'
post /api/partner/points/convert '{"userRef":"user-1","points":250}'; echo
post /api/partner/payout/request '{"userRef":"user-1","stars":100}'; echo

say '12. Commission work and get the checkout that funds it'
curl -sS --fail-with-body "$BASE/api/workflows/available"; echo
ORDER=$(post /api/agents/order '{"taskType":"wf_test_ok","quantity":2,"maxPriceUsd":5}' | show | field orderId)
post /api/agents/order/fund "{\"orderId\":\"$ORDER\"}"; echo

say '13. Bind a verified human to a payment'
post /api/agents/bind-transaction '{"paymentRef":"card:stripe:pi_journey0001","sessionId":"my-first-session"}' | field binding

say '14. The index, and prepaid capacity'
curl -sS --fail-with-body "$BASE/api/index"; echo
get '/api/index/vhh?history=1'; echo
get /api/index/VHH_writing; echo
curl -sS --fail-with-body -X POST "$BASE/api/forwards/order" -H 'Content-Type: application/json' \
  -d '{"name":"Ada","company":"Example","email":"ada@example.com","hours":40,"month":"2030-01"}'; echo

say '15. For machines: the manifest, the tools, and a call'
curl -sS --fail-with-body "$BASE/api/agents/discovery"; echo
rpc() { curl -sS --fail-with-body -X POST "$BASE/mcp" -H 'Content-Type: application/json' -d "$1"; echo; }
rpc '{"jsonrpc":"2.0","id":1,"method":"tools/list"}'
rpc '{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"list_verified_work","arguments":{}}}'

say '16. Autonomous purchase: the payment challenge'
STATUS=$(curl -sS -o "$RECEIVED.402" -w '%{http_code}' "$BASE/api/agent/tasks/wf_test_ok/buy")
cat "$RECEIVED.402"
[ "$STATUS" = 402 ] || fail "buy answered $STATUS"

say '17. The webhook arrived, and its signature fits'
for _ in $(seq 100); do grep -q personhood.wallet_bound "$RECEIVED" && break; sleep 0.2; done
node docs/quickstart/check-webhook.mjs "$RECEIVED" "$SECRET"

say 'Done: every call answered.'
