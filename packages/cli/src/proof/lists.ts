import type { Credential, SessionRecord } from '@pohf/protocol'
import type { ListCommand } from '../command/lists.ts'

export const credentialList: ListCommand<Credential> = {
  name: 'credentials',
  filters: ['kind', 'status', 'assurance', 'since', 'until', 'cursor'],
  head: ['ISSUED', 'CREDENTIAL', 'KIND', 'STATUS', 'ASSURANCE', 'QUALITY', 'SESSION'],
  cells: (row) => [
    row.issuedAt,
    row.credentialId,
    row.kind,
    row.status,
    row.assurance,
    row.quality.toFixed(2),
    row.sessionId,
  ],
  whenEmpty: 'No credential. Mint one with POST /api/agents/verify: docs/guides/verify.md.',
}
export const sessionList: ListCommand<SessionRecord> = {
  name: 'sessions',
  filters: ['kind', 'status', 'verified', 'since', 'until', 'cursor'],
  head: ['STARTED', 'SESSION', 'KIND', 'STATUS', 'VERIFIED', 'QUALITY', 'SECONDS', 'REASONS'],
  cells: (row) => [
    row.startedAt,
    row.sessionId,
    row.kind,
    row.status,
    row.verified === null ? null : String(row.verified),
    row.quality?.toFixed(2) ?? null,
    row.durationMs === null ? null : (row.durationMs / 1_000).toFixed(1),
    row.reasons.join(',') || null,
  ],
  whenEmpty: 'No session. Put the check into a page: docs/guides/check.md.',
}
