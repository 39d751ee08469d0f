import type { Mode } from '@pohf/protocol'
import type { Verdict } from '@pohf/scorer'
import type { Tx } from '../../platform/db/db.ts'
import { publishAll, type Publication } from '../../platform/queue/outbox.ts'

export type ScoredSessionKey = { readonly agentId: string; readonly mode: Mode; readonly sessionId: string }
type ScoredSession = { readonly key: ScoredSessionKey; readonly verdict: Verdict }

const publicationOf = ({
  key: { agentId, mode, sessionId },
  verdict: { quality, verified, reasons },
}: ScoredSession): Publication<'session.scored' | 'session.rejected'> => {
  const subject = { agentId, mode, subject: sessionId }
  return verified
    ? { ...subject, type: 'session.scored', data: { sessionId, quality } }
    : { ...subject, type: 'session.rejected', data: { sessionId, quality, reasons: [...reasons] } }
}

/** Publishes the events with the scores of sessions. */
export const publishScores = async (tx: Tx, scored: readonly ScoredSession[]): Promise<void> => {
  await publishAll(tx, scored.map(publicationOf))
}
