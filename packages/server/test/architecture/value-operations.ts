import { posix } from 'node:path'
import type { SourceFile } from './import-rules.ts'

/** The crash test of an operation: a case of `test/operations/value-crash.test.ts`, or a test elsewhere. */
type CrashTest = 'case' | { readonly file: string; readonly test: string }

/**
 * An operation that moves value, or makes a thing that somebody pays for. `naturalKey` is what a repeat has in common
 * with the first call. The unique index `index` holds it and is written in the transaction that moves the value, so that
 * a repeat after a crash moves nothing.
 */
export type ValueOperation = {
  readonly id: string
  readonly naturalKey: string
  readonly index: string
  readonly crash: CrashTest
}

const row = (id: string, naturalKey: string, index: string, crash: CrashTest = 'case'): ValueOperation => ({
  id,
  naturalKey,
  index,
  crash,
})

const idempotencyKey = 'the Idempotency-Key of the call, stored with the answer'

/** Every operation of the endpoint table that moves value. A row that is missing here fails a test. */
export const valueOperations: readonly ValueOperation[] = [
  row('credits.buy', `test: ${idempotencyKey}; live: the open checkout of the pack`, 'idempotency_keys_pkey'),
  row('credentials.verify', 'the session', 'credential_claims_pkey'),
  row('credentials.siteverify', 'the session', 'credential_claims_pkey', {
    file: 'packages/server/src/credentials/siteverify.test.ts',
    test: 'a call that died after the mint can be repeated with any key and is charged once',
  }),
  row('credentials.verify-personhood', 'the member and the wallet', 'credential_claims_pkey'),
  row('credentials.binding.bind', 'the payment and the human anchors', 'credential_claims_pkey'),
  row('approvals.decisions.decide', 'the approval and the approver', 'credential_claims_pkey', {
    file: 'packages/server/src/approvals/decisions/decide.test.ts',
    test: 'of two decisions of one person at the same time one counts',
  }),
  row('microtasks.complete', 'the token of the task', 'task_token_claims_pkey', {
    file: 'packages/server/src/microtasks/microtasks.test.ts',
    test: 'times at once counts exactly once',
  }),
  row('microtasks.campaigns.create', idempotencyKey, 'idempotency_keys_pkey', {
    file: 'packages/server/src/microtasks/campaigns.test.ts',
    test: 'one Idempotency-Key creates one campaign',
  }),
  row('microtasks.campaigns.update', 'the campaign, which ends once', 'ledger_claims_pkey', {
    file: 'packages/server/src/microtasks/campaigns.test.ts',
    test: 'ended, and the rest is returned',
  }),
  row(
    'partners.points-convert',
    'the key of the call, else user and points for a day',
    'partner_conversions_pkey',
  ),
  row('partners.payout-request', idempotencyKey, 'idempotency_keys_pkey'),
  row('work.orders.create', idempotencyKey, 'idempotency_keys_pkey'),
  row(
    'questions.ask',
    `${idempotencyKey}; live: also the open checkout of the order`,
    'idempotency_keys_pkey',
  ),
  row(
    'questions.pay',
    'the signed authorization; of one question also its one payment',
    'x402_payments_pkey',
    {
      file: 'packages/server/src/questions/pay-attacks.test.ts',
      test: 'the process ends between broadcast and record: the chain decides',
    },
  ),
  row('work.orders.fund', 'the order: its open checkout and its payment', 'checkouts_open'),
  row('work.orders.cancel', 'each unit of the order', 'ledger_claims_pkey'),
  row('work.units.accept', 'the unit', 'ledger_claims_pkey'),
  row('work.units.reject', 'the unit and its state', 'ledger_claims_pkey'),
  row('work.workers.claim', 'the person, who has one claimed unit', 'assignments_of_person_now'),
  row('work.workers.deliver', 'the assignment and its session', 'assignments_of_session'),
  row('work.workers.return', 'the assignment and its state', 'assignments_pkey'),
  row('work.workers.report', 'the assignment and its state', 'assignments_pkey'),
  row('work.workers.appeal', 'the assignment and its state', 'assignments_pkey', {
    file: 'packages/server/src/work/model.test.ts',
    test: 'no unit is paid twice',
  }),
  row('work.workers.payout', idempotencyKey, 'idempotency_keys_pkey'),
  row('purchases.buy', 'the signed authorization: chain, token, payer and nonce', 'x402_payments_pkey', {
    file: 'packages/server/src/purchases/uncertain-settlement.test.ts',
    test: 'the same call again delivers without a second charge',
  }),
  row('payments.card.webhook', 'the checkout, and the revision of its reversals', 'ledger_claims_pkey', {
    file: 'packages/server/src/payments/card/events.test.ts',
    test: 'an event counts once: five times, late, after its refund',
  }),
  row('credits.operator-grant', 'the reference of the grant', 'ledger_claims_pkey'),
  row('partners.limit-grant', 'the reference of the grant', 'ledger_claims_pkey'),
  row('partners.payout-review', 'the payout and its state', 'payout_requests_pkey'),
  row('partners.payout-approve', 'the payout and its state', 'payout_requests_pkey'),
  row('partners.payout-pay', 'the payout', 'ledger_claims_pkey'),
  row('partners.payout-reject', 'the payout', 'ledger_claims_pkey'),
  row('payments.refunds.operator-refund', idempotencyKey, 'idempotency_keys_pkey', {
    file: 'packages/server/src/payments/refunds/operator-refund.test.ts',
    test: 'a repeated partial refund with the same Idempotency-Key refunds once',
  }),
  row('payments.refunds.operator-refund-retry', 'the refund and its state', 'card_refunds_pkey', {
    file: 'packages/server/src/payments/refunds/send-refunds.test.ts',
    test: 'after a lost response nothing is refunded twice',
  }),
  row('purchases.operator-refund', 'the purchase and its state', 'purchases_pkey', {
    file: 'packages/server/src/purchases/stock.test.ts',
    test: 'a refund is due, an operator sends it, and the chain proves it',
  }),
  row('work.operator.offer-decline', 'each unit of the order', 'ledger_claims_pkey'),
  row('work.operator.review-decide', 'each unit of the order', 'ledger_claims_pkey'),
  row('work.operator.appeal-decide', 'the assignment and its state', 'ledger_claims_pkey', {
    file: 'packages/server/src/work/model.test.ts',
    test: 'no unit is paid twice',
  }),
  row('work.operator.produce', idempotencyKey, 'idempotency_keys_pkey'),
]

/** Operations that change something and move no value. Each new row of the endpoint table is in one of the two lists. */
export const operationsWithoutValue: ReadonlySet<string> = new Set([
  'accounts.claim',
  'accounts.sign-in.link',
  'accounts.sign-in.session-end',
  'accounts.sign-in.sign-in',
  'accounts.sign-in.sign-out',
  'accounts.sign-in.sign-up',
  'accounts.passkeys.options',
  'accounts.passkeys.register',
  'accounts.passkeys.remove',
  'accounts.passkeys.sign-in',
  'accounts.passkeys.sign-in-options',
  'accounts.people.change',
  'accounts.people.invite',
  'accounts.people.join',
  'accounts.people.remove',
  'accounts.people.withdraw',
  'accounts.switch',
  'accounts.token',
  'agents.email-confirm',
  'agents.email-resend',
  'agents.keys.create',
  'agents.keys.recover',
  'agents.keys.recover-complete',
  'agents.keys.revoke',
  'agents.keys.rotate',
  'agents.operator-confirm',
  'agents.operator-suspend',
  'agents.profile-update',
  'agents.register',
  'approvals.administration.approvers-invite',
  'approvals.administration.approvers-remove',
  'approvals.administration.groups-remove',
  'approvals.administration.groups-write',
  'approvals.administration.types-retire',
  'approvals.administration.types-write',
  'approvals.decisions.options',
  // What is known to be bad mints nothing.
  'approvals.effectiveness.known-bad-create',
  'approvals.effectiveness.settings-write',
  // One conditional update: a repeat is refused and says that it was consumed.
  'approvals.requests.consume',
  // A repeat is found by its requestId. Decisions are paid, not requests.
  'approvals.requests.create',
  'credentials.status.operator-reinstate',
  'credentials.status.operator-revoke',
  'credentials.status.operator-suspend',
  // The tools of MCP call the operations of the table.
  'discovery.mcp',
  'discovery.mcp-identity',
  'evidence.devices.challenge',
  'evidence.devices.operator-admit',
  'evidence.devices.step-up',
  'evidence.devices.step-up-link',
  'evidence.devices.step-up-options',
  'evidence.devices.verify',
  'evidence.presence.submit',
  'evidence.scoring.test-session',
  'evidence.wallets.challenge',
  'issuers.companies.create',
  'issuers.companies.remove',
  'issuers.companies.update',
  'issuers.companies.verify',
  'issuers.scim.change',
  'issuers.scim.create',
  'issuers.scim.remove',
  'issuers.scim.replace',
  'members.membership.act-once',
  'members.membership.attention',
  'members.membership.create',
  'members.membership.enrol',
  'members.membership.operator-invite',
  'members.membership.withdraw',
  'members.people.codes-renew',
  'members.people.erase',
  'members.people.operator-erase',
  'members.people.passkey-add',
  'members.people.passkey-options',
  'members.people.proof-begin',
  'members.people.proof-finish',
  'members.people.sign-in',
  'members.people.sign-out',
  'microtasks.campaigns.visitor',
  'operators.create',
  'operators.passkeys.options',
  'operators.passkeys.register',
  'operators.passkeys.remove',
  'operators.passkeys.sign-in',
  'operators.passkeys.sign-in-options',
  'operators.revoke',
  'operators.sessions.end',
  'operators.sessions.sign-out',
  'operators.sessions.token',
  'partners.rate-set',
  'questions.quote',
  'roots.operator-budget',
  'roots.operator-reinstate',
  'roots.operator-suspend',
  'sessions.create',
  'sessions.finish',
  'sessions.recording.telemetry',
  'signing.keys-revoke',
  'signing.keys-rotate',
  // It can be repeated: what it charged is recorded with the credential.
  'signing.restore.apply',
  'tracking.conversion',
  'tracking.event',
  'trust.operator-add',
  'trust.operator-remove',
  // A request for an offer: the agreement and the invoice follow outside.
  'vhh.forwards-order',
  'vhh.forwards.operator-move',
  'vhh.operator-close',
  'webhooks.delivery.replay',
  'webhooks.endpoints.recover',
  'webhooks.endpoints.register',
  'webhooks.endpoints.remove',
  'webhooks.endpoints.rotate',
  'webhooks.endpoints.send-test',
  'webhooks.endpoints.trigger',
  'webhooks.endpoints.update',
  'work.operator.offer-accept',
  'work.operator.workflow-retire',
  'work.operator.workflow-write',
])

/** A call that moves value: a posting to the ledger, or a mint. */
const movesValue = (file: SourceFile): boolean =>
  !file.path.startsWith('ledger/') &&
  !file.path.endsWith('store.ts') &&
  /\bpost\(\s*tx\b|\binsertMintedCredentials?\(/.test(file.text)

const runtimeImportsOf = (file: SourceFile): string[] =>
  [
    ...file.text
      .replaceAll(/import type [^;]*? from '[^']+'/g, '')
      .matchAll(/(?:from|import)\s*\(?\s*'(\.[^']+)'/g),
  ].map((match) => posix.join(posix.dirname(file.path), match[1] ?? ''))

/** The operations of these ids whose file imports, through any number of files, a file that moves value. */
export const operationsReachingValue = (
  ids: readonly string[],
  files: readonly SourceFile[],
): readonly string[] => {
  const byPath = new Map(files.map((file) => [file.path, file]))
  const moving = new Set(files.filter(movesValue).map(({ path }) => path))
  const leadsToValue = (start: string): boolean => {
    const seen = new Set<string>()
    const waiting = [start]
    for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
      if (moving.has(path)) return true
      const file = byPath.get(path)
      if (!file || seen.has(path) || path.startsWith('platform/')) continue
      seen.add(path)
      waiting.push(...runtimeImportsOf(file))
    }
    return false
  }
  return ids.filter((id) => leadsToValue(`${id.replaceAll('.', '/')}.ts`))
}
