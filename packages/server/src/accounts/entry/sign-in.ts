import type { PageRequest } from '../../platform/sign-in/own-page.ts'
import type { AccountsDeps } from '../deps.ts'
import { askLink } from './ask-link.ts'

type Input = { readonly email: string; readonly address: string }

/** Asks for a link to sign in. */
export const signIn = (deps: AccountsDeps, page: PageRequest, input: Input) => askLink(deps, page, input)
