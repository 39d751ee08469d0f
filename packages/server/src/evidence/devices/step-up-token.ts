import type { Mode } from '@pohf/protocol'
import { originOf } from '../../members/index.ts'
import { readNow, type Tx } from '../../platform/db/db.ts'
import { Refusal } from '../../platform/http/errors.ts'
import type { Ctx } from '../../platform/ops/context.ts'
import { readSignedToken, signToken, type SigningCtx } from '../../platform/ops/tokens.ts'
import type { ChallengeDeps, Subject } from './challenge.ts'
import { stepUpSubject, type KeyOwner } from './store.ts'
import type { AttestDeps } from './verify.ts'

// A person answers with an attested authenticator on a page of ours, for one session. The link is a token: whoever has it
// can bring a verdict for that session, and nothing else.

export type StepUpDeps = ChallengeDeps & AttestDeps

/** As long as a session can be minted. */
const linkMs = 24 * 3_600_000

type LinkCtx = Pick<Ctx, 'config' | 'secrets' | 'ids'>
const signerOf = ({ secrets, ids }: SigningCtx) => ({ keys: secrets.accepted('step-up'), cell: ids.cell })

/** The subject of a valid token; undefined for anything else. */
export const readStepUpToken = (ctx: SigningCtx, token: string, at: Date): Subject | undefined => {
  const fields = readSignedToken(signerOf(ctx), 'stp_', token)
  if (!fields) return undefined
  const [agentId, mode, subjectRef, seconds] = fields as [string, Mode, string, number]
  return at.getTime() < seconds * 1_000 ? { agentId, mode, subjectRef } : undefined
}

/** The address of the page on which a person steps up, for this session or member. */
export const stepUpUrl = (ctx: LinkCtx, { agentId, mode, subjectRef }: Subject, at: Date) => {
  const expiresAt = new Date(at.getTime() + linkMs)
  const fields = [agentId, mode, subjectRef, Math.floor(expiresAt.getTime() / 1_000)]
  const token = signToken(signerOf(ctx), 'stp_', fields)
  return { url: `${originOf(ctx.config).origin}/step-up/${token}`, expiresAt }
}

/** The ways to a stronger root, for `details[].stepUp` of a refusal. */
export const stepUpWays = (ctx: LinkCtx, subject: Subject, at: Date) =>
  subject.mode === 'test' ? [] : [{ kind: 'authenticator', url: stepUpUrl(ctx, subject, at).url }]

/** The subject of a link. Only a page of ours may use it. */
export const requireSubject = async (
  tx: Tx,
  { ctx }: StepUpDeps,
  { token, origin }: { readonly token: string; readonly origin: string | undefined },
): Promise<Subject> => {
  if (origin !== originOf(ctx.config).origin) throw new Refusal('forbidden')
  const subject = readStepUpToken(ctx, token, await readNow(tx))
  if (!subject) throw new Refusal('not_found', { message: 'This link is invalid or has expired.' })
  return subject
}

/**
 * The owner of the keys of this page, the platform agent: a person uses one key for all sites, and one budget counts them
 * all.
 */
export const keyOwnerOf = ({ platformAgentOf }: StepUpDeps, mode: Mode): KeyOwner => ({
  agentId: platformAgentOf(mode),
  mode,
  method: 'webauthn',
  subjectRef: stepUpSubject,
  isAnySubject: false,
})
