import type { Mode } from '@pohf/protocol'
import type { Ctx } from '../../platform/ops/context.ts'
import { inTransaction } from '../../platform/db/db.ts'
import type { Signer } from '../../signing/index.ts'
import { buildList } from './build.ts'
import { listUri, shuffledRange, standardShape, type Shape } from './rules.ts'
import { findUnbuilt, insertList, lockLists, updateBlockTaken, type Block } from './store.ts'

export type StatusPlace = { readonly listId: string; readonly idx: number; readonly uri: string }
export type StatusIndexes = {
  /** A place that nobody else has or ever gets. */
  readonly next: (mode: Mode) => Promise<StatusPlace>
}

type Hand = { readonly listId: string; readonly left: number[] }

/** One round opens a list, the next takes a block of it; more are needed only where others empty it meanwhile. */
const roundsMax = 10

const takeBlock = async (ctx: Ctx, signer: Signer, mode: Mode, shape: Shape): Promise<Block> => {
  for (let round = 0; round < roundsMax; round++) {
    const found = await inTransaction(ctx, 'system', async (tx) => {
      await lockLists(tx, mode)
      const block = await updateBlockTaken(tx, mode)
      if (block) return { block }
      return {
        open: (await findUnbuilt(tx, mode)) ?? (await insertList(tx, ctx.config.CELL, mode, shape)),
      }
    })
    if (found.block) return found.block
    // Published before its first place is handed out, so that the address in a credential always answers.
    await buildList(ctx, signer, found.open)
  }
  throw new Error('status lists run out faster than they are opened')
}

/**
 * Hands out places from a block that this process took for itself: one transaction for 1,024 credentials, at
 * most one block in memory for each mode, random within it. What a process leaves when it ends stays unused.
 */
export const makeStatusIndexes = (ctx: Ctx, signer: Signer, shape: Shape = standardShape): StatusIndexes => {
  const hands = new Map<Mode, Hand>()
  const filling = new Map<Mode, Promise<void>>()
  const fill = async (mode: Mode): Promise<void> => {
    const block = await takeBlock(ctx, signer, mode, shape)
    const left = shuffledRange(block.first, block.size, () => ctx.ids.fraction())
    hands.set(mode, { listId: block.listId, left })
  }
  return {
    next: async (mode) => {
      for (;;) {
        const hand = hands.get(mode)
        const idx = hand?.left.pop()
        if (hand && idx !== undefined)
          return { listId: hand.listId, idx, uri: listUri(ctx.config.BASE_URL, hand.listId) }
        // Whoever comes while a block is fetched waits for that one.
        const under = filling.get(mode) ?? fill(mode).finally(() => filling.delete(mode))
        filling.set(mode, under)
        await under
      }
    },
  }
}
