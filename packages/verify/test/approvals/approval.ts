import { approvalView, envelopeHash, viewHash, type ActionType, type Envelope } from '../../src/approvals.ts'
import type { Issuer } from '../issuer.ts'

/** An approval of a test: an envelope as the service makes them, and one credential for each approver. */
export const definition: ActionType = {
  type: 'invoice.pay',
  version: 3,
  title: 'Pay an invoice',
  labels: { '/amount': 'Amount', '/to': 'Recipient' },
  critical: ['/amount', '/to'],
}
export const approvers = ['apv_anna', 'apv_ben'] as const
export const inHours = (hours: number): string => new Date(Date.now() + hours * 3_600_000).toISOString()

export const makeEnvelope = (more: Partial<Envelope> = {}): Envelope => ({
  audience: 'agt_pays',
  requestId: 'inv-2026-118',
  salt: 'c2FsdHNhbHRzYWx0c2FsdA',
  type: 'invoice.pay',
  typeVersion: 3,
  action: { amount: '120.00', to: 'DE02120300000000202051', note: { lines: ['one', 'two'], count: 2 } },
  approvers,
  policy: { quorum: 2, minSeconds: 5, passkey: 'any', delaySeconds: 0 },
  decideBy: inHours(1),
  consumeBy: inHours(2),
  words: { title: '', summary: '' },
  ...more,
})

export type MintedPart = {
  readonly approval?: Record<string, unknown>
  readonly approver?: Record<string, unknown>
  readonly more?: Record<string, unknown>
  readonly mode?: 'live' | 'test'
}

type Shown = { readonly envelope: Envelope; readonly definition: ActionType | undefined }

/** The credential of one approver of an envelope. */
export const mintApproval = async (
  issuer: Issuer,
  { envelope, definition: shown }: Shown,
  ref: string,
  part: MintedPart = {},
): Promise<string> => {
  const claims = {
    sub: `psu_of_${ref}`,
    approval: {
      id: 'apl_1',
      type: envelope.type,
      envelope_hash: await envelopeHash(envelope),
      view_hash: await viewHash(approvalView(envelope, shown)),
      view: 'approval-1',
      decision: 'approve',
      decided_at: Math.floor(Date.now() / 1_000) - 41,
      consume_by: Math.floor(Date.parse(envelope.consumeBy) / 1_000),
      ...part.approval,
    },
    approver: {
      ref,
      user_verification: true,
      key_age: 86_400,
      key: 'synced',
      enrolled: { by: 'usr_owner', way: 'mail_link', at: 1_760_000_000 },
      decided: 1,
      needed: envelope.policy.quorum,
      ...part.approver,
    },
    ...part.more,
  }
  return part.mode === 'test' ? issuer.mintTest('approval', claims) : issuer.mint('approval', claims)
}
