import {
  ApiCallError,
  callConsole,
  makeApi,
  toApiError,
  type ApiError,
  type Mode,
} from '../../shared/api/client.ts'
import type { OpenApi } from '../../shared/shell/frame.tsx'
import type { Account, ConsoleToken } from '../wire.ts'

/** A bearer is replaced when less than this is left of its ten minutes. */
const renewBeforeMs = 60_000
const dayMs = 86_400_000

/** The mode is in the address, so that a reload keeps it. A new account begins in test mode. */
const modeFromAddress = ({ agents, account }: Account, search: string, now: number): Mode => {
  const wanted = new URLSearchParams(search).get('mode')
  if ((wanted === 'test' || wanted === 'live') && agents[wanted]) return wanted
  const isNew = now - Date.parse(account.createdAt) < dayMs
  if (!agents.live) return 'test'
  return isNew && agents.test ? 'test' : 'live'
}

/** The cookie is shared by all tabs: one of them changed the account or its agent. */
const accountChanged: ApiError = {
  code: 'account_changed',
  message: 'The account was changed in another tab of this browser, so this tab sent nothing more.',
  details: [],
  requestId: undefined,
}
export const isAccountChanged = ({ code }: ApiError): boolean => code === accountChanged.code

/** A bearer for the agent that the page shows, and for no other. */
const fetchTokenOf = async ({ account, agents }: Account, mode: Mode): Promise<ConsoleToken> => {
  const token = await callConsole<ConsoleToken>('POST', '/console/token', {
    mode,
    accountId: account.id,
  }).catch((error: unknown) => {
    throw error instanceof ApiCallError && error.status === 409 ? new ApiCallError(accountChanged) : error
  })
  if (token.agentId !== agents[mode]?.id) throw new ApiCallError(accountChanged)
  return token
}

/** Bearers for the API from the cookie of the console. They stay in this closure. */
const makeBearers = (account: Account, mode: Mode) => {
  let current: Promise<ConsoleToken> | undefined
  const fetchToken = () => {
    const fetched = fetchTokenOf(account, mode)
    current = fetched
    // A failed call is not kept: the next one asks again.
    fetched.catch(() => {
      if (current === fetched) current = undefined
    })
    return fetched
  }
  return {
    bearer: async (): Promise<string> => {
      const { token, expiresAt } = await (current ?? fetchToken())
      if (Date.parse(expiresAt) - Date.now() > renewBeforeMs) return token
      return (await fetchToken()).token
    },
    forget: (): void => {
      current = undefined
    },
  }
}

const signOut = async (): Promise<void> => {
  await callConsole('POST', '/console/sign-out', {})
}

/** The API as the agent of the account in one mode. */
const openAccount = (account: Account, mode: Mode, onOpen: (open: OpenApi) => void): void => {
  const modes = (['test', 'live'] as const).filter((one) => account.agents[one])
  const { bearer, forget } = makeBearers(account, mode)
  onOpen((onRefused) =>
    makeApi({
      mode,
      keyHint: undefined,
      account: {
        id: account.account.id,
        role: account.person.role,
        email: account.person.email,
        modes,
        switchTo: (other) => {
          history.replaceState(null, '', `?mode=${other}${location.hash}`)
          openAccount(account, other, onOpen)
        },
      },
      signOut,
      bearer: () =>
        bearer().catch((error: unknown) => {
          const refused = toApiError(error)
          if (refused.code === 'sign_in_required' || isAccountChanged(refused)) onRefused(refused)
          throw error
        }),
      renew: () => (forget(), true),
      onRefused,
    }),
  )
}

export const openAccountHere = (account: Account, onOpen: (open: OpenApi) => void): void =>
  openAccount(account, modeFromAddress(account, location.search, Date.now()), onOpen)
