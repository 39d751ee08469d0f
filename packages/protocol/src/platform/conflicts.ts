import { asRetryable, entry, type ErrorEntry } from './error-entry.ts'

/** The error codes with status 409. */
export const conflicts = {
  out_of_stock: asRetryable(
    entry(
      409,
      'This task is out of stock.',
      'No verified, unsold unit of this workflow is available.',
      'Choose a task from /api/workflows/available, or commission the work with POST /api/agents/order.',
    ),
  ),
  nonce_used: entry(409, 'This nonce was used before.', 'A nonce works once.', 'Request a new challenge.'),
  scim_conflict: entry(
    409,
    'The directory names a person twice.',
    'A person with this number of an account is known already, or the number is that of another person.',
    'Find the person with GET …/Users?filter=externalId eq "…", and change that one.',
  ),
  photo_hash_used: entry(
    409,
    'This photo was submitted before.',
    'Each photo hash counts once.',
    'Take a new photo.',
  ),
  task_token_used: entry(
    409,
    'This task was completed before.',
    'A task token works once.',
    'Fetch a new task from /api/tasks/next.',
  ),
  campaign_limit_reached: entry(
    409,
    'This agent has too many campaigns that have not ended.',
    'An agent has at most 20 campaigns that are active or paused.',
    'End a campaign with PATCH /api/agents/campaigns/{campaignId}.',
  ),
  campaign_ended: entry(
    409,
    'This campaign has ended.',
    'The end of a campaign is final, and its budget was returned.',
    'Create a new campaign with POST /api/agents/campaigns.',
  ),
  session_not_ready: asRetryable(
    entry(
      409,
      'The session is not scored yet.',
      'The session is still open, or it is being scored.',
      'Finish the session and try again in a second.',
    ),
  ),
  index_conflict: entry(
    409,
    'Another revision of this month was published at the same time.',
    'A month has one newest revision, and another operator restated it first.',
    'Read the new revision with pohf index explain, and restate again only if it is still needed.',
  ),
  forward_conflict: entry(
    409,
    'This request for capacity cannot go to that state.',
    'A request goes from received to quoted, countersigned, invoiced and closed; it can be closed from any state.',
    'Read its state with pohf forwards list, and move it one step.',
  ),
  network_busy: asRetryable(
    entry(
      409,
      'The network of this person has no credentials left for now.',
      'Every network, and every agent within it, gets a limited number of live credentials in a clock hour and a UTC day. Nothing was charged.',
      'Call again after Retry-After. The session stays valid: the person need not repeat anything. Or let the person step up by one of the ways in details[].stepUp.',
    ),
  ),
  human_limit_reached: entry(
    409,
    'This human has had as many acts of today as you allow.',
    'Your policy limits the credentials of this kind for each human and UTC day (maxActsPerHumanPerDay), and a root of this act has reached the limit. Nothing was charged.',
    'Try again after Retry-After, or raise the limit with PATCH /api/agents/me.',
  ),
  root_suspended: entry(
    409,
    'The device, app or issuer behind this act is suspended.',
    'An operator has suspended the model, app or issuer that this act rests on. Nothing was charged.',
    'Let the person use another device or proof, or go without it.',
  ),
  session_rejected: entry(
    409,
    'The session does not show an attentive human.',
    'The score is too low, a fraud flag was raised, or the credential would not reach the floor of your policy (below_policy); details[] lists the reasons. Nothing was charged.',
    'Let the person try again in a new session. With below_policy, let the person step up by one of the ways in details[].stepUp and call again, or lower your policy; where the list is empty, only a new session can reach the floor.',
  ),
  below_policy: entry(
    409,
    'The credential would not reach the floor of your policy.',
    'Its assurance or its forging class is below the policy of your profile or of this call, or its price is unknown; details[] says which. Nothing was charged.',
    'Let the person step up by one of the ways in details[].stepUp, or lower your policy.',
  ),
  telemetry_refused: entry(
    409,
    'This chunk does not continue the session.',
    'Its signature, sequence number, receipt or clock does not match the chunk before it, or the session comes from more than eight addresses. details[] names the rule.',
    'Send chunks in order, each signed by the session key and each with the receipt of the one before it. Where the rule is addresses, begin a new session.',
  ),
  session_expired: entry(
    409,
    'The session expired before it was finished.',
    'A session expires when it is not finished in time, and gets its first live credential within 24 hours of its end. Presence rests on a session that ended in the last 15 minutes.',
    'Start a new session.',
  ),
  member_not_enrolled: entry(
    409,
    'This member cannot be certified.',
    'The member has not finished enrolment, is a duplicate, or is banned; details[] holds the reason.',
    'Ask the person to finish enrolment at the enrolUrl.',
  ),
  credential_lost: entry(
    409,
    'The credential of this act is not stored any more.',
    'It was issued, and the database was later restored to a time before that. Nothing was spent. The act gets no second credential while the first is valid.',
    'Use the credential that you received. If you no longer have it, ask the operator of the service.',
  ),
  credential_revoked: entry(
    409,
    'The credential for this act was revoked.',
    'It was minted and later revoked; the same act is not minted again.',
    'Start a new session with the person.',
  ),
  payment_ref_bound: entry(
    409,
    'This payment is bound to another human.',
    'A live payment reference binds one human per agent.',
    'Use the reference of the right payment.',
  ),
  contract_wallet_busy: asRetryable(
    entry(
      409,
      'Another payment of this contract wallet is pending.',
      'A contract wallet has one pending payment at a time. Nothing was charged.',
      'Wait until the other purchase ends, then send the same payment again.',
    ),
  ),
  purchase_conflict: entry(
    409,
    'The payment belongs to another purchase.',
    'The same authorization or purchase id was used for something else.',
    'Request a new challenge and sign a new authorization.',
  ),
  idempotency_in_progress: asRetryable(
    entry(
      409,
      'The first call with this Idempotency-Key is still running.',
      'Two calls with the same key arrived at the same time.',
      'Wait a second and repeat the call.',
    ),
  ),
  insufficient_stars: entry(
    409,
    'The balance does not cover this payout.',
    'Fewer Stars are available than you requested.',
    'Request at most the available balance.',
  ),
  payout_account_taken: entry(
    409,
    'This account belongs to another person here.',
    'An account is used by one person. Another person named this one first. Operators see the attempt.',
    'Name an account of your own. If this one is yours, ask the operator of this deployment.',
  ),
  payout_account_pending: entry(
    409,
    'Another new account of yours waits for its first payout.',
    'A person has one account at a time to which nothing was paid yet.',
    'Name the same account as before, or wait until that payout is paid or rejected.',
  ),
  payout_account_mismatch: entry(
    409,
    'This is not the account that the payout names.',
    'The payout of a worker is recorded as paid only for the account that the worker named, and a payout of a partner names none.',
    'Send the account that you paid, or reject the payout if you paid nothing.',
  ),
  conversion_limit_reached: entry(
    409,
    'The conversion limit of this partner does not cover these points.',
    'A live partner converts points within the limit that an operator granted. Fewer Stars of it are left.',
    'Convert fewer points, or ask the operator of this deployment for a higher limit.',
  ),
  order_conflict: entry(
    409,
    'The present state of the order or unit does not allow this.',
    'Another call changed it first, a deadline passed, or this step is not possible from its present state.',
    'Read the order or unit again and check its status.',
  ),
  approval_conflict: entry(
    409,
    'The present state of the approval does not allow this.',
    'It was decided, consumed or has expired, waits for its delay, or another request has this requestId.',
    'Read the approval and check its status. A changed action is a new request.',
  ),
  price_above_max: entry(
    409,
    'The price is above maxPriceUsd.',
    'The whole order costs more than the maximum that you set.',
    'Raise maxPriceUsd or order less.',
  ),
  mandate_used: entry(
    409,
    'These mandates cannot be used for this order any more.',
    'A quote and a closed mandate work once, an open mandate once or as often as its recurrence and budget allow.',
    'Request a new quote. Where the open mandate is used up, ask the person for a new one.',
  ),
  other_account: entry(
    409,
    'The session is in another account now.',
    'Another page of this browser changed the account, and the call named the one before. Nothing was changed.',
    'Read GET /console/account and show that account, or change back with POST /console/switch.',
  ),
  account_in_debt: entry(
    409,
    'The account owes credits.',
    'A refund or dispute reversed credits that were already spent.',
    'Buy a pack: it pays the debt first.',
  ),
} as const satisfies Record<string, ErrorEntry>
