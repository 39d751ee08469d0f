import { inTransaction, type Tx } from '../../platform/db/db.ts'
import type { AccountPerson } from '../../platform/http/call.ts'
import { Refusal } from '../../platform/http/errors.ts'
import { readChallenge } from '../../platform/ops/tokens.ts'
import type { NewPasskey } from '../../platform/sign-in/passkey.ts'
import type { AccountsDeps } from '../deps.ts'
import { mailPasskeyAdded } from '../mails.ts'
import { findRole, lockPerson } from '../people/store.ts'
import { passkeysMax } from '../rules.ts'
import { consumeChallenge, insertPasskey, listPasskeys } from './store.ts'

type Input = { readonly credential?: unknown; readonly name?: string | undefined }

/** Verifies a new passkey outside any transaction; its challenge is consumed whatever the result. */
const verifyNew = async (
  { ctx, site, passkeyVerifier }: AccountsDeps,
  personId: string,
  credential: unknown,
): Promise<NewPasskey> => {
  const challenge = readChallenge(ctx.ids, credential)
  const consumed =
    challenge !== undefined &&
    (await inTransaction(ctx, 'system', (tx) => consumeChallenge(tx, { challenge, personId })))
  const passkey = consumed ? await passkeyVerifier.verifyNew(credential, { challenge, ...site }) : undefined
  if (!passkey) throw new Refusal('passkey_refused')
  return passkey
}

/** A person who was removed after the call was let in gets no passkey, and nobody gets more than the limit. */
const requirePlace = async (tx: Tx, { accountId, personId }: AccountPerson): Promise<void> => {
  await lockPerson(tx, personId)
  if ((await findRole(tx, accountId, personId)) === undefined) throw new Refusal('sign_in_required')
  if ((await listPasskeys(tx, personId)).length >= passkeysMax)
    throw new Refusal('forbidden', { message: `A person has at most ${passkeysMax} passkeys.` })
}

/** Adds a passkey and tells its owner by mail. */
export const passkeyRegister = async (deps: AccountsDeps, person: AccountPerson, input: Input) => {
  const { personId, email, isRecent } = person
  if (!isRecent) throw new Refusal('sign_in_again')
  const passkey = await verifyNew(deps, personId, input.credential)
  return inTransaction(deps.ctx, 'system', async (tx) => {
    await requirePlace(tx, person)
    const id = tx.ids.make('psk_')
    const name = input.name ?? 'Passkey'
    if (!(await insertPasskey(tx, { ...passkey, passkeyId: id, personId, name })))
      throw new Refusal('passkey_refused')
    await mailPasskeyAdded(tx, deps, email)
    return { id, name }
  })
}
