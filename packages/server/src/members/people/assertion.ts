import { inTransaction, type Tx } from '../../platform/db/db.ts'
import { Refusal } from '../../platform/http/errors.ts'
import type { MembersDeps } from '../membership/enrol.ts'
import { originOf } from '../rules.ts'
import type { Passkey, UsedPasskey } from './passkeys.ts'
import { findPasskey, listPasskeys, updatePasskeyUsed } from './store.ts'
import { passkeyIdOf } from './use-passkey.ts'

/** An assertion over a challenge that the caller made. The caller ensures that the challenge is used only once. */
type PersonAssertion = {
  readonly personId: string
  readonly credential: unknown
  readonly challenge: string
}
/** The passkey that signed. `counter` is stored by `recordAssertion`. */
export type VerifiedAssertion = Pick<Passkey, 'credentialId' | 'assurance' | 'synced' | 'model'> & {
  readonly counter: number
  readonly createdAt: Date
  /** `unknown`: when it was registered, it said the other of whether it can be copied. */
  readonly key: 'device' | 'synced' | 'unknown'
}

const keyOf = (
  known: Pick<Passkey, 'synced'>,
  used: Pick<UsedPasskey, 'synced'>,
): VerifiedAssertion['key'] => {
  if (known.synced !== used.synced) return 'unknown'
  return known.synced ? 'synced' : 'device'
}

/** Verifies an assertion of this person, with user verification, outside any transaction. Writes nothing. */
export const verifyAssertion = async (
  { ctx, passkeyVerifier }: Pick<MembersDeps, 'ctx' | 'passkeyVerifier'>,
  { personId, credential, challenge }: PersonAssertion,
): Promise<VerifiedAssertion> => {
  const known = await inTransaction(ctx, 'system', (tx) => findPasskey(tx, passkeyIdOf(credential)))
  if (known?.personId !== personId) throw new Refusal('passkey_refused')
  const used = await passkeyVerifier.verifyKnown(credential, known, { challenge, ...originOf(ctx.config) })
  if (!used) throw new Refusal('passkey_refused')
  const { credentialId, assurance, createdAt } = known
  return {
    credentialId,
    assurance,
    createdAt,
    counter: used.counter,
    synced: known.synced || used.synced,
    model: used.model,
    key: keyOf(known, used),
  }
}

/** Advances the counter of the passkey in the transaction that the assertion is for. Another use in between is refused. */
export const recordAssertion = async (
  tx: Tx,
  { credentialId, counter }: Pick<VerifiedAssertion, 'credentialId' | 'counter'>,
): Promise<void> => {
  if (!(await updatePasskeyUsed(tx, credentialId, counter))) throw new Refusal('passkey_refused')
}

/** The passkeys of a person, as a caller that asks for an assertion needs them. */
export const listOwnPasskeys = async (
  tx: Tx,
  personId: string,
): Promise<Pick<Passkey, 'credentialId' | 'assurance' | 'synced'>[]> =>
  (await listPasskeys(tx, personId)).map(({ credentialId, assurance, synced }) => ({
    credentialId,
    assurance,
    synced,
  }))
