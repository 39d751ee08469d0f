import { createHash } from 'node:crypto'
import { deviceScores, historyScore, evaluatePresence, rulesVersion, type FlagName } from '@pohf/scorer'
import type { Agent } from '../../platform/http/call.ts'
import type { Ctx } from '../../platform/ops/context.ts'
import { inTransaction, readNow, type Tx } from '../../platform/db/db.ts'
import { Refusal } from '../../platform/http/errors.ts'
import { checkRefusals, type Refusals } from '../../platform/http/refusals.ts'
import { resolveMember } from '../../members/index.ts'
import type { Roots } from '../../roots/index.ts'
import { insertScoredSession } from '../../sessions/index.ts'
import { evidenceItem } from '../proof.ts'
import { publishSessionScore, type ScoredSessionKey } from '../scoring/publish-scored.ts'
import { assuranceOf, isHardware, isPlausibleMove, canonicalPhotoHash, type GeoPoint } from '../rules.ts'
import { findDevice } from '../devices/store.ts'
import { findPresence, insertPhotoHash, insertPresence, updatePresence } from './store.ts'

type Submission = {
  readonly memberId: string
  readonly source: 'receipt' | 'geo_photo'
  readonly lat?: number | undefined
  readonly lng?: number | undefined
  readonly photoHash?: string | undefined
}

const hasLocation = (input: Submission): input is Submission & GeoPoint =>
  input.lat !== undefined && input.lng !== undefined

/**
 * Compares the location with the member's last one. An implausible move is flagged and not stored as the last
 * location.
 */
const geoFlags = async (tx: Tx, agent: Agent, input: Submission): Promise<FlagName[]> => {
  if (!hasLocation(input)) return []
  const key = { agentId: agent.agentId, mode: agent.mode, memberRef: input.memberId }
  const location = { lat: input.lat, lng: input.lng, at: await readNow(tx) }
  if (await insertPresence(tx, key, location)) return []
  const last = await findPresence(tx, key)
  if (last && !isPlausibleMove(last, location)) return ['geo_mismatch']
  await updatePresence(tx, key, location)
  return []
}

/** Claims the photo, so that it counts once. */
const claimPhoto = async (
  tx: Tx,
  { agentId, mode, sessionId }: ScoredSessionKey,
  photoHash: string | undefined,
): Promise<void> => {
  if (photoHash === undefined) return
  const hash = createHash('sha256').update(canonicalPhotoHash(photoHash)).digest()
  if (!(await insertPhotoHash(tx, { agentId, mode, hash, sessionId }))) throw new Refusal('photo_hash_used')
}

/** What enrolment and attested devices prove about the member. */
const findMemberProof = async (tx: Tx, agent: Agent, memberId: string) => {
  const { agentId, mode } = agent
  const member = await resolveMember(tx, agent, memberId)
  const device = await findDevice(tx, { agentId, mode, subjects: [memberId] })
  const enrolled = member?.status === 'enrolled' ? member : undefined
  const realMember = enrolled?.simulated === false ? enrolled : undefined
  const history = realMember?.history ?? { good: 0, bad: 0 }
  return {
    member,
    isEnrolled: enrolled !== undefined,
    attested: isHardware(device?.assurance),
    history,
    attention: realMember?.attention,
    assurance: assuranceOf({
      member: realMember !== undefined,
      device: device?.assurance,
      history,
      external: realMember?.uniqueness === 'external',
    }),
  }
}

type MemberProof = Awaited<ReturnType<typeof findMemberProof>>

const refuseHalfLocation = ({ input: { lat, lng } }: { readonly input: Submission }) =>
  (lat === undefined) === (lng === undefined)
    ? undefined
    : new Refusal('validation_failed', {
        details: [
          {
            path: lat === undefined ? 'body.lat' : 'body.lng',
            code: 'required',
            message: 'lat and lng must be sent together',
          },
        ],
      })

/** A hash that an agent sends proves nothing by itself, so an enrolled member or an attested device must vouch. */
const refuseUnknownMember = ({ proof: { member, attested } }: { readonly proof: MemberProof }) =>
  member || attested
    ? undefined
    : new Refusal('not_found', {
        message: 'No such member, and no device with attested hardware was recorded for this memberId.',
      })

const refuseUnenrolledMember = ({ proof: { member, attested } }: { readonly proof: MemberProof }) =>
  member?.status !== 'refused' || attested
    ? undefined
    : new Refusal('member_not_enrolled', {
        details: [
          {
            path: 'body.memberId',
            code: member.reason,
            message: `the member is ${member.reason.replaceAll('_', ' ')}, and no device with attested hardware was recorded`,
          },
        ],
      })

/** The refusals of a submission, in order. They come before the photo is claimed: a refused call uses up no photo. */
const presenceRefusals: Refusals<{ readonly input: Submission; readonly proof: MemberProof }> = [
  ['location_incomplete', refuseHalfLocation],
  ['member_not_found', refuseUnknownMember],
  ['member_not_enrolled', refuseUnenrolledMember],
]

const componentsOf = ({ isEnrolled, attested, history }: MemberProof) => ({
  focus: null,
  probe: null,
  input: null,
  gaze: null,
  device: attested ? deviceScores.attested : isEnrolled ? deviceScores.passkey : deviceScores.none,
  history: historyScore(history.good, history.bad),
})

const evidenceItemsOf = (salt: Buffer, { mode, sessionId }: ScoredSessionKey, input: Submission) => [
  evidenceItem(salt, input.source === 'receipt' ? 'receipt' : 'photo', {
    source: input.source,
    photoHash: input.photoHash,
  }),
  ...(hasLocation(input) ? [evidenceItem(salt, 'geo', { lat: input.lat, lng: input.lng })] : []),
  ...(mode === 'test' ? [evidenceItem(salt, 'simulated', { session: sessionId })] : []),
]

/** Scores a claim of physical presence into a session. */
export const kineticSubmit = async (
  { ctx, roots }: { readonly ctx: Ctx; readonly roots: Pick<Roots, 'inherit'> },
  agent: Agent,
  input: Submission,
) =>
  inTransaction(ctx, agent.agentId, async (tx) => {
    const { memberId, source, photoHash } = input
    const key = { agentId: agent.agentId, mode: agent.mode, sessionId: ctx.ids.make('ses_') }
    const proof = await findMemberProof(tx, agent, memberId)
    checkRefusals(presenceRefusals, { input, proof })
    await claimPhoto(tx, key, photoHash)
    const { attested, assurance } = proof
    const flags = await geoFlags(tx, agent, input)
    const components = componentsOf(proof)
    const simulated = agent.mode === 'test'
    const verdict = evaluatePresence({
      components,
      flags,
      attested,
      evidenced: simulated || hasLocation(input) || photoHash !== undefined,
    })
    const salt = Buffer.from(ctx.ids.token(), 'base64url')
    await insertScoredSession(tx, key, {
      kind: 'presence',
      simulated,
      memberRef: memberId,
      source,
      ...verdict,
      assurance,
      scoring: rulesVersion,
      components,
      flags,
      evidence: evidenceItemsOf(salt, key, input),
      salt,
    })
    await publishSessionScore(tx, key, verdict)
    // No page of ours saw this act: its credential spends on the last attention check of the member.
    if (proof.attention && !simulated)
      await roots.inherit(tx, proof.attention, { sessionId: key.sessionId, at: await readNow(tx) })
    return {
      sessionId: key.sessionId,
      status: 'scored',
      quality: verdict.quality,
      verified: verdict.verified,
      assurance,
      flags: [...flags],
      reasons: [...verdict.reasons],
      components,
    }
  })
