import type { Tx } from '../../platform/db/db.ts'
import type { ProveDeps } from './prove.ts'
import type { Ctx } from '../../platform/ops/context.ts'

export type CompaniesDeps = ProveDeps & {
  readonly ctx: Ctx
  /** The origin of the pages of people. */
  readonly origin: string
  /** Withdraws every proof that an issuer of this name gave. */
  readonly withdrawProofs: (tx: Tx, issuer: string) => Promise<void>
}
