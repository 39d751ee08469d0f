import { ApiResponse, type Agent } from '../../platform/http/call.ts'
import type { Ctx } from '../../platform/ops/context.ts'
import { inTransaction } from '../../platform/db/db.ts'
import { Refusal } from '../../platform/http/errors.ts'
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
  agent: Agent,
  { profile = 'human', kind = 'view', challenge }: Input,
) => {
  if (agent.mode === 'live')
    throw new Refusal('forbidden', {
      message: 'Simulated sessions require a test key. Use a svc_test_ key.',
    })
  const sessionId = ctx.ids.make('ses_')
  await inTransaction(ctx, agent.agentId, (tx) =>
    insertSimulatedSession(
      tx,
      { agentId: agent.agentId, mode: agent.mode, sessionId },
      { profile, kind, challenge },
    ),
  )
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
