import { inTransaction, type Tx } from '../../platform/db/db.ts'
import { Refusal } from '../../platform/http/errors.ts'
import type { MembersDeps } from '../membership/enrol.ts'
import { readChallenge } from '../../platform/ops/tokens.ts'
import { originOf } from '../rules.ts'
import { findPasskey, consumeChallenge, updatePasskeyUsed } from './store.ts'

type PasskeyUse = {
  readonly credential: unknown
  readonly purpose: 'sign_in' | 'confirm'
  readonly boundTo: string
}

export const passkeyIdOf = (credential: unknown): string => {
  const { id } = (credential ?? {}) as { id?: unknown }
  return typeof id === 'string' && id.length <= 1_400 ? id : ''
}

/** Verifies a passkey assertion and runs `work` for its person in the transaction that updates the counter. */
export const withPasskey = async <T>(
  { ctx, passkeyVerifier }: MembersDeps,
  { credential, purpose, boundTo }: PasskeyUse,
  work: (tx: Tx, personId: string) => Promise<T>,
): Promise<T> => {
  const challenge = readChallenge(ctx.ids, credential)
  if (challenge === undefined) throw new Refusal('passkey_refused')
  const known = await inTransaction(ctx, 'system', async (tx) => {
    const consumed = await consumeChallenge(tx, { challenge, purpose, boundTo })
    return consumed ? findPasskey(tx, passkeyIdOf(credential)) : undefined
  })
  const used =
    known && (await passkeyVerifier.verifyKnown(credential, known, { challenge, ...originOf(ctx.config) }))
  if (!known || !used) throw new Refusal('passkey_refused')
  return inTransaction(ctx, 'system', async (tx) => {
    if (!(await updatePasskeyUsed(tx, known.credentialId, used.counter))) throw new Refusal('passkey_refused')
    return work(tx, known.personId)
  })
}
