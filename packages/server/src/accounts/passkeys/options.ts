import { inTransaction } from '../../platform/db/db.ts'
import type { AccountPerson } from '../../platform/http/call.ts'
import { Refusal } from '../../platform/http/errors.ts'
import { makeToken } from '../../platform/ops/tokens.ts'
import { creationOptions } from '../../platform/sign-in/passkey.ts'
import type { AccountsDeps } from '../deps.ts'
import { challengeMinutes, passkeysMax } from '../rules.ts'
import { insertChallenge, listPasskeys } from './store.ts'

/** The WebAuthn options for a new passkey of the console. */
export const passkeyOptions = async ({ ctx, site }: AccountsDeps, person: AccountPerson) => {
  const { personId, email, isRecent } = person
  if (!isRecent) throw new Refusal('sign_in_again')
  const challenge = makeToken(ctx.ids, 'chl_')
  return inTransaction(ctx, 'system', async (tx) => {
    const known = await listPasskeys(tx, personId)
    if (known.length >= passkeysMax)
      throw new Refusal('forbidden', {
        message: `A person has at most ${passkeysMax} passkeys. Remove one first.`,
      })
    await insertChallenge(tx, { challenge, personId })
    return {
      publicKey: creationOptions({
        rpId: site.rpId,
        challenge,
        timeoutMs: challengeMinutes * 60_000,
        user: { handle: makeToken(ctx.ids, 'uhd_'), name: email },
        knownIds: known.map((row) => row.credential_id),
      }),
    }
  })
}
