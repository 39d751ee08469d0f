import { timingSafeEqual } from 'node:crypto'
import { modes } from '@pohf/protocol'
import { inTransaction, type Tx } from '../../platform/db/db.ts'
import type { ClientAddress } from '../../platform/http/client-address.ts'
import { ApiResponse } from '../../platform/http/call.ts'
import { Refusal } from '../../platform/http/errors.ts'
import { tokenHashOf } from '../../platform/ops/tokens.ts'
import { requireOwnPage, type PageRequest } from '../../platform/sign-in/own-page.ts'
import type { AccountsDeps } from '../deps.ts'
import { joinAccount } from '../people/join.ts'
import { findLatestAccount, findPersonByEmail, insertPerson, insertRole } from '../people/store.ts'
import { readBrowserCookie } from '../rules.ts'
import { insertAccount, insertAccountAgent } from '../store.ts'
import { consumeMailedLink, findMailedLink } from './store.ts'
import { signPersonIn } from './visitor.ts'

const unknownLink = () =>
  new Refusal('not_found', {
    message: 'This link is invalid, already used or expired. Request a new one.',
  })

/** Consumes the link of a token. One that another browser asked for is refused and stays: that browser may still use it. */
const consumeLink = async (tx: Tx, page: PageRequest, token: string) => {
  const hash = tokenHashOf(tx.ids, 'lnk_', token)
  const found = hash && (await findMailedLink(tx, hash))
  if (!found) throw unknownLink()
  const browser = readBrowserCookie(page.cookie)
  const browserHash = browser === undefined ? undefined : tokenHashOf(tx.ids, 'brw_', browser)
  if (!browserHash || !timingSafeEqual(browserHash, found.browser_hash)) throw new Refusal('other_browser')
  const link = await consumeMailedLink(tx, hash)
  if (!link) throw unknownLink()
  return { email: link.email, accountName: link.account_name, invitedTo: link.invited_to }
}

type SignUp = {
  readonly personId: string
  readonly email: string
  readonly name: string
  readonly address: ClientAddress
}

/** Creates an account with its owner, and an agent of each mode. */
const addAccount = async (deps: AccountsDeps, tx: Tx, signUp: SignUp): Promise<string> => {
  const { personId, email: contactEmail, name, address } = signUp
  const accountId = tx.ids.make('acc_')
  await insertAccount(tx, { accountId, name })
  await insertRole(tx, { accountId, personId, role: 'owner' })
  for (const mode of modes) {
    const agentId = await deps.addAgent(tx, { name, contactEmail, mode, address })
    await insertAccountAgent(tx, { agentId, accountId, mode })
  }
  return accountId
}

type Link = Awaited<ReturnType<typeof consumeLink>>

/** The person of a new address: with the account that they asked for, or in the account whose invitation the mail named. */
const addPerson = async (deps: AccountsDeps, tx: Tx, consumed: Link, address: ClientAddress) => {
  const { email, accountName, invitedTo } = consumed
  if (accountName === null && invitedTo === null) throw unknownLink()
  const personId = tx.ids.make('prs_')
  // Two links of one address at once: the second finds the person of the first.
  if (!(await insertPerson(tx, personId, email))) return undefined
  if (accountName !== null)
    return {
      personId,
      accountId: await addAccount(deps, tx, { personId, email, name: accountName, address }),
    }
  if (invitedTo === null) throw unknownLink()
  const { accountId } = await joinAccount(tx, { personId, email }, invitedTo)
  return { personId, accountId }
}

const findPerson = async (tx: Tx, email: string) => {
  const person = await findPersonByEmail(tx, email)
  return person && { personId: person.person_id, accountId: await findLatestAccount(tx, person.person_id) }
}

/** Signs in with a mailed link, in the browser that asked for it. */
export const link = async (
  deps: AccountsDeps,
  page: PageRequest,
  { token, address }: { readonly token: string; readonly address: ClientAddress },
) => {
  const { ctx, site } = deps
  requireOwnPage(site, page)
  const { headers, ...signedIn } = await inTransaction(ctx, 'system', async (tx) => {
    const consumed = await consumeLink(tx, page, token)
    const person =
      (await findPerson(tx, consumed.email)) ??
      (await addPerson(deps, tx, consumed, address)) ??
      (await findPerson(tx, consumed.email))
    if (!person) throw unknownLink()
    return { ...person, headers: await signPersonIn(tx, page, { ...person, by: 'link' }) }
  })
  ctx.log.info({ ...signedIn, by: 'link' }, 'signed in to the console')
  return new ApiResponse({ signedIn: true as const }, { headers })
}
