import type { Mode } from '@pohf/protocol'
import { inTransaction, readNow } from '../src/platform/db.ts'
import { insertScoredSession, makeViewToken, type Measured, type View } from '../src/sessions/index.ts'
import type { Harness } from './harness.ts'

type Owner = { readonly agentId: `agt_${string}`; readonly mode: Mode }

/** A scored session of this agent, as scoring would leave it, and the token that names it. */
export const makeView = async (
  harness: Harness,
  owner: Owner,
  measured: Partial<Measured> & { sessionId?: string; credentialId?: string } = {},
): Promise<View & { vt: string }> => {
  const sessionId = measured.sessionId ?? harness.ctx.ids.make('ses_')
  const key = { agentId: owner.agentId, mode: owner.mode, sessionId }
  const viewedAt = await inTransaction(harness.ctx, owner.agentId, async (tx) => {
    await insertScoredSession(tx, key, {
      kind: 'view',
      simulated: owner.mode === 'test',
      quality: 0.9,
      verified: true,
      assurance: 'low',
      scoring: 'test',
      components: { focus: 1, probe: 0.75, input: null, gaze: null, device: null, history: null },
      flags: [],
      reasons: [],
      evidence: [{ type: 'answer', alg: 'sha-256', hash: 'e'.repeat(43) }],
      salt: Buffer.alloc(32),
      ...measured,
    })
    return readNow(tx)
  })
  if (measured.credentialId !== undefined)
    await harness.owner.query(
      "update sessions set status = 'sealed', credential_id = $3 where agent_id = $1 and session_id = $2",
      [key.agentId, sessionId, measured.credentialId],
    )
  const view = { ...key, viewedAt }
  return { ...view, vt: makeViewToken(harness.ctx.secrets.derive('vt'), view) }
}
