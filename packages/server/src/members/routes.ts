import { route, type Call, type EndpointId, type Route } from '../platform/http/call.ts'
import { actOnce } from './membership/act-once.ts'
import { attention } from './membership/attention.ts'
import { codesRenew } from './people/codes-renew.ts'
import { create } from './membership/create.ts'
import { erase } from './people/erase.ts'
import { exportAll } from './people/export.ts'
import { enrol, type MembersDeps } from './membership/enrol.ts'
import { list } from './membership/list.ts'
import type { PageRequest } from './people/login.ts'
import { me } from './people/me.ts'
import { operatorErase, type OperatorEraseDeps } from './people/operator-erase.ts'
import { passkeyAdd } from './people/passkey-add.ts'
import { passkeyOptions } from './people/passkey-options.ts'
import { proofBegin } from './people/proof-begin.ts'
import { proofFinish } from './people/proof-finish.ts'
import { operatorInvite, type OperatorInviteDeps } from './membership/operator-invite.ts'
import { read } from './membership/read.ts'
import { recording } from './people/recording.ts'
import { signIn } from './people/sign-in.ts'
import { signOut } from './people/sign-out.ts'
import { withdraw } from './membership/withdraw.ts'

const pageOf = (call: Pick<Call<EndpointId>, 'header'>): PageRequest => ({
  origin: call.header('origin'),
  cookie: call.header('cookie'),
})

export const routes = (deps: MembersDeps): Route[] => {
  const { ctx } = deps
  return [
    route('members.membership.create', (call) => create(ctx, call.agent, call.body)),
    route('members.membership.list', (call) => list(ctx, call.agent, call.query)),
    route('members.membership.read', (call) => read(ctx, call.agent, call.params.memberId)),
    route('members.membership.act-once', (call) =>
      actOnce(ctx, call.agent, { ...call.params, ...call.body }),
    ),
    route('members.people.passkey-options', (call) => passkeyOptions(ctx, pageOf(call), call.body)),
    route('members.membership.enrol', (call) => enrol(deps, pageOf(call), call.body)),
    route('members.membership.attention', (call) => attention(deps, call.person, call.body)),
    route('members.people.sign-in', (call) => signIn(deps, pageOf(call), call.body)),
    route('members.people.sign-out', (call) => signOut(ctx, pageOf(call))),
    route('members.people.me', (call) => me(deps, call.person)),
    route('members.people.recording', (call) =>
      recording(deps, call.person, { ...call.params, ...call.query }),
    ),
    route('members.people.export', (call) => exportAll(deps, call.person)),
    route('members.membership.withdraw', (call) => withdraw(deps, call.person, call.body)),
    route('members.people.erase', (call) => erase(deps, call.person)),
    route('members.people.proof-begin', (call) => proofBegin(deps, call.person, call.body)),
    route('members.people.proof-finish', (call) => proofFinish(deps, call.person, call.body)),
    route('members.people.codes-renew', (call) => codesRenew(deps, call.person, call.body.credential)),
    route('members.people.passkey-add', (call) => passkeyAdd(deps, call.person, call.body.credential)),
  ]
}

export const operatorRoutes = (deps: OperatorEraseDeps & OperatorInviteDeps): Route[] => [
  route('members.membership.operator-invite', (call) => operatorInvite(deps, call.operator, call.body)),
  route('members.people.operator-erase', (call) =>
    operatorErase(deps, call.operator, { ...call.params, ...call.body }),
  ),
]
