import type { Mode } from '@pohf/protocol'
import type { Ctx } from '../../platform/ops/context.ts'
import { inTransaction } from '../../platform/db/db.ts'
import type { Signer } from '../../signing/index.ts'
import { buildList } from './build.ts'
import { listUri, shuffledRange, defaultListLayout, type ListLayout } from './rules.ts'
import { findUnpublishedList, insertList, lockLists, updateBlockClaimed, type Block } from './store.ts'

export type StatusIndex = { readonly listId: string; readonly idx: number; readonly uri: string }
export type StatusIndexes = {
  /** An index that no other credential has or ever gets. */
  readonly next: (mode: Mode) => Promise<StatusIndex>
  /** Gives up the indexes that this process has left: their lists are closed by a restore. */
  readonly drop: () => void
}

type OpenBlock = { readonly listId: string; readonly unused: number[] }

/**
 * The first attempt opens a list, the second claims a block; more are needed only when other processes use it up
 * meanwhile.
 */
const attemptsMax = 10

const claimBlock = async (ctx: Ctx, signer: Signer, mode: Mode, shape: ListLayout): Promise<Block> => {
  for (let round = 0; round < attemptsMax; round++) {
    const found = await inTransaction(ctx, 'system', async (tx) => {
      await lockLists(tx, mode)
      const block = await updateBlockClaimed(tx, mode)
      if (block) return { block }
      return {
        open: (await findUnpublishedList(tx, mode)) ?? (await insertList(tx, ctx.config.CELL, mode, shape)),
      }
    })
    if (found.block) return found.block
    // Published before its first index is assigned, so that the URI in a credential always resolves.
    await buildList(ctx, signer, found.open)
  }
  throw new Error(`no free block in a ${mode} status list after ${attemptsMax} attempts to claim one`)
}

/**
 * Assigns each credential its status list index, from a block claimed by this process: one transaction for 1,024
 * credentials, at most one block in memory for each mode, in random order. Indexes left over when the process ends stay unused.
 */
export const makeStatusIndexes = (
  ctx: Ctx,
  signer: Signer,
  shape: ListLayout = defaultListLayout,
): StatusIndexes => {
  const hands = new Map<Mode, OpenBlock>()
  const filling = new Map<Mode, Promise<void>>()
  let drops = 0
  const fill = async (mode: Mode): Promise<void> => {
    const dropsBefore = drops
    const block = await claimBlock(ctx, signer, mode, shape)
    // The block may be of the time before the restore.
    if (drops !== dropsBefore) return
    const left = shuffledRange(block.first, block.size, () => ctx.ids.randomFraction())
    hands.set(mode, { listId: block.listId, unused: left })
  }
  return {
    drop: () => {
      drops += 1
      hands.clear()
    },
    next: async (mode) => {
      for (;;) {
        const hand = hands.get(mode)
        const idx = hand?.unused.pop()
        if (hand && idx !== undefined)
          return { listId: hand.listId, idx, uri: listUri(ctx.config.BASE_URL, hand.listId) }
        // Concurrent calls share one pending claim.
        const under = filling.get(mode) ?? fill(mode).finally(() => filling.delete(mode))
        filling.set(mode, under)
        await under
      }
    },
  }
}
