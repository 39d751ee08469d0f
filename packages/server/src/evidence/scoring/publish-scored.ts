import type { Mode } from '@pohf/protocol'
import type { Verdict } from '@pohf/scorer'
import type { Tx } from '../../platform/db/db.ts'
import { publish } from '../../platform/queue/outbox.ts'

export type ScoredSessionKey = { readonly agentId: string; readonly mode: Mode; readonly sessionId: string }

/** Publishes the event with a session's score. */
export const publishSessionScore = async (
  tx: Tx,
  key: ScoredSessionKey,
  { quality, verified, reasons }: Verdict,
): Promise<void> => {
  const subject = { agentId: key.agentId, mode: key.mode, subject: key.sessionId }
  if (verified)
    await publish(tx, { ...subject, type: 'session.scored', data: { sessionId: key.sessionId, quality } })
  else
    await publish(tx, {
      ...subject,
      type: 'session.rejected',
      data: { sessionId: key.sessionId, quality, reasons: [...reasons] },
    })
}
