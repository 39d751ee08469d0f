import { inTransaction } from '../../platform/db/db.ts'
import type { Operator } from '../../platform/http/call.ts'
import { makeToken } from '../../platform/ops/tokens.ts'
import { creationOptions } from '../../platform/sign-in/passkey.ts'
import type { OperatorsDeps } from '../deps.ts'
import { challengeMinutes } from '../rules.ts'
import { requireRoom } from './require-room.ts'
import { insertChallenge } from './store.ts'

/** The WebAuthn options for a new passkey of an operator. */
export const passkeyOptions = async ({ ctx, site }: OperatorsDeps, { operatorId, name }: Operator) => {
  const challenge = makeToken(ctx.ids, 'chl_')
  return inTransaction(ctx, 'system', async (tx) => {
    const known = await requireRoom(tx, operatorId)
    await insertChallenge(tx, challenge, { operatorId })
    return {
      publicKey: creationOptions({
        rpId: site.rpId,
        challenge,
        timeoutMs: challengeMinutes * 60_000,
        user: { handle: makeToken(ctx.ids, 'uhd_'), name: `${name} (operator)` },
        knownIds: known.map((row) => row.credential_id),
      }),
    }
  })
}
