import type { CredentialClaims } from '@pohf/protocol'
import type { Ctx } from '../../platform/ops/context.ts'
import { inTransaction } from '../../platform/db/db.ts'
import { Refusal } from '../../platform/http/errors.ts'
import { outsideRequests } from '../../platform/ops/tracing/request-scope.ts'
import type { JournalAct } from '../journal.ts'
import type { BatchId, CommittedBatch, SignedBatch, Signer } from '../signer-client.ts'
import type { RestoreGuard } from './guard.ts'
import { listBatches } from './store.ts'
import { hmacOf } from '../../platform/ops/secrets.ts'

/**
 * The HMAC of an act or of a value that counts once, for the journal. Equal for equal texts, and it reveals nothing else.
 */
export const journalKeyOf = (
  { secrets }: Pick<Ctx, 'secrets'>,
  kind: 'act' | 'photo' | 'payment',
  text: string,
) =>
  hmacOf(secrets.derive('journal')).update(`${kind} ${text}`).digest().subarray(0, 16).toString('base64url')

/** The natural key of an act that is minted once. */
type Act = {
  readonly agentId: string
  readonly mode: string
  readonly act: string
  readonly reference: string
}
/** The journal key of an act. Its text never changes: an act of before a restore must be recognised. */
export const actKeyOf = (ctx: Pick<Ctx, 'secrets'>, { agentId, mode, act, reference }: Act): string =>
  journalKeyOf(ctx, 'act', `${agentId} ${mode} ${act} ${reference}`)

export type MintSigner = {
  /** Fails while a restore is pending. Comes before the first change that a mint makes. */
  readonly ready: () => Promise<void>
  readonly sign: (
    batch: readonly { readonly claims: CredentialClaims; readonly act: JournalAct }[],
  ) => Promise<SignedBatch>
  /** Reports a batch whose transaction has committed. */
  readonly committed: (batch: CommittedBatch) => void
}

/** How often to look up batches that were minted as part of a larger transaction. */
const confirmEveryMs = 500
/** A batch that is not in the database after this time was never stored. */
const giveUpMs = 300_000
const unconfirmedMax = 20_000

const keyOf = ({ signer, batch }: BatchId) => `${signer} ${batch}`

/** Signs batches for the mint and acknowledges those that the database has committed. */
export const makeMintSigner = (
  { ctx, signer }: { readonly ctx: Ctx; readonly signer: Signer },
  guard: RestoreGuard,
): MintSigner => {
  const open = new Map<string, BatchId & { readonly since: number }>()
  let timer: NodeJS.Timeout | undefined

  const acknowledge = (committed: readonly CommittedBatch[]): void => {
    for (const batch of committed) open.delete(keyOf(batch))
    signer.acknowledge(committed)
  }
  /** A row of a batch is visible once its transaction has committed. */
  const confirm = async (): Promise<void> => {
    timer = undefined
    const waiting = [...open.values()]
    for (const [id, batches] of Map.groupBy(waiting, (batch) => batch.signer)) {
      const numbers = batches.map(({ batch }) => batch)
      const found = await inTransaction(ctx, 'system', (tx) => listBatches(tx, id, numbers))
      if (found.length > 0) acknowledge(found.map((row) => ({ signer: id, ...row })))
    }
    for (const batch of waiting) if (performance.now() - batch.since > giveUpMs) open.delete(keyOf(batch))
    schedule()
  }
  const schedule = (): void => {
    if (open.size === 0) return
    timer ??= setTimeout(() => {
      outsideRequests(confirm).catch((error: unknown) => {
        if (!(error instanceof Refusal)) ctx.log.error({ err: error }, 'mint batches not looked up')
        schedule()
      })
    }, confirmEveryMs).unref()
  }
  return {
    ready: async () => {
      await guard.checkMint()
    },
    sign: async (batch) => {
      const signed = await signer.sign({ database: await guard.checkMint(), batch })
      if (open.size >= unconfirmedMax) for (const oldest of open.keys()) if (open.delete(oldest)) break
      open.set(keyOf(signed), { signer: signed.signer, batch: signed.batch, since: performance.now() })
      schedule()
      return signed
    },
    committed: (batch) => acknowledge([batch]),
  }
}
