import { inTransaction } from '../../platform/db/db.ts'
import { findSilentSigners } from './apply.ts'
import { compareWithSigners } from './compare.ts'
import { readMissing } from './missing.ts'
import type { RestoreDeps } from './parts.ts'
import { readPublished } from './published.ts'

/** How many ids an answer names. */
const idsMax = 100

const missingOfSigner = async (
  deps: Pick<RestoreDeps, 'ctx' | 'signer' | 'parts'>,
  state: { readonly signer: string },
) => {
  const { from, pages } = await readMissing(deps, state)
  const ids: string[] = []
  const creditsByAgent = new Map<string, number>()
  let [acknowledged, unacknowledged, unplaced] = [0, 0, 0]
  for await (const page of pages()) {
    unplaced += page.unplaced.length
    for (const { credentialId, agentId, charged, state: outcome } of page.credentials) {
      if (outcome === 'issued') acknowledged += 1
      else unacknowledged += 1
      if (charged) creditsByAgent.set(agentId, (creditsByAgent.get(agentId) ?? 0) + 1)
      if (ids.length < idsMax) ids.push(credentialId)
    }
  }
  const credits = [...creditsByAgent].map(([agentId, count]) => ({ agentId, credits: count }))
  return {
    signer: state.signer,
    from: from.toISOString(),
    acknowledged,
    unacknowledged,
    unplaced,
    credentialIds: ids,
    creditsTotal: credits.reduce((sum, one) => sum + one.credits, 0),
    credits: credits.slice(0, idsMax),
  }
}

/** Says what the database lacks. Changes nothing. */
export const restorePlan = async (deps: Omit<RestoreDeps, 'audit'>) => {
  const { ctx, signer, guard, parts } = deps
  const { findings, states, database } = await compareWithSigners({ ctx, signer }, await guard.seen())
  const signers = []
  for (const state of states) signers.push(await missingOfSigner(deps, state))
  const lists = []
  for (const published of await readPublished(signer, states, { lists: [], credentials: [] })) {
    const differences = await inTransaction(ctx, 'system', (tx) => parts.countDifferences(tx, published))
    if (differences > 0) lists.push({ list: published.list, version: published.version, differences })
  }
  return {
    pending: findings.length > 0,
    database,
    findings: findings.map(({ part, signer: id, missing, seen }) => ({
      part,
      signer: id,
      missingBatches: missing.length,
      seenBatch: seen.batch,
      seenPosition: seen.position,
    })),
    signers,
    silentSigners: [...(await findSilentSigners(signer, states))],
    lists,
  }
}
