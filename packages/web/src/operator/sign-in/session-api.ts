import { ApiCallError, callConsole, makeApi, toApiError, type ApiError } from '../../shared/api/client.ts'
import type { OpenApi } from '../../shared/shell/frame.tsx'
import { signInByPasskey } from './passkey.ts'
import type { OperatorToken } from './wire.ts'

/** A bearer is replaced when less than this is left of its ten minutes. */
const renewBeforeMs = 60_000
/** The page reads by itself; only somebody who used it in this time keeps the session open. */
const activeMs = 600_000

let usedAt = Date.now()
for (const type of ['pointerdown', 'keydown'])
  addEventListener(type, () => (usedAt = Date.now()), { capture: true, passive: true })

const fetchToken = (): Promise<OperatorToken> =>
  callConsole<OperatorToken>('POST', '/operator/sign-in/token', { active: Date.now() - usedAt < activeMs })

/** The cookie is shared by all tabs: somebody else signed in in one of them. */
const operatorChanged: ApiError = {
  code: 'operator_changed',
  message: 'Another operator signed in in this browser, so this tab sent nothing more.',
  details: [],
  requestId: undefined,
}

/** Bearers from the cookie, for one operator and no other. They stay in this closure. */
const makeBearers = (first: OperatorToken) => {
  let current: Promise<OperatorToken> | undefined = Promise.resolve(first)
  const fetchNext = () => {
    const fetched = fetchToken().then((token) => {
      if (token.operatorId !== first.operatorId) throw new ApiCallError(operatorChanged)
      return token
    })
    current = fetched
    // A failed call is not kept: the next one asks again.
    fetched.catch(() => {
      if (current === fetched) current = undefined
    })
    return fetched
  }
  return {
    bearer: async (): Promise<string> => {
      const { token, expiresAt } = await (current ?? fetchNext())
      if (Date.parse(expiresAt) - Date.now() > renewBeforeMs) return token
      return (await fetchNext()).token
    },
    forget: (): void => {
      current = undefined
    },
  }
}

const signOut = async (): Promise<void> => {
  await callConsole('POST', '/operator/sign-in/sign-out', {})
}

/** Opens the pages for the operator who is signed in in this browser; refuses with `sign_in_required` where nobody is. */
export const openOperatorSession = async (onOpen: (open: OpenApi) => void): Promise<void> => {
  const { bearer, forget } = makeBearers(await fetchToken())
  onOpen((onRefused) =>
    makeApi({
      mode: 'operator',
      keyHint: undefined,
      account: undefined,
      signOut,
      bearer: () =>
        bearer().catch((error: unknown) => {
          const refused = toApiError(error)
          if (refused.code === 'sign_in_required' || refused.code === operatorChanged.code) onRefused(refused)
          throw error
        }),
      renew: () => (forget(), true),
      resolve: async ({ code }) => {
        if (code !== 'operator_sign_in_again') return false
        // An operator who closes the prompt of the browser sees why it was asked for.
        const isDone = await signInByPasskey().then(
          () => true,
          () => false,
        )
        if (isDone) forget()
        return isDone
      },
      onRefused,
    }),
  )
}
