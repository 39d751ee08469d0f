import { route, type Route } from '../platform/call.ts'
import type { Ctx } from '../platform/context.ts'
import { attestChallenge } from './attest-challenge.ts'
import { attestVerify, type AttestDeps } from './attest-verify.ts'
import { kineticSubmit } from './kinetic-submit.ts'
import { testSession } from './test-session.ts'
import { walletChallenge } from './wallet-challenge.ts'

export const routes = (ctx: Ctx, attest: AttestDeps): Route[] => [
  route('evidence.wallet-challenge', (call) => walletChallenge(ctx, call.agent, call.body)),
  route('evidence.kinetic-submit', (call) => kineticSubmit(ctx, call.agent, call.body)),
  route('evidence.test-session', (call) => testSession(ctx, call.agent, call.body)),
  route('evidence.attest-challenge', (call) => attestChallenge(ctx, call.agent)),
  route('evidence.attest-verify', (call) => attestVerify(attest, call.agent, call.body)),
]
