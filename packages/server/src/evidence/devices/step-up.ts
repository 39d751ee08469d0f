import { createHmac, timingSafeEqual } from 'node:crypto'
import type { Mode } from '@pohf/protocol'
import { originOf } from '../../members/index.ts'
import { inTransaction, readNow, type Tx } from '../../platform/db/db.ts'
import type { Agent } from '../../platform/http/call.ts'
import { Refusal } from '../../platform/http/errors.ts'
import type { Ctx } from '../../platform/ops/context.ts'
import { makeChallenge, type ChallengeDeps, type Subject } from './challenge.ts'
import { findDeviceKey, stepUpSubject, type KeyOwner } from './store.ts'
import { consumeNonce, saveVerdict, type AttestDeps } from './verify.ts'

// A person answers with an attested authenticator on a page of ours, for one session. The link is a token: whoever has it
// can bring a verdict for that session, and nothing else.

export type StepUpDeps = ChallengeDeps & AttestDeps

/** As long as a session can be minted. */
const linkMs = 24 * 3_600_000

const macOf = (key: Buffer, payload: string): Buffer =>
  createHmac('sha256', key).update(payload).digest().subarray(0, 16)

export const makeStepUpToken = (
  key: Buffer,
  { agentId, mode, subjectRef }: Subject,
  expiresAt: Date,
): string => {
  const fields = [agentId, mode, subjectRef, Math.floor(expiresAt.getTime() / 1_000)]
  const payload = Buffer.from(JSON.stringify(fields)).toString('base64url')
  return `${payload}.${macOf(key, payload).toString('base64url')}`
}

/** The subject of a valid token; undefined for anything else. */
export const readStepUpToken = (key: Buffer, token: string, at: Date): Subject | undefined => {
  const [, payload, mac] = /^([A-Za-z0-9_-]{1,800})\.([A-Za-z0-9_-]{22})$/.exec(token) ?? []
  if (payload === undefined || mac === undefined) return undefined
  if (!timingSafeEqual(Buffer.from(mac, 'base64url'), macOf(key, payload))) return undefined
  const [agentId, mode, subjectRef, seconds] = JSON.parse(
    Buffer.from(payload, 'base64url').toString('utf8'),
  ) as [string, Mode, string, number]
  return at.getTime() < seconds * 1_000 ? { agentId, mode, subjectRef } : undefined
}

/** The address of the page on which a person steps up, for this session or member. */
export const stepUpUrl = (
  { config, secrets }: Pick<Ctx, 'config' | 'secrets'>,
  subject: Subject,
  at: Date,
) => {
  const expiresAt = new Date(at.getTime() + linkMs)
  const token = makeStepUpToken(secrets.derive('step-up'), subject, expiresAt)
  return { url: `${originOf(config).origin}/step-up/${token}`, expiresAt }
}

/** The ways to a stronger root, for `details[].stepUp` of a refusal. */
export const stepUpWays = (ctx: Pick<Ctx, 'config' | 'secrets'>, subject: Subject, at: Date) =>
  subject.mode === 'test' ? [] : [{ kind: 'authenticator', url: stepUpUrl(ctx, subject, at).url }]

/** A link for a person whom the agent wants to step up before it asks for a credential. */
export const stepUpLink = (
  { ctx }: StepUpDeps,
  { agentId, mode }: Agent,
  { subjectRef }: { subjectRef: string },
) =>
  inTransaction(ctx, agentId, async (tx) => {
    const { url, expiresAt } = stepUpUrl(ctx, { agentId, mode, subjectRef }, await readNow(tx))
    return { url, expiresAt: expiresAt.toISOString() }
  })

/** The subject of a link. Only a page of ours may use it. */
const requireSubject = async (
  tx: Tx,
  { ctx }: StepUpDeps,
  { token, origin }: { readonly token: string; readonly origin: string | undefined },
): Promise<Subject> => {
  if (origin !== originOf(ctx.config).origin) throw new Refusal('forbidden')
  const subject = readStepUpToken(ctx.secrets.derive('step-up'), token, await readNow(tx))
  if (!subject) throw new Refusal('not_found', { message: 'This link is invalid or has expired.' })
  return subject
}

/** Keys of this page belong to nobody: the same one serves at every site, and its budget counts them all. */
const keyOwnerOf = ({ platformAgentOf }: StepUpDeps, mode: Mode): KeyOwner => ({
  agentId: platformAgentOf(mode),
  mode,
  method: 'webauthn',
  subjectRef: stepUpSubject,
  isAnySubject: false,
})

/** ES256, EdDSA and RS256: what current authenticators support. */
const algorithms = [-7, -8, -257]

type OptionsInput = { readonly token: string; readonly keyId?: string | undefined }

/** The WebAuthn options: to use the key that this browser remembers, or to make one. User verification is required. */
export const stepUpOptions = (deps: StepUpDeps, origin: string | undefined, { token, keyId }: OptionsInput) =>
  inTransaction(deps.ctx, 'system', async (tx) => {
    const subject = await requireSubject(tx, deps, { token, origin })
    const { nonce, challengeB64url: challenge, bound } = await makeChallenge(tx, deps, subject)
    if (!bound) throw new Refusal('not_found', { message: 'There is no such session any more.' })
    const { rpId } = originOf(deps.ctx.config)
    const known =
      keyId === undefined ? undefined : await findDeviceKey(tx, keyOwnerOf(deps, subject.mode), keyId)
    if (known)
      return {
        nonce,
        use: {
          challenge,
          rpId,
          userVerification: 'required' as const,
          allowCredentials: [{ type: 'public-key' as const, id: known.keyId }],
        },
      }
    return {
      nonce,
      create: {
        challenge,
        rp: { id: rpId, name: 'PoHF' },
        user: { id: deps.ctx.ids.token(), name: 'PoHF', displayName: 'PoHF' },
        pubKeyCredParams: algorithms.map((alg) => ({ type: 'public-key' as const, alg })),
        authenticatorSelection: {
          authenticatorAttachment: 'cross-platform' as const,
          residentKey: 'discouraged' as const,
          userVerification: 'required' as const,
        },
        attestation: 'direct' as const,
      },
    }
  })

type AnswerInput = { readonly token: string; readonly nonce: string; readonly credential: unknown }

/** Verifies the answer of the authenticator and stores it for the session of the link. */
export const stepUp = async (deps: StepUpDeps, origin: string | undefined, input: AnswerInput) => {
  const { ctx } = deps
  const { subject, asked, settings, at } = await inTransaction(ctx, 'system', async (tx) => {
    const found = await requireSubject(tx, deps, { token: input.token, origin })
    return {
      subject: found,
      asked: await consumeNonce(tx, found.agentId, input.nonce),
      settings: await deps.findSettings(tx, found.agentId),
      at: await readNow(tx),
    }
  })
  if (asked.sessionId === null || asked.subjectRef !== subject.subjectRef)
    return { attested: false, reason: 'challenge_mismatch' }
  const own = originOf(ctx.config)
  const { attested, ...verdict } = await saveVerdict(deps, {
    owner: { ...subject, method: 'webauthn' },
    keyOwner: keyOwnerOf(deps, subject.mode),
    evidence: { credential: input.credential },
    sessionId: asked.sessionId,
    challenge: asked.challenge,
    settings,
    relying: { origins: [own.origin], rpIds: [own.rpId], requiresUserVerification: true },
    at,
  })
  const { reason } = { reason: undefined, ...verdict }
  return reason === undefined ? { attested } : { attested: false, reason }
}
