import type { PageRequest } from '../../platform/sign-in/own-page.ts'
import type { ClientAddress } from '../../platform/http/client-address.ts'
import type { AccountsDeps } from '../deps.ts'
import { requestSignInLink } from './request-link.ts'

type Input = { readonly name: string; readonly email: string; readonly address: ClientAddress }

/** Asks for an account. Nothing is created before the link is used: an address may be somebody else's. */
export const signUp = (deps: AccountsDeps, page: PageRequest, input: Input) =>
  requestSignInLink(deps, page, input)
