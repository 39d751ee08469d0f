import type { Ctx } from '../../platform/ops/context.ts'
import type { Browser, Person } from '../../platform/http/call.ts'
import { inTransaction, type Tx } from '../../platform/db/db.ts'
import { Refusal } from '../../platform/http/errors.ts'
import { hashKey } from '../../platform/ops/keys.ts'
import { makeToken, tokenHashOf } from '../../platform/ops/tokens.ts'
import { loginCookie, loginHours, originOf, readCookie } from '../rules.ts'
import { findLogin, insertLogin, lockPerson } from './store.ts'

/** The headers of a request by one of our pages: its origin and the login cookie. */
export type PageRequest = { readonly origin: string | undefined; readonly cookie: string | undefined }

/** Refuses a write by another site's page with our cookie (CSRF). */
export const requireOwnPage = (ctx: Ctx, page: PageRequest): void => {
  if (page.origin === originOf(ctx.config).origin) return
  throw new Refusal('forbidden', { message: 'This request must come from a page of this service.' })
}

/** The signed-in person; undefined when nobody is. */
export const findSignedIn = async (tx: Tx, page: PageRequest): Promise<string | undefined> => {
  const token = readCookie(page.cookie)
  const hash = token === undefined ? undefined : tokenHashOf(tx.ids, 'lgn_', token)
  return hash && findLogin(tx, hash)
}

export const requireSignedIn = async (tx: Tx, page: PageRequest): Promise<string> => {
  const personId = await findSignedIn(tx, page)
  if (personId === undefined) throw new Refusal('sign_in_required')
  return personId
}

/** Authenticates a member endpoint's caller. A write must come from one of our pages. */
export const authenticate = async (ctx: Ctx, browser: Browser): Promise<Person> => {
  if (browser.writes) requireOwnPage(ctx, browser)
  return { personId: await inTransaction(ctx, 'system', (tx) => requireSignedIn(tx, browser)) }
}

/** Serializes writes of one person. A person who was erased after authentication is no longer signed in. */
export const requirePerson = async (tx: Tx, personId: string): Promise<void> => {
  if (!(await lockPerson(tx, personId))) throw new Refusal('sign_in_required')
}

/** Signs a person in; returns the cookie header. */
export const signPersonIn = async (tx: Tx, personId: string): Promise<Record<string, string>> => {
  const token = makeToken(tx.ids, 'lgn_')
  await insertLogin(tx, personId, hashKey(token), loginHours)
  return { 'set-cookie': loginCookie(token) }
}
