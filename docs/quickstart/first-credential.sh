#!/usr/bin/env bash
# Gets a test credential from the service of `npm run dev` and verifies it. Run it in the folder of the clone.
set -euo pipefail
source .pohf/dev.env
jwt=$(curl --silent --show-error --fail-with-body "$POHF_URL/api/agents/verify" \
  -H "Authorization: Bearer $POHF_KEY" -H 'Content-Type: application/json' \
  -d '{"sessionId": "my-first-session"}' | jq -r .pohf_jwt)
echo "$jwt"
npx pohf verify "$jwt" --issuer "$POHF_URL" --kinds view --min-assurance low --min-quality 0.6 --allow-test
