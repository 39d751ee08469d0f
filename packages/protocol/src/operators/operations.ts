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
    operatorId: text(64).optional(),
    action: text(100).optional(),
    target: text(300).optional(),
    order: z.enum(['oldest', 'newest']).optional().meta({ description: 'Default: oldest.' }),
    after: queryInteger(0, 999_999_999)
      .optional()
      .meta({ description: 'The seq of an entry: nextCursor of the page before.' }),
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
        prevHash: z.string(),
        hash: z.string(),
      }),
    ),
    intact: z.boolean().meta({
      description:
        'Whether the entries that were read, also those that a filter dropped, are unchanged and complete.',
    }),
    nextCursor: z.int().nullable().meta({
      description:
        'Send it as `after`. A page with a filter reads at most 1,000 entries, so it may be empty and have one.',
    }),
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
        signer: z.string(),
        admitted: z.boolean().meta({ description: 'Whether the key manifest holds it.' }),
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
  duringRestore: true,
  body: z.object({ purpose: keyPurpose }),
  response: z.object({ purpose: keyPurpose, pendingKid: z.string() }),
})
export const signingKeysRevoke = operation({
  summary: 'Revoke a compromised key at once.',
  duringRestore: true,
  errors: ['not_found'],
  params: z.object({ kid: z.string().regex(/^[A-Za-z0-9_-]{43}$/) }),
  body: z.object({ reason: text(500) }),
  response: z.object({ kid: z.string(), revoked: z.literal(true) }),
})
export const restorePlan = operation({
  summary: 'Compare the database with the journals of the signers and list what a restore must repair.',
  response: z.object({
    pending: z.boolean(),
    database: z.object({ system: z.string(), timeline: z.int() }),
    findings: z.array(
      z.object({
        part: z.enum(['database', 'journal']),
        signer: z.string(),
        missingBatches: z.int(),
        seenBatch: z.int(),
        seenPosition: z.int(),
      }),
    ),
    signers: z.array(
      z.object({
        signer: z.string(),
        from: instant(),
        acknowledged: z.int().meta({ description: 'Credentials that were issued and are not stored.' }),
        unacknowledged: z
          .int()
          .meta({ description: 'Credentials that were signed and perhaps never issued. They are revoked.' }),
        unplaced: z
          .int()
          .meta({ description: 'Credentials in journal lines of an earlier version, which has no index.' }),
        credentialIds: z.array(z.string()).max(100),
        creditsTotal: z.int(),
        credits: z.array(z.object({ agentId: z.string(), credits: z.int() })).max(100),
      }),
    ),
    silentSigners: z
      .array(z.string())
      .meta({ description: 'Signers that do not answer: what they signed in the lost span is not listed.' }),
    lists: z.array(z.object({ list: z.string(), version: z.int(), differences: z.int() })),
  }),
})
const signedToken = z.string().min(1).max(2_100_000)
export const restoreApply = operation({
  summary: 'Complete a restore: repair what the plan lists, and let minting continue.',
  duringRestore: true,
  bodyLimitBytes: 16_777_216,
  body: z.object({
    published: z
      .array(signedToken)
      .max(64)
      .optional()
      .meta({ description: 'Status lists as they were published, where the journal is lost too.' }),
    credentials: z
      .array(z.string().min(1).max(16_384))
      .max(1_000)
      .optional()
      .meta({ description: 'Credentials that holders present, so that they can be revoked.' }),
    without: z
      .array(z.string().regex(/^sgn_[0-9a-f]{16}$/))
      .max(64)
      .optional()
      .meta({ description: 'Signers that do not answer and whose journals are given up.' }),
  }),
  response: z.object({
    applied: z.boolean(),
    pending: z.boolean(),
    epoch: z.int().optional(),
    journalLost: z.boolean().optional(),
    closedBlocks: z.int().optional(),
    recorded: z.int().optional(),
    charged: z.int().optional(),
    uncharged: z.int().optional(),
    revoked: z.int().optional(),
    unplaced: z.int().optional(),
    lists: z.array(z.object({ list: z.string(), publishedVersion: z.int(), changed: z.int() })).optional(),
    reconciled: z.record(z.string(), z.int()).optional(),
    voided: z.record(z.string(), z.int()).optional(),
  }),
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
