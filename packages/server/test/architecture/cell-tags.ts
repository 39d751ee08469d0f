import { z } from 'zod'
import type { Endpoint, TokenPrefix } from '@pohf/protocol'
import type { SecretPurpose } from '../../src/platform/ops/secret-purposes.ts'
import type { SourceFile } from './stored-formats.ts'

// A router sends a request to the cell whose tag is in it. These rules find what would come back without a tag.

/** Fields of requests that hold an id, a token or a recovery code, and so the tag of a cell. */
const taggedFields: ReadonlySet<string> = new Set([
  'credential',
  'list',
  'purchaseId',
  'recoveryCode',
  'sessionId',
  'site',
  'token',
  'userId',
  'vt',
  'workflowId',
])

/** Callers of these kinds bring an API key, an operator key, or the cookie of a login or of a session. */
const taggedCallers: ReadonlySet<Endpoint['auth']> = new Set([
  'bearer',
  'console',
  'licensed',
  'member',
  'operator',
  'operatorSession',
  'secret',
])

/** Rows that no cell owns: every cell answers them alike, or makes something new in the cell that got the call. */
const anyCell: Readonly<Record<string, string>> = {
  'agents.register': 'makes a new agent in the cell that gets the call',
  'accounts.passkey-sign-in-options': 'makes a challenge, which the answer brings back with its tag',
  'accounts.sign-in':
    'makes a new link in the cell that gets the call: people sign in at the address of their cell',
  'accounts.sign-out': 'brings the session cookie where there is one to end',
  'accounts.sign-up': 'makes a new account in the cell that gets the call',
  'agents.keys-recover':
    'has a mail address and no agent: the router asks every cell, and each answers alike',
  'discovery.api-mcp': 'a tool that concerns an agent needs its key',
  'discovery.api-mcp-identity': 'describes the caller by its key, or nobody',
  'discovery.manifest': 'describes the service',
  'discovery.mcp': 'a tool that concerns an agent needs its key; there are no MCP sessions',
  'discovery.mcp-identity': 'describes the caller by its key, or nobody',
  'issuers.scim-config': 'a directory has the address of each cell that its people use',
  'issuers.scim-find': 'a directory has the address of each cell that its people use',
  'issuers.scim-create': 'a directory has the address of each cell that its people use',
  'members.sign-out': 'brings the login cookie where there is one to end',
  'operators.sign-in-options': 'makes a challenge, which the answer brings back with its tag',
  'operators.sign-out': 'brings the session cookie where there is one to end',
  'payments.card-webhook': 'each cell has an address of its own at the card provider',
  'credentials.forging-table': 'is a file of the release',
  'signing.jwks': 'is the same set in every cell',
  'vhh.catalogue': 'is published by each cell',
  'vhh.inputs': 'is published by each cell',
  'vhh.composite': 'is published by each cell; a licensed call brings a key',
  'vhh.forwards-order': 'makes a new order in the cell that gets the call',
  'webhooks.catalog': 'is a list of the release',
  'work.order': 'brings a key; a trusted-agent credential instead makes a new order',
  'work.workflows-available': 'lists the work of the cell that gets the call',
}

/** Rows that take any JSON, and the field by which they know their cell. */
const untypedBodies: Readonly<Record<string, string>> = { 'tracking.event': 'vt' }

const fieldsOf = ({ publicId, params, query, body }: Endpoint): string[] => [
  ...[params, query, body].flatMap((part) => (part instanceof z.ZodObject ? Object.keys(part.shape) : [])),
  ...(untypedBodies[publicId] === undefined ? [] : [untypedBodies[publicId]]),
]

const carriesTag = (row: Endpoint): boolean =>
  taggedCallers.has(row.auth) || fieldsOf(row).some((field) => taggedFields.has(field))

/** Rows whose requests carry no tag and that no reason excuses, and reasons for rows that do not need one. */
export const routingFaults = (rows: readonly Endpoint[]): string[] => {
  const excused = new Set(Object.keys(anyCell))
  const faults = rows
    .filter((row) => !carriesTag(row) && !excused.delete(row.publicId))
    .map(({ method, path }) => `${method} ${path} carries no cell tag`)
  return [...faults, ...[...excused].map((publicId) => `${publicId} is excused for nothing`)]
}

/** Where 256 plain random bits are made, and why they never come back alone. */
const randomUses: Readonly<Record<string, string>> = {
  'approvals/decisions/options.ts': 'nonce of a decision, comes back beside the id of its approval',
  'approvals/effectiveness/known-bad-create.ts': 'reference that only approvers see',
  'approvals/requests/resolve.ts': 'salt',
  'credentials/binding/bind.ts': 'salt',
  'credentials/mint/draft-personhood.ts': 'salt',
  'credentials/mint/purchase.ts': 'salt',
  'evidence/devices/challenge.ts': 'nonce, comes back beside an API key or a step-up token',
  'evidence/devices/step-up-options.ts': 'user handle, comes back beside a step-up token',
  'evidence/presence/submit.ts': 'salt',
  'evidence/scoring/sandbox.ts': 'salt',
  'evidence/scoring/score-session.ts': 'salt',
  'evidence/scoring/task-session.ts': 'salt',
  'evidence/wallets/challenge.ts': 'nonce, comes back beside an API key',
  'issuers/check.ts': 'handle of a check, comes back beside a login or a step-up token',
  'issuers/companies/create.ts': 'value of a DNS record, never sent to us',
  'members/membership/enrol.ts': 'ids of a person and a consent, which no request contains',
  'microtasks/next.ts': 'nonce inside a task token',
  'roots/keys.ts': 'key of a day',
  'sessions/create.ts': 'nonce and probes of a session, come back beside its id',
  'sessions/recording/append.ts': 'probes of a session, come back beside its id',
  'webhooks/endpoints/register.ts': 'signing secret, never sent to us',
  'platform/db/versions.ts': 'names a process in a table; nobody sends it',
}

/** Where cookies are made. */
const cookieFiles: ReadonlySet<string> = new Set(['members/rules.ts', 'platform/sign-in/own-page.ts'])

/** Files that make plain random bits without a reason here, set a cookie by themselves, or build a MAC in a token. */
export const tokenFaults = (files: readonly SourceFile[]): string[] => {
  const unused = new Set(Object.keys(randomUses))
  const faults: string[] = []
  for (const { path, text } of files) {
    const file = path.replace(/^server\/src\//, '')
    if (/\bids\.random\(\)/.test(text) && !unused.delete(file))
      faults.push(`${file}: random bits without a tag`)
    if (/\brandom\b[^()]*\}\s*=\s*(?:\w+\.)*ids\b/.test(text)) faults.push(`${file}: random taken out of ids`)
    if (/; Max-Age=/.test(text) && !cookieFiles.has(file)) faults.push(`${file}: a cookie of its own`)
  }
  return [...faults, ...[...unused].map((file) => `${file} makes no random bits`)]
}

/** What each key of the master key makes. A token has its prefix here; the others are no tokens. */
export const madeWith: Readonly<Record<SecretPurpose, TokenPrefix | 'pur_' | 'no token'>> = {
  approval: 'no token',
  'approver-value': 'no token',
  attention: 'no token',
  cursor: 'cur_',
  'console-bearer': 'cns_',
  doctor: 'no token',
  'operator-bearer': 'opb_',
  external: 'no token',
  'external-codes': 'no token',
  'company-secret': 'no token',
  'issuer-state': 'no token',
  fingerprint: 'no token',
  'free-plan': 'no token',
  'human-code': 'no token',
  index: 'no token',
  journal: 'no token',
  mail: 'no token',
  'mail-recipient': 'no token',
  network: 'no token',
  nullifier: 'no token',
  'onchain-wallet': 'no token',
  pairwise: 'no token',
  'payout-account': 'no token',
  purchase: 'pur_',
  'request-fingerprint': 'no token',
  'root-keys': 'no token',
  'session-key': 'no token',
  'step-up': 'stp_',
  'task-pseudonym': 'no token',
  'task-token': 'tkt_',
  'task-visitor': 'tvs_',
  vt: 'vt_',
  webhook: 'no token',
  worker: 'no token',
}
