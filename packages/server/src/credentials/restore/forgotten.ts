import type { Mode } from '@pohf/protocol'
import type { Tx } from '../../platform/db/db.ts'
import { defaultListLayout } from '../status/rules.ts'
import { updateEntry } from '../status/store.ts'
import { ensureList } from './lists.ts'
import { chargeForgotten, insertForgotten, updateForgottenStates, type ForgottenCredential } from './store.ts'

export type RecordedForgotten = {
  readonly recorded: number
  readonly charged: number
  /** Credentials that a credit was spent for and whose agent has none left, or is not known. */
  readonly uncharged: number
}

const modeOf = (list: string): Mode => (list.includes('-live-') ? 'live' : 'test')

/**
 * Records credentials that the restored database lacks. They can be revoked by their id, their acts stay claimed, and their
 * credits are charged again. A credential whose batch was never acknowledged may never have been delivered: it is revoked,
 * and its act is free.
 */
export const recordForgotten = async (
  tx: Tx,
  credentials: readonly ForgottenCredential[],
): Promise<RecordedForgotten> => {
  if (credentials.length === 0) return { recorded: 0, charged: 0, uncharged: 0 }
  for (const list of new Set(credentials.map((one) => one.list)))
    await ensureList(tx, list, defaultListLayout.entries)
  const inserted = new Set(await insertForgotten(tx, credentials))
  const added = credentials.filter(({ credentialId }) => inserted.has(credentialId))
  for (const { list, index, state } of added)
    if (state === 'revoked') await updateEntry(tx, { listId: list, idx: index, value: 1 })
  await updateForgottenStates(tx, [...inserted])
  const payable = added.filter(({ charged, list }) => charged && modeOf(list) === 'live')
  const paid = await chargeForgotten(
    tx,
    payable.map(({ agentId, credentialId, list }) => ({
      agentId,
      mode: modeOf(list),
      credentialId,
      entryId: tx.ids.make('ent_'),
      noticeId: tx.ids.make('evt_'),
    })),
  )
  return { recorded: added.length, charged: paid.length, uncharged: payable.length - paid.length }
}
