import { createHash } from 'node:crypto'
import { deviceScores, historyScore, evaluatePresence, rulesVersion, type FlagName } from '@pohf/scorer'
import type { Agent } from '../../platform/http/call.ts'
import type { Ctx } from '../../platform/ops/context.ts'
import { inTransaction, readNow, type Tx } from '../../platform/db/db.ts'
import { Refusal } from '../../platform/http/errors.ts'
import { checkRefusals, type Refusals } from '../../platform/http/refusals.ts'
import { resolveMember } from '../../members/index.ts'
import type { Roots } from '../../roots/index.ts'
import { findSession, insertScoredSession } from '../../sessions/index.ts'
import { isForgottenValue, journalKeyOf } from '../../signing/index.ts'
import { evidenceItem } from '../proof.ts'
import { publishScores, type ScoredSessionKey } from '../scoring/publish-scored.ts'
import {
  assuranceOf,
  canonicalPhotoHash,
  isHardware,
  isPlausibleMove,
  presenceSessionMs,
  orderRoots,
  proofRoot,
  type GeoPoint,
} from '../rules.ts'
import { copyVerdicts, findDevice, isDeviceShared } from '../devices/store.ts'
import { findPresence, insertPhotoHash, insertPresence, photoName, updatePresence } from './store.ts'

type Submission = {
  readonly memberId: string
  readonly source: 'receipt' | 'geo_photo'
  readonly lat?: number | undefined
  readonly lng?: number | undefined
  readonly photoHash?: string | undefined
  readonly sessionId?: string | undefined
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

const sharedFlags: readonly FlagName[] = ['device_shared']

/** Claims the photo, so that it counts once, also if a restored database has forgotten the first time. */
const claimPhoto = async (
  tx: Tx,
  ctx: Ctx,
  { agentId, mode, sessionId }: ScoredSessionKey,
  photoHash: string | undefined,
): Promise<void> => {
  if (photoHash === undefined) return
  const hash = createHash('sha256').update(canonicalPhotoHash(photoHash)).digest()
  const photo = { agentId, mode, hash, sessionId }
  const isForgotten = await isForgottenValue(tx, journalKeyOf(ctx, 'photo', photoName(photo)))
  if (isForgotten || !(await insertPhotoHash(tx, photo))) throw new Refusal('photo_hash_used')
}

/** The session that a submission rests on. `subjectRef` is the subject of verdicts that are bound to it. */
type FreshSession = { readonly sessionId: string; readonly at: Date; readonly subjectRef: string }

/** The session that the agent names, or else the last attention check, if it ended in the last 15 minutes. */
const findFreshSession = async (
  tx: Tx,
  { agentId, mode }: Agent,
  { memberId, sessionId }: Submission,
  attention: { readonly sessionId: string; readonly at: Date } | undefined,
): Promise<FreshSession | undefined> => {
  const since = (await readNow(tx)).getTime() - presenceSessionMs
  const isFresh = (at: Date) => at.getTime() >= since
  if (sessionId === undefined)
    return attention && isFresh(attention.at) ? { ...attention, subjectRef: memberId } : undefined
  const session = await findSession(tx, { agentId, mode, sessionId })
  // No page saw the person in a session that has no key.
  if (!session || session.jkt === null || session.verified !== true) return undefined
  // The page of an approver shows that they decided, and the agent must not use it for anything else.
  if (session.kind === 'approval') return undefined
  const { at, endedAt } = session
  return isFresh(endedAt ?? at) ? { sessionId, at, subjectRef: sessionId } : undefined
}

/** What enrolment, the session of the last minutes and attested devices prove about the member. */
const findMemberProof = async (tx: Tx, agent: Agent, input: Submission) => {
  const { agentId, mode } = agent
  const { memberId } = input
  const member = await resolveMember(tx, agent, memberId)
  const enrolled = member?.status === 'enrolled' ? member : undefined
  const realMember = enrolled?.simulated === false ? enrolled : undefined
  const fresh = await findFreshSession(tx, agent, input, realMember?.attention)
  const subjects = [memberId, ...(fresh ? [fresh.subjectRef] : [])]
  const device = await findDevice(tx, {
    mode,
    subjects: subjects.map((subjectRef) => ({ agentId, subjectRef })),
    sessionId: fresh?.sessionId ?? memberId,
  })
  // The outside proof counts only for the member's own check: for a session that the agent names, only the agent says that
  // the session is of this member.
  const proofs = input.sessionId === undefined ? (realMember?.proofs ?? []) : []
  const roots = orderRoots([...proofs.map(proofRoot), ...(device?.root ? [device.root] : [])])
  return {
    member,
    isEnrolled: enrolled !== undefined,
    attested: isHardware(device?.assurance),
    needsSession: mode === 'live',
    fresh,
    assurance: assuranceOf(roots),
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

/**
 * Requires a recent session in live mode: anybody can compute a hash, so a person must have taken part in the last minutes.
 */
const refuseWithoutSession = ({ proof: { needsSession, fresh } }: { readonly proof: MemberProof }) =>
  fresh || !needsSession
    ? undefined
    : new Refusal('session_expired', {
        message:
          'Presence needs a verified session of the person that ended in the last 15 minutes: name one of your site in sessionId, or let the member repeat the attention check.',
      })

/** The refusals of a submission, in order. They come before the photo is claimed: a refused call uses up no photo. */
const presenceRefusals: Refusals<{ readonly input: Submission; readonly proof: MemberProof }> = [
  ['location_incomplete', refuseHalfLocation],
  ['member_not_found', refuseUnknownMember],
  ['member_not_enrolled', refuseUnenrolledMember],
  ['session_expired', refuseWithoutSession],
]

const componentsOf = ({ isEnrolled, attested }: MemberProof) => ({
  focus: null,
  probe: null,
  input: null,
  gaze: null,
  device: attested ? deviceScores.attested : isEnrolled ? deviceScores.passkey : deviceScores.none,
  // Presence has no history: history counts accepted, paid work.
  history: historyScore(0, 0),
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
    const proof = await findMemberProof(tx, agent, input)
    checkRefusals(presenceRefusals, { input, proof })
    await claimPhoto(tx, ctx, key, photoHash)
    const { attested, assurance, fresh } = proof
    const isShared = await isDeviceShared(tx, { ...key, subjectRef: memberId })
    const flags = [...(await geoFlags(tx, agent, input)), ...(isShared ? sharedFlags : [])]
    const components = componentsOf(proof)
    const simulated = agent.mode === 'test'
    const verdict = evaluatePresence({
      components,
      flags,
      attested,
      evidenced: simulated || hasLocation(input) || photoHash !== undefined,
    })
    const salt = Buffer.from(ctx.ids.random(), 'base64url')
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
    await publishScores(tx, [{ key, verdict }])
    // No page recorded this act, so its credential spends the network budget of the session that supports it, and gets the
    // verdicts of that session.
    if (fresh && !simulated) {
      await roots.inherit(tx, fresh, { sessionId: key.sessionId, at: await readNow(tx) })
      await copyVerdicts(tx, agent, fresh, key.sessionId)
    }
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
