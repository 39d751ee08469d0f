import { createLocalJWKSet, jwtVerify } from 'jose'
import { inTransaction } from '../../platform/db/db.ts'
import { send } from '../../platform/net/outbound.ts'
import type { Ctx } from '../../platform/ops/context.ts'
import type { Job } from '../../platform/queue/worker.ts'
import { statesOf, type Signer } from '../../signing/index.ts'
import { cellOfList, listUri, statusAt } from './rules.ts'
import { deleteElsewhere, deleteExpiredElsewhere, listElsewhere } from './store.ts'

/** Reads a published list by its public address, which leads to the cell that has it. */
export type ReadList = (uri: string) => Promise<string>

const timeoutMs = 10_000
/** 2^20 entries of two bits, packed badly and encoded twice, stay below this. */
const bytesMax = 524_288

const readPublished: ReadList = async (uri) => {
  const response = await send({
    url: uri,
    method: 'GET',
    headers: { accept: 'application/statuslist+jwt' },
    timeoutMs,
    responseBytesMax: bytesMax,
    trust: 'operator',
  })
  if (response.status !== 200 || !response.complete)
    throw new Error(`${uri} answered ${response.status}, expected a whole status list`)
  return response.body
}

/** The states of a list that a key of this deployment signed; the keys of all cells are published together. */
const verifiedStates = async (ctx: Ctx, signer: Signer, uri: string, token: string): Promise<Buffer> => {
  const keys = (await signer.publicKeys()).filter(({ pohf_purpose: purpose }) => purpose === 'status')
  const { payload } = await jwtVerify(token, createLocalJWKSet({ keys: [...keys] }), {
    algorithms: ['ES256'],
    typ: 'statuslist+jwt',
    subject: uri,
    currentDate: ctx.clock.now(),
  })
  const { lst } = payload['status_list'] as { readonly lst: string }
  return statesOf(lst)
}

/** Changes of one run. The rest follows when these are done or have expired. */
const changesMax = 1_000

/**
 * Compares what this cell changed in lists of other cells with what those publish, and forgets what they show. The others wait:
 * they are logged, and counted by `pohf_revocation_pending_seconds`.
 */
export const elsewhereJob = (ctx: Ctx, signer: Signer, readList: ReadList = readPublished): Job => ({
  name: 'status of other cells',
  everyMs: 60_000,
  run: async () => {
    const changes = await inTransaction(ctx, 'system', async (tx) => {
      await deleteExpiredElsewhere(tx)
      return listElsewhere(tx, changesMax)
    })
    let shown = 0
    for (const [listId, ofList] of Map.groupBy(changes, (change) => change.listId)) {
      const uri = listUri(ctx.config.BASE_URL, listId)
      const fields = { list: listId, cell: cellOfList(listId) }
      try {
        const states = await verifiedStates(ctx, signer, uri, await readList(uri))
        const visible = ofList.filter(({ idx, value }) => statusAt(states, idx) === value)
        await inTransaction(ctx, 'system', async (tx) => {
          for (const change of visible) await deleteElsewhere(tx, change)
        })
        shown += visible.length
        const waiting = ofList.filter((change) => !visible.includes(change))
        if (waiting.length > 0)
          ctx.log.error(
            { ...fields, credentials: waiting.slice(0, 20).map(({ credentialId }) => credentialId) },
            'another cell has to change the state of these credentials',
          )
      } catch (error) {
        ctx.log.error({ ...fields, err: error }, 'status list of another cell not read')
      }
    }
    return shown
  },
})
