import { ApiResponse, type Agent } from '../../platform/http/call.ts'
import type { Ctx } from '../../platform/ops/context.ts'
import { inTransaction } from '../../platform/db/db.ts'
import { Refusal } from '../../platform/http/errors.ts'
import type { FindRecordingOwner } from '../../sessions/index.ts'
import { insertSimulatedSession } from './sandbox.ts'
import { scoreProfile, type Profile } from './simulated.ts'

type Input = {
  readonly profile?: Profile | undefined
  readonly kind?: 'view' | 'work' | undefined
  readonly challenge?: string | undefined
}

/** Creates a simulated session, so that developers can build against each outcome. */
export const testSession = async (
  ctx: Ctx,
  findRecordingOwner: FindRecordingOwner,
  agent: Agent,
  { profile = 'human', kind = 'view', challenge }: Input,
) => {
  if (agent.mode === 'live')
    throw new Refusal('forbidden', {
      message: 'Simulated sessions require a test key. Use a svc_test_ key.',
    })
  const sessionId = ctx.ids.make('ses_')
  await inTransaction(ctx, kind === 'work' ? 'system' : agent.agentId, async (tx) => {
    // As for a recorded session: that of a known-answer item belongs to the platform agent.
    const agentId =
      kind === 'work' && challenge !== undefined
        ? await findRecordingOwner(tx, { site: agent.agentId, challenge })
        : agent.agentId
    await insertSimulatedSession(tx, { agentId, mode: agent.mode, sessionId }, { profile, kind, challenge })
  })
  const { quality, verified, assurance, scoring, flags, reasons, components } = scoreProfile(profile)
  const verdict = {
    quality,
    verified,
    assurance,
    scoring,
    flags: [...flags],
    reasons: [...reasons],
    components,
  }
  return new ApiResponse(
    { sessionId, profile, status: 'scored', ...verdict },
    { headers: { 'x-sandbox': 'simulated' } },
  )
}
