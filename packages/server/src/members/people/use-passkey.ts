import { inTransaction, type Tx } from '../../platform/db/db.ts'
import { Refusal } from '../../platform/http/errors.ts'
import type { MembersDeps } from '../membership/enrol.ts'
import { readChallenge } from './passkeys.ts'
import { originOf } from '../rules.ts'
import { findPasskey, consumeChallenge, updatePasskeyUsed } from '../store.ts'

type PasskeyUse = {
  readonly credential: unknown
  readonly purpose: 'sign_in' | 'confirm'
  readonly boundTo: string
}

const idOf = (credential: unknown): string => {
  const { id } = (credential ?? {}) as { id?: unknown }
  return typeof id === 'string' && id.length <= 1_400 ? id : ''
}

/** Checks a passkey that was used just now, and does the work for its person in the transaction that counts the use. */
export const withPasskey = async <T>(
  { ctx, passkeyVerifier: judge }: MembersDeps,
  { credential, purpose, boundTo }: PasskeyUse,
  work: (tx: Tx, personId: string) => Promise<T>,
): Promise<T> => {
  const challenge = readChallenge(credential)
  if (challenge === undefined) throw new Refusal('passkey_refused')
  const known = await inTransaction(ctx, 'system', async (tx) => {
    const taken = await consumeChallenge(tx, { challenge, purpose, boundTo })
    return taken ? findPasskey(tx, idOf(credential)) : undefined
  })
  const counter =
    known && (await judge.verifyKnown(credential, known, { challenge, ...originOf(ctx.config) }))
  if (!known || counter === undefined) throw new Refusal('passkey_refused')
  return inTransaction(ctx, 'system', async (tx) => {
    if (!(await updatePasskeyUsed(tx, known.credentialId, counter))) throw new Refusal('passkey_refused')
    return work(tx, known.personId)
  })
}
