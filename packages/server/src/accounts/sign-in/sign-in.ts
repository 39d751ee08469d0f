import type { PageRequest } from '../../platform/sign-in/own-page.ts'
import type { ClientAddress } from '../../platform/http/client-address.ts'
import type { AccountsDeps } from '../deps.ts'
import { requestSignInLink } from './request-link.ts'

type Input = { readonly email: string; readonly address: ClientAddress }

/** Asks for a link to sign in. */
export const signIn = (deps: AccountsDeps, page: PageRequest, input: Input) =>
  requestSignInLink(deps, page, input)
