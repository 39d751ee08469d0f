import { route, type Route } from '../platform/http/call.ts'
import { pageRequestOf } from '../platform/http/http-input.ts'
import { account } from './account.ts'
import type { Bearers } from './bearer.ts'
import { claim } from './claim.ts'
import type { AccountsDeps } from './deps.ts'
import { link } from './entry/link.ts'
import { sessionEnd } from './entry/session-end.ts'
import { sessions } from './entry/sessions.ts'
import { signIn } from './entry/sign-in.ts'
import { signOut } from './entry/sign-out.ts'
import { signUp } from './entry/sign-up.ts'
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

/** Whoever holds a bearer of a session or role that ended loses it at once in this process, elsewhere in two seconds. */
const forgetAfter = async <T>(deps: AccountsDeps, work: Promise<T>): Promise<T> => {
  const result = await work
  deps.forgetBearers()
  return result
}

const entryRoutes = (deps: AccountsDeps): Route[] => [
  route('accounts.entry.sign-up', (call) =>
    signUp(deps, pageRequestOf(call), { ...call.body, address: call.address }),
  ),
  route('accounts.entry.sign-in', (call) =>
    signIn(deps, pageRequestOf(call), { ...call.body, address: call.address }),
  ),
  route('accounts.entry.link', (call) =>
    forgetAfter(deps, link(deps, pageRequestOf(call), { ...call.body, address: call.address })),
  ),
  route('accounts.entry.sign-out', (call) => signOut(deps, pageRequestOf(call))),
  route('accounts.entry.sessions', (call) => sessions(deps.ctx, call.accountPerson)),
  route('accounts.entry.session-end', (call) =>
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
  ...entryRoutes(deps),
  route('accounts.account', (call) => account(deps, call.accountPerson)),
  route('accounts.token', (call) =>
    token(deps.ctx, bearers, requireAccount(call.accountPerson, call.body.accountId), call.body.mode),
  ),
  route('accounts.switch', (call) =>
    forgetAfter(deps, switchAccount(deps.ctx, call.accountPerson, call.body.accountId)),
  ),
  route('accounts.claim', (call) => forgetAfter(deps, claim(deps, call.accountPerson, call.body.agentId))),
  ...peopleRoutes(deps),
  ...passkeyRoutes(deps),
]
