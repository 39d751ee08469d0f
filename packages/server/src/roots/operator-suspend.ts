import { inTransaction, readNow, type Tx } from '../platform/db/db.ts'
import type { Audit, Operator } from '../platform/http/call.ts'
import { Refusal } from '../platform/http/errors.ts'
import type { Ctx } from '../platform/ops/context.ts'
import { makeFindDayKey } from './keys.ts'
import { dayBefore, dayOf, networkTagsOf, parseNetworkName, type ShownRootKind } from './rules.ts'
import { insertSuspension, listNetworkCredentials, listRootCredentials } from './store.ts'

export type SuspendDeps = {
  readonly ctx: Ctx
  readonly audit: Audit
  /** Injected by the wiring: suspends or revokes a credential. Revoked credentials stay revoked. */
  readonly changeCredentialState: (
    tx: Tx,
    change: {
      readonly credentialId: string
      readonly reason: string
      readonly to: 'suspended' | 'revoked'
    },
  ) => Promise<void>
}
type Input = {
  readonly kind: ShownRootKind | 'network'
  readonly name: string
  readonly credentials: 'keep' | 'suspend' | 'revoke'
  readonly from?: string | undefined
  readonly after?: string | undefined
  readonly reason: string
}

/** Credentials of one call: each changes a status list, which others wait for. */
const batchMax = 100

type Page = { readonly credentialIds: readonly string[]; readonly next: string | null }
const pageOf = (credentialIds: readonly string[], scope: string): Page => ({
  credentialIds,
  next: credentialIds.length < batchMax ? null : `${scope} ${credentialIds.at(-1)}`,
})

/** The credentials of a network on the days whose keys exist, today first. A cursor is a day and a credential. */
const listOfNetwork = async (tx: Tx, ctx: Ctx, { name, after = '' }: Input): Promise<Page> => {
  const network = parseNetworkName(name)
  if (!network)
    throw new Refusal('validation_failed', {
      details: [
        {
          path: 'body.name',
          code: 'network',
          message: 'must be an address, an IPv4 /24, or an IPv6 /64 or /48',
        },
      ],
    })
  const findDayKey = makeFindDayKey(ctx.secrets)
  const today = dayOf(await readNow(tx))
  const [afterDay = '', afterId = ''] = after.split(' ')
  for (const day of [today, dayBefore(today)]) {
    if (afterDay !== '' && day > afterDay) continue
    const key = await findDayKey(tx, day, today)
    if (!key) continue
    const { wide, narrow } = networkTagsOf(key.tagKey, network.address, 1)
    const ids = await listNetworkCredentials(
      tx,
      { day, wide, narrow: network.isWide ? undefined : narrow },
      { after: day === afterDay ? afterId : '', limit: batchMax },
    )
    if (ids.length > 0) return { credentialIds: ids, next: `${day} ${ids.at(-1)}` }
  }
  return { credentialIds: [], next: null }
}

/** Suspends a root, and suspends or revokes a batch of the credentials that rest on it. */
export const operatorSuspend = (deps: SuspendDeps, operator: Operator, input: Input) =>
  inTransaction(deps.ctx, 'system', async (tx) => {
    const { kind, name, credentials, after, reason } = input
    const from = input.from === undefined ? null : new Date(input.from)
    if (kind !== 'network') await insertSuspension(tx, { kind, name, from, reason })
    const nothing: Page = { credentialIds: [], next: null }
    const listed = async (): Promise<Page> => {
      if (credentials === 'keep') return nothing
      if (kind === 'network') return listOfNetwork(tx, deps.ctx, input)
      const [, afterId = ''] = (after ?? '').split(' ')
      const page = { from, after: afterId, limit: batchMax }
      return pageOf(await listRootCredentials(tx, { kind, name }, page), kind)
    }
    const { credentialIds, next } = await listed()
    const to = credentials === 'revoke' ? 'revoked' : 'suspended'
    for (const credentialId of credentialIds)
      await deps.changeCredentialState(tx, { credentialId, reason, to })
    await deps.audit(tx, {
      operatorId: operator.operatorId,
      action: 'root.suspend',
      // The name of a network is an address, which is stored nowhere.
      target: kind === 'network' ? 'network' : `${kind} ${name}`,
      details: { credentials, changed: credentialIds.length, from: from?.toISOString() ?? null, reason },
    })
    return { kind, name, credentials: credentialIds.length, next }
  })
