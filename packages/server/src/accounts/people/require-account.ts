import type { AccountPerson } from '../../platform/http/call.ts'
import { Refusal } from '../../platform/http/errors.ts'

/** Returns the caller. Refuses a page that shows another account than the session has now, after a change in another tab. */
export const requireAccount = (person: AccountPerson, accountId: string | undefined): AccountPerson => {
  if (accountId !== undefined && accountId !== person.accountId) throw new Refusal('other_account')
  return person
}
