import { createHash } from 'node:crypto'
import { deviceScores, historyScore, evaluatePresence, rulesVersion, type FlagName } from '@pohf/scorer'
import type { Agent } from '../../platform/http/call.ts'
import type { Ctx } from '../../platform/ops/context.ts'
import { inTransaction, readNow, type Tx } from '../../platform/db/db.ts'
import { Refusal } from '../../platform/http/errors.ts'
import { resolveMember } from '../../members/index.ts'
import { insertScoredSession } from '../../sessions/index.ts'
import { evidenceItem } from '../proof.ts'
import { publishSessionScore } from '../scoring/publish-scored.ts'
import { assuranceOf, isHardware, isPlausibleMove, canonicalPhotoHash } from '../rules.ts'
import { findDevice, findPresence, insertPhotoHash, insertPresence, updatePresence } from '../store.ts'

type Submission = {
  readonly memberId: string
  readonly source: 'receipt' | 'geo_photo'
  readonly lat?: number | undefined
  readonly lng?: number | undefined
  readonly photoHash?: string | undefined
}

/** Compares the place with the member's last one. A leap is flagged, and never becomes the place to measure from. */
const geoFlags = async (tx: Tx, agent: Agent, input: Submission): Promise<FlagName[]> => {
  if (input.lat === undefined || input.lng === undefined) return []
  const key = { agentId: agent.agentId, mode: agent.mode, memberRef: input.memberId }
  const here = { lat: input.lat, lng: input.lng, at: await readNow(tx) }
  if (await insertPresence(tx, key, here)) return []
  const last = await findPresence(tx, key)
  if (last && !isPlausibleMove(last, here)) return ['geo_mismatch']
  await updatePresence(tx, key, here)
  return []
}

/** Scores a claim of physical presence into a session. Live, it counts only if somebody vouches for the person. */
export const kineticSubmit = async (ctx: Ctx, agent: Agent, input: Submission) =>
  inTransaction(ctx, agent.agentId, async (tx) => {
    const sessionId = ctx.ids.make('ses_')
    if (input.photoHash !== undefined) {
      const hash = createHash('sha256').update(canonicalPhotoHash(input.photoHash)).digest()
      if (!(await insertPhotoHash(tx, { agentId: agent.agentId, mode: agent.mode, hash, sessionId })))
        throw new Refusal('photo_hash_used')
    }
    const member = await resolveMember(tx, agent, input.memberId)
    const attestedDevice = await findDevice(tx, {
      agentId: agent.agentId,
      mode: agent.mode,
      subjects: [input.memberId],
    })
    const enrolled = member?.status === 'enrolled' ? member : undefined
    const real = enrolled?.simulated === false ? enrolled : undefined
    const attested = isHardware(attestedDevice?.assurance)
    const vouched = enrolled !== undefined || attested
    const history = real?.history ?? { good: 0, bad: 0 }
    const assurance = assuranceOf({
      member: real !== undefined,
      device: attestedDevice?.assurance,
      history,
      external: real?.uniqueness === 'external',
    })
    const flags = await geoFlags(tx, agent, input)
    const device = attested ? deviceScores.attested : enrolled ? deviceScores.passkey : deviceScores.none
    const components = {
      focus: null,
      probe: null,
      input: null,
      gaze: null,
      device,
      history: historyScore(history.good, history.bad),
    }
    const simulated = agent.mode === 'test'
    const hasPlace = input.lat !== undefined && input.lng !== undefined
    const evidenced = simulated || hasPlace || input.photoHash !== undefined
    const verdict = evaluatePresence({ components, flags, vouched, attested, evidenced })
    const salt = Buffer.from(ctx.ids.token(), 'base64url')
    await insertScoredSession(
      tx,
      { agentId: agent.agentId, mode: agent.mode, sessionId },
      {
        kind: 'presence',
        simulated,
        memberRef: input.memberId,
        source: input.source,
        ...verdict,
        assurance,
        scoring: rulesVersion,
        components,
        flags,
        evidence: [
          evidenceItem(salt, input.source === 'receipt' ? 'receipt' : 'photo', {
            source: input.source,
            photoHash: input.photoHash,
          }),
          ...(hasPlace ? [evidenceItem(salt, 'geo', { lat: input.lat, lng: input.lng })] : []),
          ...(simulated ? [evidenceItem(salt, 'simulated', { session: sessionId })] : []),
        ],
        salt,
      },
    )
    await publishSessionScore(tx, { agentId: agent.agentId, mode: agent.mode, sessionId }, verdict)
    return {
      sessionId,
      status: 'scored',
      quality: verdict.quality,
      verified: verdict.verified,
      assurance,
      flags: [...flags],
      components,
    }
  })
