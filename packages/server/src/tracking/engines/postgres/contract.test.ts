import { attentionContract } from '../../../../test/fixtures/attention/contract.ts'
import { openHarness } from '../../../../test/fixtures/harness.ts'

await attentionContract({
  name: 'postgresql',
  // Figures are written in the transaction of the row.
  open: async () => ({ harness: await openHarness(), deliver: async () => undefined }),
})
