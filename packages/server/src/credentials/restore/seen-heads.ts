import type { Ctx } from '../../platform/ops/context.ts'
import { inTransaction } from '../../platform/db/db.ts'
import { send } from '../../platform/net/outbound.ts'
import type { JournalHead } from '../../signing/index.ts'
import { listStoredLists } from './store.ts'

/** The lists that were built last; an older one shows an older head. */
const listsMax = 8
const timeoutMs = 5_000
const listBytesMax = 2_100_000

/** The head of the signer's journal at the time a list was signed; none if an earlier version signed it. */
const readHead = (jwt: string): JournalHead[] => {
  try {
    const [, payload = ''] = jwt.split('.')
    const { pohf_journal: head } = JSON.parse(Buffer.from(payload, 'base64url').toString('utf8')) as {
      pohf_journal?: JournalHead
    }
    return head ? [head] : []
  } catch {
    return []
  }
}

/** Fetches the copy of a list from another address; undefined if it cannot be fetched. */
const fetchCopy = async (ctx: Ctx, url: string): Promise<string | undefined> => {
  try {
    const answer = await send({
      url,
      method: 'GET',
      headers: { accept: 'application/statuslist+jwt' },
      timeoutMs,
      responseBytesMax: listBytesMax,
      trust: 'operator',
      idempotent: true,
    })
    return answer.status === 200 ? answer.body : undefined
  } catch (error) {
    ctx.log.warn(
      { fault: error instanceof Error ? error.name : 'unknown' },
      'copy of a status list not fetched',
    )
    return undefined
  }
}

/**
 * The heads of journals in published status lists: the stored lists, and their copies at STATUS_WITNESS_URL. The signature
 * of a copy is not checked: the address belongs to the operator, and a forged head could only stop minting.
 */
export const makeListSeenHeads = (ctx: Ctx) => async (): Promise<readonly JournalHead[]> => {
  const stored = await inTransaction(ctx, 'system', (tx) => listStoredLists(tx, listsMax))
  const heads = stored.flatMap(({ jwt }) => readHead(jwt))
  for (const witness of ctx.config.STATUS_WITNESS_URL)
    for (const { listId } of stored) {
      const copy = await fetchCopy(ctx, `${witness.replace(/\/$/, '')}/status/${listId}`)
      if (copy !== undefined) heads.push(...readHead(copy))
    }
  return heads
}
