import { originOf } from '../../members/index.ts'
import { inTransaction, readNow } from '../../platform/db/db.ts'
import { keyOwnerOf, requireSubject, type StepUpDeps } from './step-up-token.ts'
import { consumeNonce, saveVerdict } from './verify.ts'

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
    keepsAnyKey: false,
  })
  const { reason } = { reason: undefined, ...verdict }
  return reason === undefined ? { attested } : { attested: false, reason }
}
