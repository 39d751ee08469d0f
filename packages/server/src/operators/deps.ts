import type { Ctx } from '../platform/ops/context.ts'
import type { Site } from '../platform/sign-in/own-page.ts'
import type { PasskeyVerifier } from '../platform/sign-in/passkey.ts'

/** What the wiring passes in. */
export type OperatorsDeps = {
  readonly ctx: Ctx
  readonly site: Site
  readonly passkeyVerifier: PasskeyVerifier
}
