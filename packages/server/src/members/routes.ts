import { route, type Call, type EndpointId, type Route } from '../platform/call.ts'
import { actOnce } from './act-once.ts'
import { attention } from './attention.ts'
import { codesRenew } from './codes-renew.ts'
import { create } from './create.ts'
import { erase } from './erase.ts'
import { exportAll } from './export.ts'
import { enrol, type MembersDeps } from './enrol.ts'
import { list } from './list.ts'
import type { FromPage } from './login.ts'
import { me } from './me.ts'
import { operatorErase, type Erasing } from './operator-erase.ts'
import { passkeyAdd } from './passkey-add.ts'
import { passkeyOptions } from './passkey-options.ts'
import { proofAdd } from './proof-add.ts'
import { read } from './read.ts'
import { recording } from './recording.ts'
import { signIn } from './sign-in.ts'
import { signOut } from './sign-out.ts'
import { withdraw } from './withdraw.ts'

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
