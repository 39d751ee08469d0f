import { ApiResponse } from '../../platform/http/call.ts'
import { inTransaction } from '../../platform/db/db.ts'
import { Refusal } from '../../platform/http/errors.ts'
import { recoveryCodeHashOf } from '../../platform/ops/tokens.ts'
import type { MembersDeps } from '../membership/enrol.ts'
import { requireOwnPage, signPersonIn, type PageRequest } from './login.ts'
import { boundToAnyone } from './passkey-options.ts'
import { consumeRecoveryCode } from './store.ts'
import { withPasskey } from './use-passkey.ts'

type Input = { readonly credential?: unknown; readonly recoveryCode?: string | undefined }

const byPasskey = (deps: MembersDeps, credential: unknown) =>
  withPasskey(deps, { credential, purpose: 'sign_in', boundTo: boundToAnyone }, signPersonIn)

const byCode = async ({ ctx }: MembersDeps, code: string) =>
  inTransaction(ctx, 'system', async (tx) => {
    const hash = recoveryCodeHashOf(tx.ids, code)
    const personId = hash && (await consumeRecoveryCode(tx, hash))
    if (personId === undefined)
      throw new Refusal('passkey_refused', { message: 'This recovery code is invalid or was already used.' })
    return signPersonIn(tx, personId)
  })

/** The sign-in of a person: by a passkey, or by a recovery code, which works once. */
export const signIn = async (deps: MembersDeps, page: PageRequest, input: Input) => {
  requireOwnPage(deps.ctx, page)
  const headers =
    input.recoveryCode === undefined
      ? await byPasskey(deps, input.credential)
      : await byCode(deps, input.recoveryCode)
  return new ApiResponse({ signedIn: true as const }, { headers })
}
