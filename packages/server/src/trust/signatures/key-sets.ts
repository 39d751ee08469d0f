import { Refusal } from '../../platform/http/errors.ts'
import { send } from '../../platform/net/outbound.ts'
import type { Ctx } from '../../platform/ops/context.ts'
import { keysUrlFault, mediaTypesOf, type Root } from '../rules.ts'
import { keyNamed, readKeySet, type KeyName, type NamedKey, type PublishedKey } from './keys.ts'

const cacheMs = 3_600_000
/**
 * A key that is not in the set may be new, and a set that could not be read may be readable again: the set is requested
 * again, at most once in this time.
 */
const refetchMs = 60_000
const timeoutMs = 5_000
const bytesMax = 65_536

type KeySet = { readonly keys: readonly PublishedKey[]; readonly readAt: number }
type Entry = { set: KeySet | undefined; triedAt: number; running: Promise<void> | undefined }

/** Reads the key set of a root: only what an operator added is ever asked. */
const fetchKeys = async (ctx: Ctx, root: Root): Promise<readonly PublishedKey[]> => {
  const fault = keysUrlFault(root.keysUrl, ctx.config.loopback)
  if (fault !== undefined) throw new Error(`the address of the keys ${fault}`)
  const accepted = mediaTypesOf(root.kind)
  const response = await send({
    url: root.keysUrl,
    method: 'GET',
    headers: { accept: accepted.join(', ') },
    timeoutMs,
    responseBytesMax: bytesMax,
    // An operator named the root, but whoever runs it chooses where its name leads.
    trust: 'user',
    allowLoopback: ctx.config.loopback,
  })
  const type = response.headers['content-type']?.split(';')[0]?.trim().toLowerCase() ?? ''
  if (response.status !== 200) throw new Error(`its status is ${response.status}, expected 200`)
  if (!response.complete) throw new Error(`it is longer than ${bytesMax} bytes or was cut`)
  if (!accepted.includes(type))
    throw new Error(`its media type is ${type.slice(0, 100)}, expected ${accepted[0]}`)
  const keys = await readKeySet(response.body)
  if (!keys) throw new Error(`the answer of ${root.keysUrl} is no key set`)
  return keys
}

/** The keys of trust roots, each set read at most once a minute. */
export const makeKeySets = (ctx: Ctx) => {
  const entries = new Map<string, Entry>()
  const nowMs = () => ctx.clock.now().getTime()

  const entryOf = (root: Root): Entry => {
    const name = `${root.kind} ${root.keysUrl}`
    const known = entries.get(name)
    if (known) return known
    // Roots are few; this many means that they were replaced again and again.
    if (entries.size >= 1_000) entries.clear()
    const entry: Entry = { set: undefined, triedAt: -Infinity, running: undefined }
    entries.set(name, entry)
    return entry
  }

  /** One request at a time, and at most one a minute. */
  const readAgain = async (root: Root, entry: Entry): Promise<void> => {
    if (!entry.running && nowMs() - entry.triedAt < refetchMs) return
    entry.running ??= (async () => {
      entry.triedAt = nowMs()
      try {
        entry.set = { keys: await fetchKeys(ctx, root), readAt: nowMs() }
      } catch (error) {
        ctx.log.warn({ err: error, kind: root.kind, root: root.name }, 'keys of a trust root not read')
      } finally {
        entry.running = undefined
      }
    })()
    await entry.running
  }

  const freshKeys = (entry: Entry): readonly PublishedKey[] | undefined =>
    entry.set && nowMs() - entry.set.readAt < cacheMs ? entry.set.keys : undefined

  /**
   * The key of this name; undefined where the set has none. Refuses where the set cannot be read, and where several keys have
   * this `kid`. Keys of a directory are named by their thumbprint alone.
   */
  const find = async (root: Root, name: KeyName): Promise<PublishedKey | undefined> => {
    const entry = entryOf(root)
    const findIn = (keys: readonly PublishedKey[]): NamedKey =>
      keyNamed(keys, name, { acceptsKid: root.kind !== 'directory', seconds: nowMs() / 1_000 })
    const found = findIn(freshKeys(entry) ?? [])
    if (typeof found === 'object') return found
    await readAgain(root, entry)
    const keys = freshKeys(entry)
    if (!keys) throw new Refusal('agent_keys_unreachable', { headers: { 'retry-after': '60' } })
    const read = findIn(keys)
    if (read === 'ambiguous')
      throw new Refusal('untrusted_agent', {
        message: `Several keys of the trust root ${root.name} have this kid. Name the key by its RFC 7638 thumbprint.`,
      })
    return read === 'none' ? undefined : read
  }
  return { find }
}
export type KeySets = ReturnType<typeof makeKeySets>
