import { route, type Route } from '../platform/http/call.ts'
import { pageRequestOf } from '../platform/http/authenticate.ts'
import { account } from './account.ts'
import type { Bearers } from './bearer.ts'
import { claim } from './claim.ts'
import type { AccountsDeps } from './deps.ts'
import { link } from './sign-in/link.ts'
import { sessionEnd } from './sign-in/session-end.ts'
import { sessions } from './sign-in/sessions.ts'
import { signIn } from './sign-in/sign-in.ts'
import { signOut } from './sign-in/sign-out.ts'
import { signUp } from './sign-in/sign-up.ts'
import { passkeysList } from './passkeys/list.ts'
import { passkeyOptions } from './passkeys/options.ts'
import { passkeyRegister } from './passkeys/register.ts'
import { passkeyRemove } from './passkeys/remove.ts'
import { passkeySignInOptions } from './passkeys/sign-in-options.ts'
import { passkeySignIn } from './passkeys/sign-in.ts'
import { peopleChange } from './people/change.ts'
import { peopleInvite } from './people/invite.ts'
import { join } from './people/join.ts'
import { peopleList } from './people/list.ts'
import { peopleRemove } from './people/remove.ts'
import { requireAccount } from './people/require-account.ts'
import { withdraw } from './people/withdraw.ts'
import { switchAccount } from './switch.ts'
import { token } from './token.ts'

/**
 * Clears the cache of bearers after a change has committed. A bearer of an ended session or role stops working at once in
 * this process, and within two seconds in the others.
 */
const forgetAfter = async <T>(deps: AccountsDeps, work: Promise<T>): Promise<T> => {
  const result = await work
  deps.forgetBearers()
  return result
}

const signInRoutes = (deps: AccountsDeps): Route[] => [
  route('accounts.sign-in.sign-up', (call) =>
    signUp(deps, pageRequestOf(call), { ...call.body, address: call.address }),
  ),
  route('accounts.sign-in.sign-in', (call) =>
    signIn(deps, pageRequestOf(call), { ...call.body, address: call.address }),
  ),
  route('accounts.sign-in.link', (call) =>
    forgetAfter(deps, link(deps, pageRequestOf(call), { ...call.body, address: call.address })),
  ),
  route('accounts.sign-in.sign-out', (call) => signOut(deps, pageRequestOf(call))),
  route('accounts.sign-in.sessions', (call) => sessions(deps.ctx, call.accountPerson)),
  route('accounts.sign-in.session-end', (call) =>
    forgetAfter(deps, sessionEnd(deps.ctx, call.accountPerson, call.params.sessionId)),
  ),
]

const peopleRoutes = (deps: AccountsDeps): Route[] => [
  route('accounts.people.join', (call) => join(deps.ctx, call.accountPerson, call.body.accountId)),
  route('accounts.people.list', (call) => peopleList(deps.ctx, call.accountPerson)),
  route('accounts.people.invite', (call) =>
    peopleInvite(deps, requireAccount(call.accountPerson, call.body.accountId), call.body),
  ),
  route('accounts.people.change', (call) =>
    forgetAfter(
      deps,
      peopleChange(deps.ctx, requireAccount(call.accountPerson, call.body.accountId), {
        ...call.params,
        ...call.body,
      }),
    ),
  ),
  route('accounts.people.remove', (call) =>
    forgetAfter(
      deps,
      peopleRemove(deps.ctx, requireAccount(call.accountPerson, call.query.accountId), call.params.personId),
    ),
  ),
  route('accounts.people.withdraw', (call) =>
    withdraw(deps.ctx, requireAccount(call.accountPerson, call.query.accountId), call.params.invitationId),
  ),
]

const passkeyRoutes = (deps: AccountsDeps): Route[] => [
  route('accounts.passkeys.list', (call) => passkeysList(deps.ctx, call.accountPerson)),
  route('accounts.passkeys.options', (call) => passkeyOptions(deps, call.accountPerson)),
  route('accounts.passkeys.register', (call) => passkeyRegister(deps, call.accountPerson, call.body)),
  route('accounts.passkeys.remove', (call) =>
    forgetAfter(deps, passkeyRemove(deps.ctx, call.accountPerson, call.params.passkeyId)),
  ),
  route('accounts.passkeys.sign-in-options', (call) => passkeySignInOptions(deps, pageRequestOf(call))),
  route('accounts.passkeys.sign-in', (call) =>
    forgetAfter(deps, passkeySignIn(deps, pageRequestOf(call), call.body.credential)),
  ),
]

export const routes = (deps: AccountsDeps, bearers: Bearers): Route[] => [
  ...signInRoutes(deps),
  route('accounts.account', (call) => account(deps, call.accountPerson)),
  route('accounts.token', (call) =>
    token(deps.ctx, bearers, requireAccount(call.accountPerson, call.body.accountId), call.body.mode),
  ),
  route('accounts.switch', (call) =>
    forgetAfter(deps, switchAccount(deps.ctx, call.accountPerson, call.body.accountId)),
  ),
  route('accounts.claim', async (call) => {
    const claimed = await claim(deps, call.accountPerson, call.body)
    deps.clearKeyCache()
    return claimed
  }),
  ...peopleRoutes(deps),
  ...passkeyRoutes(deps),
]
