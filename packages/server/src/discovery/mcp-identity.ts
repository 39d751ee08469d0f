import type { Ctx } from '../platform/ops/context.ts'
import type { Dispatcher } from '../platform/http/dispatch.ts'
import { makeSurfaceParts, type SurfaceParts } from './surface-parts.ts'
import { registerAgent } from './tools/register-agent.ts'
import type { Tool } from './tools/tool.ts'
import { verifyHuman } from './tools/verify-human.ts'

export const identityTools: readonly Tool[] = [registerAgent, verifyHuman]

/** The surface for registration and verification. It has no purchases. */
export const mcpIdentity = (ctx: Ctx, dispatcher: Dispatcher): SurfaceParts =>
  makeSurfaceParts({
    ctx,
    dispatcher,
    name: 'pohf-identity',
    title: 'PoHF: registration and verification',
    instructions:
      'Register an agent with register_agent, keep the API key it returns, and send it as Authorization: Bearer <API key> to mint credentials with verify_human.',
    tools: identityTools,
    docs: [],
  })
