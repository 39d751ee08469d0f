import { setImmediate } from 'node:timers/promises'
import type { Ctx } from '../platform/ops/context.ts'
import { inTransaction, readNow, type Tx } from '../platform/db/db.ts'
import { Refusal } from '../platform/http/errors.ts'
import type { JournalEntry, JournalSpan } from './journal.ts'
import {
  compareWithJournal,
  journalIdOf,
  onchainTyp,
  type JournalDifference,
  type IssuedCredential,
} from './rules.ts'
import type { Signer } from './signer-client.ts'

const dayMs = 86_400_000
/** Tolerance: the signer's clock may differ from the database's, and a credential is stored after it was signed. */
const clockSkewMs = 600_000
/** A check holds what it compares in memory: about 100 MB at most. */
const countMax = 50_000
const chunkSize = 500
const differencesShownMax = 100

const tooMany = () =>
  new Refusal('validation_failed', {
    details: [
      {
        path: 'query.from',
        code: 'too_big',
        message: `more than ${countMax} credentials: choose a shorter period`,
      },
    ],
  })

/** Lists the stored credentials; the credentials module provides it. */
export type ListStored = (
  tx: Tx,
  span: { readonly from: Date; readonly to: Date },
  limit: number,
) => Promise<(IssuedCredential & { readonly at: Date })[]>

/** The journals of all signers: a credential may be in any of them. A signer that is away fails the check. */
const readJournalEntries = async (signer: Signer, from: number, to: number): Promise<JournalEntry[]> => {
  const lines: JournalEntry[] = []
  for (const readJournal of signer.journals)
    for (let cursor: JournalSpan['cursor'], isFirst = true; isFirst || cursor; isFirst = false) {
      const page = await readJournal({ from, to, cursor })
      // Status lists and epochs are journaled too but stored elsewhere; their ids begin with their type.
      lines.push(...page.entries.filter(({ id }) => id.startsWith('crd_') || id.startsWith(`${onchainTyp}:`)))
      if (lines.length > 2 * countMax) throw tooMany()
      cursor = page.next
    }
  return lines
}

/** Compares the signer's journal with the stored credentials of a time range; by default the last day. */
export const keysCheck = async (
  ctx: Ctx,
  { signer, listStored }: { readonly signer: Signer; readonly listStored: ListStored },
  input: { readonly from?: Date | undefined; readonly to?: Date | undefined },
) => {
  const now = await inTransaction(ctx, 'system', readNow)
  const to = input.to ?? now
  const from = input.from ?? new Date(to.getTime() - dayMs)
  const widenedRange = {
    from: new Date(from.getTime() - clockSkewMs),
    to: new Date(to.getTime() + clockSkewMs),
  }
  const credentials = await inTransaction(ctx, 'system', (tx) => listStored(tx, widenedRange, countMax + 1))
  if (credentials.length > countMax) throw tooMany()
  // Read after the credentials: every credential stored by now has its journal line by now.
  const lines = await readJournalEntries(
    signer,
    Math.max(0, widenedRange.from.getTime()),
    widenedRange.to.getTime(),
  )
  const within = (at: number) => at >= from.getTime() && at < to.getTime()
  const checkedCredentials = credentials.filter((credential) => within(credential.at.getTime()))
  const linesOf = Map.groupBy(lines, (line) => line.id)
  const differences: JournalDifference[] = []
  for (let start = 0; start < checkedCredentials.length; start += chunkSize) {
    differences.push(...compareWithJournal(checkedCredentials.slice(start, start + chunkSize), linesOf))
    // Hashing thousands of payloads takes seconds; other requests run in between.
    await setImmediate()
  }
  const stored = new Set(credentials.map(journalIdOf))
  const signed = lines.filter((line) => within(line.at))
  return {
    from: from.toISOString(),
    to: to.toISOString(),
    ok: differences.length === 0,
    signed: signed.length,
    stored: checkedCredentials.length,
    neverStored: signed.filter((line) => !stored.has(line.id)).length,
    differences: differences.slice(0, differencesShownMax),
    differencesTotal: differences.length,
  }
}
