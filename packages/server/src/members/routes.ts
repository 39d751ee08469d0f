import { route, type Call, type EndpointId, type Route } from '../platform/http/call.ts'
import { actOnce } from './membership/act-once.ts'
import { attention } from './membership/attention.ts'
import { codesRenew } from './people/codes-renew.ts'
import { create } from './membership/create.ts'
import { erase } from './people/erase.ts'
import { exportAll } from './people/export.ts'
import { enrol, type MembersDeps } from './membership/enrol.ts'
import { list } from './membership/list.ts'
import type { FromPage } from './people/login.ts'
import { me } from './people/me.ts'
import { operatorErase, type Erasing } from './people/operator-erase.ts'
import { passkeyAdd } from './people/passkey-add.ts'
import { passkeyOptions } from './people/passkey-options.ts'
import { proofAdd } from './people/proof-add.ts'
import { read } from './membership/read.ts'
import { recording } from './people/recording.ts'
import { signIn } from './people/sign-in.ts'
import { signOut } from './people/sign-out.ts'
import { withdraw } from './membership/withdraw.ts'

const pageOf = (call: Pick<Call<EndpointId>, 'header'>): FromPage => ({
  origin: call.header('origin'),
  cookie: call.header('cookie'),
})

export const routes = (deps: MembersDeps): Route[] => {
  const { ctx } = deps
  return [
    route('members.create', (call) => create(ctx, call.agent, call.body)),
    route('members.list', (call) => list(ctx, call.agent, call.query)),
    route('members.read', (call) => read(ctx, call.agent, call.params.memberId)),
    route('members.act-once', (call) => actOnce(ctx, call.agent, { ...call.params, ...call.body })),
    route('members.passkey-options', (call) => passkeyOptions(ctx, pageOf(call), call.body)),
    route('members.enrol', (call) => enrol(deps, pageOf(call), call.body)),
    route('members.attention', (call) => attention(ctx, call.person, call.body)),
    route('members.sign-in', (call) => signIn(deps, pageOf(call), call.body)),
    route('members.sign-out', (call) => signOut(ctx, pageOf(call))),
    route('members.me', (call) => me(deps, call.person)),
    route('members.recording', (call) => recording(deps, call.person, { ...call.params, ...call.query })),
    route('members.export', (call) => exportAll(deps, call.person)),
    route('members.withdraw', (call) => withdraw(deps, call.person, call.body)),
    route('members.erase', (call) => erase(deps, call.person)),
    route('members.proof-add', (call) => proofAdd(deps, call.person, call.body)),
    route('members.codes-renew', (call) => codesRenew(deps, call.person, call.body.credential)),
    route('members.passkey-add', (call) => passkeyAdd(deps, call.person, call.body.credential)),
  ]
}

export const operatorRoutes = (erasing: Erasing): Route[] => [
  route('members.operator-erase', (call) =>
    operatorErase(erasing, call.operator, { ...call.params, ...call.body }),
  ),
]
