import { route, type Route } from '../platform/http/call.ts'
import type { Ctx } from '../platform/ops/context.ts'
import type { Roots } from '../roots/index.ts'
import { operatorAdmit, type AdmitDeps } from './devices/operator-admit.ts'
import { attestChallenge } from './devices/challenge.ts'
import { stepUp } from './devices/step-up.ts'
import { stepUpLink } from './devices/step-up-link.ts'
import { stepUpOptions } from './devices/step-up-options.ts'
import type { StepUpDeps } from './devices/step-up-token.ts'
import { attestVerify } from './devices/verify.ts'
import { kineticSubmit } from './presence/submit.ts'
import type { FindRecordingOwner } from '../sessions/index.ts'
import { testSession } from './scoring/test-session.ts'
import { walletChallenge } from './wallets/challenge.ts'

type EvidenceRoutesDeps = {
  readonly attest: StepUpDeps
  readonly findRecordingOwner: FindRecordingOwner
  readonly roots: Pick<Roots, 'inherit'>
}

export const routes = (ctx: Ctx, { attest, findRecordingOwner, roots }: EvidenceRoutesDeps): Route[] => [
  route('evidence.wallets.challenge', (call) => walletChallenge(ctx, call.agent, call.body)),
  route('evidence.presence.submit', (call) => kineticSubmit({ ctx, roots }, call.agent, call.body)),
  route('evidence.scoring.test-session', (call) =>
    testSession(ctx, findRecordingOwner, call.agent, call.body),
  ),
  route('evidence.devices.challenge', (call) => attestChallenge(attest, call.agent, call.body)),
  route('evidence.devices.verify', (call) => attestVerify(attest, call.agent, call.body)),
  route('evidence.devices.step-up-link', (call) => stepUpLink(attest, call.agent, call.body)),
  route('evidence.devices.step-up-options', (call) =>
    stepUpOptions(attest, call.header('origin'), call.body),
  ),
  route('evidence.devices.step-up', (call) => stepUp(attest, call.header('origin'), call.body)),
]

export const operatorRoutes = (deps: AdmitDeps): Route[] => [
  route('evidence.devices.operator-admit', (call) =>
    operatorAdmit(deps, call.operator, { ...call.params, ...call.body }),
  ),
]
