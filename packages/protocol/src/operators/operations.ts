import { z } from 'zod'
import { keyPurposes } from '../credentials/operations.ts'
import { operation } from '../platform/endpoint.ts'
import { instant, queryInstant, queryInteger, text } from '../platform/fields.ts'
import { modes } from '../platform/ids.ts'

export const operatorCreate = operation({
  summary: 'Add an operator.',
  showsSecret: true,
  body: z.object({ name: text(100) }),
  response: z.object({ operatorId: z.string(), name: z.string(), operatorKey: z.string() }),
})
export const operatorList = operation({
  summary: 'List the operators.',
  response: z.object({
    operators: z
      .array(
        z.object({
          operatorId: z.string(),
          name: z.string(),
          createdAt: instant(),
          revokedAt: instant().nullable(),
        }),
      )
      .max(1_000),
  }),
})
export const operatorRevoke = operation({
  summary: 'Revoke an operator.',
  errors: ['not_found'],
  params: z.object({ operatorId: text(64) }),
  response: z.object({ operatorId: z.string(), revoked: z.literal(true) }),
})
export const auditList = operation({
  summary: 'Read and check the audit log.',
  query: z.object({
    after: queryInteger(0, 999_999_999).optional(),
    limit: queryInteger(1, 1_000).optional(),
  }),
  response: z.object({
    entries: z.array(
      z.object({
        seq: z.int(),
        at: instant(),
        operatorId: z.string(),
        action: z.string(),
        target: z.string(),
        details: z.record(z.string(), z.unknown()),
        hash: z.string(),
      }),
    ),
    intact: z.boolean(),
  }),
})
export const agentsList = operation({
  summary: 'List the agents.',
  query: z.object({ after: text(64, 0).optional(), limit: queryInteger(1, 200).optional() }),
  response: z.object({
    agents: z.array(
      z.object({
        agentId: z.string(),
        name: z.string(),
        mode: z.string(),
        emailConfirmed: z.boolean(),
        suspended: z.boolean(),
        createdAt: instant(),
      }),
    ),
  }),
})
export const agentSuspend = operation({
  summary: 'Suspend an agent, or lift the suspension.',
  errors: ['not_found'],
  params: z.object({ agentId: text(64) }),
  body: z.object({ suspended: z.boolean(), reason: text(500) }),
  response: z.object({ agentId: z.string(), suspended: z.boolean() }),
})

export const agentConfirm = operation({
  summary: 'Confirm the contact mail address of an agent.',
  errors: ['not_found'],
  params: z.object({ agentId: text(64) }),
  body: z.object({ reason: text(500) }),
  response: z.object({ agentId: z.string(), confirmed: z.literal(true) }),
})

export const ledgerCheck = operation({
  summary: 'Reconcile the ledger now and list the differences.',
  query: z.object({ whole: z.enum(['0', '1']).optional() }),
  response: z.object({
    ok: z.boolean(),
    /** Every line from the first, not only what is new. */
    whole: z.boolean(),
    accounts: z.int(),
    lines: z.int(),
    drift: z
      .array(
        z.object({
          agentId: z.string(),
          mode: z.enum(modes),
          finding: z.string(),
          subject: z.string(),
          detail: z.string(),
          foundAt: instant(),
        }),
      )
      .max(100),
    driftTotal: z.int(),
  }),
})

const keyPurpose = z.enum(keyPurposes)
export const signingKeysList = operation({
  summary: 'List the signing keys and their states.',
  response: z.object({
    keys: z.array(
      z.object({
        kid: z.string(),
        purpose: z.string(),
        state: z.string(),
        createdAt: instant(),
        activeFrom: instant(),
        activeUntil: instant(),
        removeAt: instant(),
      }),
    ),
  }),
})
const hex = z.string().regex(/^0x[0-9a-f]+$/)
export const signingKeysOnchain = operation({
  summary: 'Read the calls that register and revoke signing keys in the registry contract.',
  response: z.object({
    keys: z
      .array(
        z.object({
          kid: z.string(),
          state: z.string(),
          activeFrom: instant(),
          keyId: hex,
          x: hex,
          y: hex,
          notAfter: z.int().meta({
            description: 'Seconds since 1970: the time when the last token of this key has expired.',
          }),
          header: hex,
          addKey: hex.meta({ description: 'The call data of addKey(x, y, notAfter, header).' }),
          revokeKey: hex.meta({ description: 'The call data of revokeKey(keyId).' }),
        }),
      )
      .max(1_000),
  }),
})
export const signingKeysRotate = operation({
  summary: 'Publish the successor of a key. It starts to sign a day later.',
  body: z.object({ purpose: keyPurpose }),
  response: z.object({ purpose: keyPurpose, pendingKid: z.string() }),
})
export const signingKeysRevoke = operation({
  summary: 'Revoke a compromised key at once.',
  errors: ['not_found'],
  params: z.object({ kid: z.string().regex(/^[A-Za-z0-9_-]{43}$/) }),
  body: z.object({ reason: text(500) }),
  response: z.object({ kid: z.string(), revoked: z.literal(true) }),
})
export const signingKeysCheck = operation({
  summary: 'Compare the signer journal with the stored credentials.',
  query: z.object({ from: queryInstant().optional(), to: queryInstant().optional() }),
  response: z.object({
    from: instant(),
    to: instant(),
    ok: z.boolean(),
    /** Journal lines that name a credential, and stored credentials. */
    signed: z.int(),
    stored: z.int(),
    /** Signed and never stored: lost races and aborted calls. None was returned to a caller. */
    neverStored: z.int(),
    differences: z
      .array(
        z.object({
          credentialId: z.string(),
          fault: z.enum(['not_journaled', 'another_payload', 'another_key']),
        }),
      )
      .max(100),
    differencesTotal: z.int(),
  }),
})
export const creditsCheck = operation({
  summary: 'Compare card payments with their ledger postings.',
  response: z.object({
    ok: z.boolean(),
    /** Checked: paid checkouts for credits, and postings of packs. */
    checkouts: z.int(),
    postings: z.int(),
    faults: z
      .array(
        z.object({
          agentId: z.string(),
          checkoutId: z.string(),
          fault: z.enum(['not_posted', 'another_amount', 'not_paid', 'not_taken_back']),
        }),
      )
      .max(100),
    faultsTotal: z.int(),
    /** Events of the card provider that match no checkout, newest first. */
    unmatched: z.array(z.object({ eventId: z.string(), type: z.string(), receivedAt: instant() })).max(100),
  }),
})
