import { promisify } from 'node:util'
import { deflate } from 'node:zlib'
import { decodeProtectedHeader } from 'jose'
import type { Ctx } from '../../platform/ops/context.ts'
import { inTransaction } from '../../platform/db/db.ts'
import type { Job } from '../../platform/queue/worker.ts'
import type { Signer } from '../../signing/index.ts'
import { issuerOf } from '../rules.ts'
import { listEtag, listPayload, listUri, packStatuses } from './rules.ts'
import { findListVersion, findSnapshot, updateListBuilt, updateListsClaimed } from './store.ts'

const compress = promisify(deflate)

type Build = {
  readonly ctx: Ctx
  readonly signer: Signer
  readonly listId: string
  readonly version: bigint
}
/** Undefined where another builder was faster: the signer refuses an older version than its last. */
const signUnlessOvertaken = async (
  { ctx, signer, listId, version }: Build,
  payload: ReturnType<typeof listPayload>,
): Promise<string | undefined> => {
  try {
    return await signer.signTyped('statuslist+jwt', payload)
  } catch (error) {
    const newest = await inTransaction(ctx, 'system', (tx) => findListVersion(tx, listId))
    if (newest !== undefined && newest > version) return undefined
    throw error
  }
}

/**
 * Builds, signs and publishes a list. A change during the build leaves the list dirty, because the published
 * version is the one that was read; of two concurrent builders the one with the older version writes nothing.
 */
export const buildList = async (ctx: Ctx, signer: Signer, listId: string): Promise<boolean> => {
  const list = await inTransaction(ctx, 'system', (tx) => findSnapshot(tx, listId))
  if (!list) throw new Error(`status list ${listId} not found while building it`)
  const { BASE_URL: baseUrl } = ctx.config
  const compressed = await compress(packStatuses(list.entries, list.words), { level: 9 })
  const payload = listPayload({
    issuer: issuerOf(baseUrl, list.mode),
    uri: listUri(baseUrl, listId),
    at: list.now,
    compressed,
    version: list.version,
  })
  const jwt = await signUnlessOvertaken({ ctx, signer, listId, version: list.version }, payload)
  if (jwt === undefined) return false
  const built = {
    listId,
    version: list.version,
    at: list.now,
    kid: decodeProtectedHeader(jwt).kid ?? '',
    etag: listEtag(jwt),
    jwt,
  }
  return inTransaction(ctx, 'system', (tx) => updateListBuilt(tx, built))
}

/**
 * A change is published at most gap + check interval = 25 s later; with the 60 s for which verifiers cache a list,
 * it is visible everywhere within 90 s. The gap bounds the build rate under a stream of changes.
 */
const checkIntervalMs = 10_000
const buildPolicy = { gapSeconds: 15, refreshSeconds: 12 * 3_600, leaseSeconds: 30, limit: 8 }

export const statusListJob = (ctx: Ctx, signer: Signer): Job => ({
  name: 'status lists',
  everyMs: checkIntervalMs,
  run: async () => {
    const kids = (await signer.publicKeys()).map((key) => key.kid)
    const due = await inTransaction(ctx, 'system', (tx) => updateListsClaimed(tx, { ...buildPolicy, kids }))
    for (const listId of due) await buildList(ctx, signer, listId)
    return due.length
  },
})
