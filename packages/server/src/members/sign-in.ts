import { Answer } from '../platform/call.ts'
import { inTransaction } from '../platform/db.ts'
import { Refusal } from '../platform/errors.ts'
import { hashKey } from '../platform/keys.ts'
import type { MembersDeps } from './enrol.ts'
import { requireOwnPage, signPersonIn, type FromPage } from './login.ts'
import { boundToNobody } from './passkey-options.ts'
import { challengeIn } from './passkeys.ts'
import { normaliseCode, originOf } from './rules.ts'
import { findPasskey, takeChallenge, takeRecoveryCode, updatePasskeyUsed } from './store.ts'

type Input = { readonly credential?: unknown; readonly recoveryCode?: string | undefined }

const idOf = (credential: unknown): string => {
  const { id } = (credential ?? {}) as { id?: unknown }
  return typeof id === 'string' && id.length <= 1_400 ? id : ''
}

const byPasskey = async ({ ctx, judge }: MembersDeps, credential: unknown) => {
  const challenge = challengeIn(credential)
  if (challenge === undefined) throw new Refusal('passkey_refused')
  const known = await inTransaction(ctx, 'system', async (tx) => {
    const taken = await takeChallenge(tx, { challenge, purpose: 'sign_in', boundTo: boundToNobody })
    return taken ? findPasskey(tx, idOf(credential)) : undefined
  })
  const counter = known && (await judge.used(credential, known, { challenge, ...originOf(ctx.config) }))
  if (!known || counter === undefined) throw new Refusal('passkey_refused')
  return inTransaction(ctx, 'system', async (tx) => {
    if (!(await updatePasskeyUsed(tx, known.credentialId, counter))) throw new Refusal('passkey_refused')
    return signPersonIn(tx, known.personId)
  })
}

const byCode = async ({ ctx }: MembersDeps, code: string) =>
  inTransaction(ctx, 'system', async (tx) => {
    const personId = await takeRecoveryCode(tx, hashKey(normaliseCode(code)))
    if (personId === undefined)
      throw new Refusal('passkey_refused', { message: 'This recovery code is unknown or was used before.' })
    return signPersonIn(tx, personId)
  })

/** Signs a person in by a passkey, or by a recovery code, which works once. */
export const signIn = async (deps: MembersDeps, page: FromPage, input: Input) => {
  requireOwnPage(deps.ctx, page)
  const headers =
    input.recoveryCode === undefined
      ? await byPasskey(deps, input.credential)
      : await byCode(deps, input.recoveryCode)
  return new Answer({ signedIn: true as const }, { headers })
}
