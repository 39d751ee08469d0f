import type { Mode } from '@pohf/protocol'
import { balanceOf, InsufficientBalance, post, type Posting } from '../ledger/index.ts'
import { inTransaction, type Tx } from '../platform/db/db.ts'
import type { Audit, Operator } from '../platform/http/call.ts'
import { Refusal } from '../platform/http/errors.ts'
import type { Ctx } from '../platform/ops/context.ts'
import { accounts, starTransferLines } from './rules.ts'

export type LimitDeps = {
  readonly ctx: Ctx
  readonly audit: Audit
  /** Injected by the wiring: the agents module knows it. */
  readonly findMode: (tx: Tx, agentId: string) => Promise<Mode | undefined>
}
type Grant = {
  readonly agentId: string
  readonly stars: number
  readonly reference: string
  readonly reason: string
}

const postLimit = async (tx: Tx, { agentId, stars, reference }: Grant): Promise<Posting> => {
  try {
    return await post(tx, {
      agentId,
      mode: 'live',
      kind: 'points_limit',
      reference,
      lines: starTransferLines(accounts.limits, accounts.limit, BigInt(stars)),
    })
  } catch (error) {
    if (error instanceof InsufficientBalance)
      throw new Refusal('conversion_limit_reached', {
        message: `Only ${error.balance} Stars of the limit are left: no more can be taken back.`,
      })
    throw error
  }
}

const requireSameStars = ({ lines }: Posting, stars: number): void => {
  const posted = lines.find(({ account }) => account === accounts.limit)
  if (posted?.amount !== BigInt(stars))
    throw new Refusal('idempotency_key_reused', {
      message: `This reference was granted before, for ${posted?.amount ?? 0n} Stars.`,
    })
}

/** Raises or lowers the limit within which a live partner converts points, once for each reference. */
export const limitGrant = ({ ctx, audit, findMode }: LimitDeps, operator: Operator, grant: Grant) =>
  inTransaction(ctx, 'system', async (tx) => {
    const { agentId, stars, reference, reason } = grant
    const mode = await findMode(tx, agentId)
    if (mode === undefined) throw new Refusal('not_found', { message: 'No such agent.' })
    if (mode === 'test')
      throw new Refusal('forbidden', { message: 'A test agent converts points without a limit.' })
    const posting = await postLimit(tx, grant)
    if (posting.repeated) requireSameStars(posting, stars)
    else
      await audit(tx, {
        operatorId: operator.operatorId,
        action: 'partner.limit',
        target: agentId,
        details: { stars, reference, reason },
      })
    const limit = await balanceOf(tx, { agentId, mode, account: accounts.limit, unit: 'star' })
    return { agentId, stars, limitStars: Number(limit), repeated: posting.repeated }
  })
