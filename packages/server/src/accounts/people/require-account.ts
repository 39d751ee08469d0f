import type { AccountPerson } from '../../platform/http/call.ts'
import { Refusal } from '../../platform/http/errors.ts'

/** The caller, unless another page of the browser has changed the account since the page that calls was shown. */
export const requireAccount = (person: AccountPerson, accountId: string | undefined): AccountPerson => {
  if (accountId !== undefined && accountId !== person.accountId) throw new Refusal('other_account')
  return person
}
