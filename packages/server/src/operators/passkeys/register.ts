import { inTransaction } from '../../platform/db/db.ts'
import type { Operator } from '../../platform/http/call.ts'
import { Refusal } from '../../platform/http/errors.ts'
import { readChallenge } from '../../platform/ops/tokens.ts'
import type { NewPasskey } from '../../platform/sign-in/passkey.ts'
import type { OperatorsDeps } from '../deps.ts'
import { insertAudit } from '../store.ts'
import { requireRoom } from './require-room.ts'
import { consumeChallenge, insertPasskey } from './store.ts'

/** Verifies a new passkey outside any transaction; its challenge is consumed whatever the result. */
const verifyNew = async (
  { ctx, site, passkeyVerifier }: OperatorsDeps,
  operatorId: string,
  credential: unknown,
): Promise<NewPasskey> => {
  const challenge = readChallenge(ctx.ids, credential)
  const isConsumed =
    challenge !== undefined &&
    (await inTransaction(ctx, 'system', (tx) => consumeChallenge(tx, challenge, { operatorId })))
  const passkey = isConsumed ? await passkeyVerifier.verifyNew(credential, { challenge, ...site }) : undefined
  if (!passkey) throw new Refusal('passkey_refused')
  return passkey
}

/** Adds a passkey of an operator. */
export const passkeyRegister = async (
  deps: OperatorsDeps,
  { operatorId, session }: Operator,
  input: { readonly credential?: unknown; readonly name: string },
) => {
  const passkey = await verifyNew(deps, operatorId, input.credential)
  return inTransaction(deps.ctx, 'system', async (tx) => {
    await requireRoom(tx, operatorId)
    const passkeyId = tx.ids.make('opk_')
    const { name } = input
    if (!(await insertPasskey(tx, { ...passkey, passkeyId, operatorId, name })))
      throw new Refusal('passkey_refused')
    await insertAudit(tx, {
      operatorId,
      action: 'operator.passkey_add',
      target: passkeyId,
      details: { name, by: session?.sessionId ?? 'key' },
    })
    return { id: passkeyId, name }
  })
}
