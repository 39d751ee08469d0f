import type { Mode } from '@pohf/protocol'
import type { Ctx } from '../../platform/ops/context.ts'
import { inTransaction } from '../../platform/db/db.ts'
import type { Signer } from '../../signing/index.ts'
import { buildList } from './build.ts'
import { listUri, shuffledRange, defaultListLayout, type ListLayout } from './rules.ts'
import { findUnpublishedList, insertList, lockLists, updateBlockClaimed, type Block } from './store.ts'

export type StatusIndex = { readonly listId: string; readonly idx: number; readonly uri: string }
export type StatusIndexes = {
  /** A place that nobody else has or ever gets. */
  readonly next: (mode: Mode) => Promise<StatusIndex>
}

type OpenBlock = { readonly listId: string; readonly unused: number[] }

/** One round opens a list, the next takes a block of it; more are needed only where others empty it meanwhile. */
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
    // Published before its first place is handed out, so that the address in a credential always answers.
    await buildList(ctx, signer, found.open)
  }
  throw new Error('no free status list block after the maximum number of attempts')
}

/**
 * Hands out places from a block that this process took for itself: one transaction for 1,024 credentials, at
 * most one block in memory for each mode, random within it. What a process leaves when it ends stays unused.
 */
export const makeStatusIndexes = (
  ctx: Ctx,
  signer: Signer,
  shape: ListLayout = defaultListLayout,
): StatusIndexes => {
  const hands = new Map<Mode, OpenBlock>()
  const filling = new Map<Mode, Promise<void>>()
  const fill = async (mode: Mode): Promise<void> => {
    const block = await claimBlock(ctx, signer, mode, shape)
    const left = shuffledRange(block.first, block.size, () => ctx.ids.randomFraction())
    hands.set(mode, { listId: block.listId, unused: left })
  }
  return {
    next: async (mode) => {
      for (;;) {
        const hand = hands.get(mode)
        const idx = hand?.unused.pop()
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
