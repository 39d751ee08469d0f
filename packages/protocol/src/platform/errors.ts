import { conflicts } from './conflicts.ts'
import { asRetryable, entry, type ErrorEntry } from './error-entry.ts'

/** The closed list of error codes, by status. A code is never renamed and never changes its status. */
export const errorCatalogue = {
  invalid_json: entry(
    400,
    'The body is not valid JSON.',
    'The body could not be parsed, is nested deeper than 32 levels, or holds a forbidden key such as __proto__. Where people approve what it says, it may also hold a key twice or a number that JSON.parse rounds.',
    'Send one JSON object, encoded as UTF-8. Send long numbers as strings.',
  ),
  validation_failed: entry(
    400,
    'A field is missing or has the wrong form.',
    'A field of the path, query or body does not fit its schema. Types are never converted: "5" is not 5.',
    'Look at details[]: each entry names the path and what it should be.',
  ),
  missing_payment_anchor: entry(
    400,
    'The binding names no payment.',
    'A binding ties a human to a payment, and no paymentRef was given.',
    'Send paymentRef, or test:true to try the call without a payment.',
  ),
  missing_human_anchor: entry(
    400,
    'The binding names no human.',
    'A binding ties a human to a payment, and no sessionId, memberId or workRef was given.',
    'Send one of sessionId, memberId or workRef.',
  ),
  anchor_mismatch: entry(
    400,
    'The human anchors name different people.',
    'Two of sessionId, memberId and workRef belong to different humans.',
    'Send anchors of one person, or only one anchor.',
  ),
  wallet_signature_invalid: entry(
    400,
    'The wallet signature is not valid.',
    'This wallet did not make this signature over the stored challenge message.',
    'Request a new challenge, sign exactly its message with personal_sign, and send the signature with the nonce.',
  ),
  nonce_expired: entry(
    400,
    'The nonce is unknown or has expired.',
    'A nonce is valid for five minutes, for the agent that requested it.',
    'Request a new challenge.',
  ),
  payment_malformed: entry(
    400,
    'The payment header cannot be read.',
    'The header is not base64 of a JSON payment payload of a known version.',
    'Encode the signed EIP-3009 authorization as x402 version 1 or 2 defines.',
  ),
  approval_refused: entry(
    400,
    'A rule of approvals refuses this.',
    'The action, its approvers, its policy, or the attention and the passkey of a decision break a rule. details[] names the rule.',
    'Look at the code in details[]: docs/guides/approvals.md lists every rule.',
  ),
  passkey_refused: entry(
    400,
    'This passkey could not be verified.',
    'The passkey was made for another site or request, the request expired, the user was not verified, or the passkey is not registered here.',
    'Try again. If it fails again, use another passkey or a recovery code.',
  ),
  proof_refused: entry(
    400,
    'The outside issuer did not confirm this.',
    'The answer of the issuer was refused by a rule: it is old, used, for somebody else, or not of a kind that counts.',
    'Look at details[0].code, which names the rule, and begin a new check with the issuer.',
  ),
  company_refused: entry(
    400,
    'The sign-in of this company cannot be used like this.',
    'The address of the issuer, the domain, or the record that shows that the domain is yours breaks a rule. details[] names the rule.',
    'Look at the code in details[]: docs/guides/company-sign-in.md lists every rule.',
  ),
  sign_in_required: entry(
    401,
    'Please sign in first.',
    'This operation reads or changes the data of one person, and this browser has no valid sign-in.',
    'Sign in with your passkey, or with a recovery code.',
  ),
  card_signature_invalid: entry(
    400,
    'The signature of this message is not valid.',
    'Only the card provider calls this address. The Stripe-Signature header is missing, wrong or older than five minutes.',
    'Check that STRIPE_WEBHOOK_SECRET is the signing secret of this endpoint.',
  ),
  missing_api_key: entry(
    401,
    'An API key is required.',
    'The request has no Authorization header.',
    'Send Authorization: Bearer <your key>. A free test key comes from POST /api/agents/register.',
  ),
  malformed_api_key: entry(
    401,
    'This is not an API key of this service.',
    'The key has the wrong form or its checksum does not match: it may be truncated or mistyped.',
    'Copy the whole key again. It starts with svc_live_ or svc_test_.',
  ),
  invalid_api_key: entry(
    401,
    'This API key is not valid.',
    'The key is unknown here, was revoked, or was replaced by rotation.',
    'Check that the key belongs to this deployment, or recover it through your confirmed mail address.',
  ),
  auth_required: entry(
    401,
    'Ordering needs an API key or a trusted-agent credential.',
    'The request has no API key, no signature with a known tag and no mandates. accepts lists what this deployment takes now.',
    'Send Authorization: Bearer <your key>. Or sign the request as Accept-Signature says, or send mandates over challenge.checkout_jwt.',
  ),
  untrusted_agent: entry(
    401,
    'This agent credential is not trusted here.',
    'No operator of this deployment added its key directory, its network or its issuer as a trust root, or the key is not published there.',
    'Use an API key, or a credential of a trust root of this deployment.',
  ),
  agent_signature_invalid: entry(
    401,
    'The signature of this request was refused.',
    'details[0].code names the rule of RFC 9421 or of this service that it breaks. Nothing was ordered, and the nonce is not used.',
    'Correct what details[0] names and sign the request again, with a new nonce.',
  ),
  mandate_invalid: entry(
    401,
    'The mandates were refused.',
    'details[0].code names what does not hold: the chain of keys, the quote, or a limit that the person set. Nothing was ordered or used.',
    'Request a new quote by the same call without mandates, and close the mandates over its checkout_jwt.',
  ),
  insufficient_credits: entry(
    402,
    'No credits remain.',
    'The free allowance is used up or not granted yet, and the balance is 0.',
    'Confirm your contact mail address: the free plan needs no card. Or buy a pack at the address in buy.',
  ),
  payment_required: entry(
    402,
    'Payment is required.',
    'This is the payment challenge: accepts[] lists how to pay.',
    'Sign an EIP-3009 authorization for one entry and call again with X-PAYMENT and the purchase id.',
  ),
  payment_invalid: entry(
    402,
    'The payment was refused.',
    'The authorization does not verify, or it could not be settled. Nothing was charged.',
    'Read the reason, sign a new authorization and call again.',
  ),
  contract_wallet_refused: entry(
    403,
    'This contract wallet cannot pay here now.',
    'A payment of this wallet failed on the chain in the last 30 days and cost gas. Nothing was charged.',
    'Pay with another wallet. An ordinary account without code is never refused for this reason.',
  ),
  license_required: entry(
    403,
    'This part of the index needs an API key.',
    'Month-to-date, categories, history and single series are the licensed tier.',
    'Send Authorization: Bearer <your key>. The latest final epoch is free at /api/index/vhh.',
  ),
  sign_in_again: entry(
    403,
    'Please sign in again.',
    'People, passkeys, claims, keys, webhooks, settings of an agent and live billing need a sign-in of the last hour, so that a stolen cookie cannot change them later.',
    'Sign in again by mail link or passkey and repeat the call. An API key is not affected.',
  ),
  operator_sign_in_again: entry(
    403,
    'Please sign in with your passkey again.',
    'What lasts or moves money, such as operators, passkeys, grants, refunds, payouts and signing keys, needs a sign-in of the last 15 minutes, so that a stolen cookie cannot do it later.',
    'Sign in with your passkey again and repeat the call. An operator key is not affected.',
  ),
  other_browser: entry(
    403,
    'This link was requested in another browser.',
    'A link to sign in works only in the browser that asked for it, and only the newest link of that browser.',
    'Open the link in that browser, or request a new link in this one.',
  ),
  forbidden: entry(
    403,
    'This key may not do that.',
    'The key lacks the scope of this operation, or the origin is not allowed.',
    'Use a key with the scope named in the message.',
  ),
  orders_suspended: entry(
    403,
    'This buyer may not order work with words of its own.',
    'An operator refused three orders of this buyer within a year: before workers saw them, or because workers reported them.',
    'Ask the operator of this deployment. Orders without items and instructions are not affected.',
  ),
  email_not_confirmed: entry(
    403,
    'The contact mail address of this agent is not confirmed.',
    'This operation needs an agent whose contactEmail is confirmed.',
    'Open the link that was mailed at registration. POST /api/agents/email/resend sends it again, and an operator can confirm the address.',
  ),
  not_found: entry(
    404,
    'Not found.',
    'The path or the id does not exist, or it belongs to another agent or person.',
    'Check the id, and check that your key belongs to the same agent and mode.',
  ),
  method_not_allowed: entry(
    405,
    'This path does not support that method.',
    'The path exists with another method.',
    'See the Allow header.',
  ),
  ...conflicts,
  body_too_large: entry(
    413,
    'The body is too large.',
    'The limit is 256 KB; 64 KB for beacons; 512 KB for telemetry and task completions.',
    'Send a smaller body.',
  ),
  unsupported_media_type: entry(
    415,
    'This media type is not accepted.',
    'Bodies are JSON.',
    'Send Content-Type: application/json.',
  ),
  idempotency_key_reused: entry(
    422,
    'This Idempotency-Key was used for a different request.',
    'The key is bound to the body, and to the API key where the answer shows a secret.',
    'Use a new key for a new request.',
  ),
  image_unavailable: entry(
    422,
    'The image cannot be shown.',
    'The address of the buyer did not answer with a JPEG, PNG, WebP or GIF of at most 8 MiB and 24 million pixels within 10 seconds, it redirects, or it is not a public address.',
    'Look at details[]: address_refused, unreachable, not_found, too_large or not_an_image. Try again, or return the unit.',
  ),
  payment_not_settled: asRetryable(
    entry(
      422,
      'The payment is not settled.',
      'The payment rail has no settled payment with this reference.',
      'Wait until it settles, then bind it.',
    ),
  ),
  rate_limited: asRetryable(
    entry(
      429,
      'Too many requests.',
      'The limit for this time window is used up; see the RateLimit headers. Without a key, the budget of the network is used up.',
      'Wait for Retry-After seconds.',
    ),
  ),
  internal_error: asRetryable(
    entry(
      500,
      'An internal error occurred.',
      'The error was not expected. It is logged under the requestId.',
      'Try again. If the error persists, report the requestId.',
    ),
  ),
  overloaded: asRetryable(
    entry(
      503,
      'The service is temporarily overloaded.',
      'A queue or the database is at its limit or unavailable, the process is too busy for costly calls without a key, or the server is shutting down.',
      'Wait for Retry-After seconds and repeat the call with the same Idempotency-Key: it may have taken effect.',
    ),
  ),
  restore_pending: asRetryable(
    entry(
      503,
      'The service is being restored from a backup.',
      'The database was restored to an earlier state, and an operator must complete the restore. Until then nothing is minted or changed. Stored data, keys and status lists can be read.',
      'Wait for Retry-After seconds and repeat the call with the same Idempotency-Key.',
    ),
  ),
  issuer_unavailable: asRetryable(
    entry(
      503,
      'The outside issuer did not answer.',
      'The sign-in of a company or another outside issuer cannot be reached, or answered with an error of its own.',
      'Wait for Retry-After seconds and begin the check again.',
    ),
  ),
  chain_unreachable: asRetryable(
    entry(
      503,
      'The chain cannot be reached.',
      'No chain is configured here, or its node does not answer in time. Nothing was charged.',
      'Try again later with the same input: a purchase with the same authorization and purchase id, a wallet with the same nonce until it expires, a binding unchanged.',
    ),
  ),
  contract_wallets_paused: asRetryable(
    entry(
      503,
      'Payments by contract wallets are paused.',
      'Failed payments of contract wallets have used up the gas that the operator allows for them in 24 hours. Nothing was charged.',
      'Pay from an ordinary account without code, or try again after Retry-After seconds.',
    ),
  ),
  agent_keys_unreachable: asRetryable(
    entry(
      503,
      'The keys of this agent credential cannot be read.',
      'The key directory of its trust root did not answer in time, or not with a key set. Nothing was ordered.',
      'Repeat the order in a minute, with a new signature or with the same mandates.',
    ),
  ),
  card_provider_unreachable: asRetryable(
    entry(
      503,
      'The card provider cannot be reached.',
      'It did not answer in time or refused the call. Nothing was charged or bound, and an open checkout remains valid.',
      'Repeat the same call in a few seconds: you get the same checkout, or the binding.',
    ),
  ),
} as const satisfies Record<string, ErrorEntry>

export type ErrorCode = keyof typeof errorCatalogue

export const errorCodes = Object.keys(errorCatalogue) as ErrorCode[]
