import type { Ctx } from '../../platform/ops/context.ts'
import { inTransaction } from '../../platform/db/db.ts'
import { send } from '../../platform/net/outbound.ts'
import type { JournalHead } from '../../signing/index.ts'
import { listStoredLists } from './store.ts'

/** The lists that were built last; an older one shows an older head. */
const listsMax = 8
const timeoutMs = 5_000
const listBytesMax = 2_100_000

/** The head of the signer's journal at the time a list was signed; undefined in lists of before. */
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

/** The copy of a list at another address. A copy that is away says nothing. */
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
 * The heads of journals that published status lists carry: the lists that are stored, and their copies at
 * STATUS_WITNESS_URL. The signature of a copy is not checked here: a forged head stops minting, and that address is the
 * operator's.
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
