import { inTransaction } from '../../platform/db/db.ts'
import type { ClientAddress } from '../../platform/http/client-address.ts'
import { ApiResponse } from '../../platform/http/call.ts'
import { normaliseEmail } from '../../platform/net/mail-address.ts'
import { hashKey } from '../../platform/ops/keys.ts'
import { makeToken } from '../../platform/ops/tokens.ts'
import { requireOwnPage, type PageRequest } from '../../platform/sign-in/own-page.ts'
import type { AccountsDeps } from '../deps.ts'
import { mailSignInLink } from '../mails.ts'
import { findPersonByEmail, listInvitationsTo } from '../people/store.ts'
import { browserCookie, linkMinutes } from '../rules.ts'
import { insertMailedLink } from './store.ts'

type SignInLinkRequest = {
  readonly email: string
  readonly name?: string | undefined
  readonly address: ClientAddress
}

/**
 * Mails a link to an address. The answer is the same for every address, and so is the work: each gets a mail and leaves a row,
 * also an address without an account, whose mail has no link. So neither the answer nor its time says who has an account.
 */
export const requestSignInLink = async (deps: AccountsDeps, page: PageRequest, asked: SignInLinkRequest) => {
  const { ctx, site } = deps
  requireOwnPage(site, page)
  const email = normaliseEmail(asked.email)
  const token = makeToken(ctx.ids, 'lnk_')
  // Always a new token, so that a cookie that an attacker planted in the browser binds no link.
  const browser = makeToken(ctx.ids, 'brw_')
  await inTransaction(ctx, 'system', async (tx) => {
    const person = await findPersonByEmail(tx, email)
    const [invitation] = await listInvitationsTo(tx, email)
    const isMailed = await mailSignInLink(tx, deps, {
      to: email,
      token,
      client: asked.address,
      case: { hasAccount: person !== undefined, isSignUp: asked.name !== undefined, invitation },
    })
    // The answer is the same if the mailbox has reached its limit of mails for today.
    if (!isMailed) return
    await insertMailedLink(tx, {
      tokenHash: hashKey(token),
      browserHash: hashKey(browser),
      email,
      accountName: asked.name,
      invitedTo: invitation?.account_id,
    })
  })
  const note = `If this address can sign in, a link is on its way. It works once, in this browser, for ${linkMinutes} minutes.`
  return new ApiResponse(
    { sent: true as const, note },
    { status: 202, headers: { 'set-cookie': browserCookie(browser) } },
  )
}
