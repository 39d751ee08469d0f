import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { pollUntil } from '../../../packages/server/test/fixtures/polling.ts'
import type { Service } from './deployment.ts'
import { claimsOf, inParallel, request, runProgram, stateIn, type HeldCredential } from './service.ts'
import { withDatabase } from '../../driver/service.ts'
import { mainFile } from '../../../packages/server/test/fixtures/processes/child-processes.ts'

const credits = 100_000

export type Agent = { readonly agentId: string; readonly apiKey: string }

export const mintAll = async (service: Service, agent: Agent, sessions: readonly string[]) => {
  const held: HeldCredential[] = []
  const refusals = new Map<string, number>()
  await inParallel(sessions, service.clients, async (sessionId) => {
    const { status, json } = await request(`${service.baseUrl}/api/agents/verify`, 'POST', agent.apiKey, {
      sessionId,
    })
    if (status !== 200) {
      const name = `${status} ${String(json['error'])}`
      refusals.set(name, (refusals.get(name) ?? 0) + 1)
      return
    }
    service.noteMint()
    const jwt = String(json['pohf_jwt'])
    const { jti, status: place } = claimsOf(jwt) as {
      jti: string
      status: { status_list: { uri: string; idx: number } }
    }
    held.push({ sessionId, id: jti, jwt, ...place.status_list })
  })
  return { held, refusals }
}

export const registerAgent = async ({ baseUrl, databaseUrl }: Service): Promise<Agent> => {
  const { json } = await request(`${baseUrl}/api/agents/register`, 'POST', undefined, {
    name: 'Battery',
    contactEmail: 'battery@example.com',
    mode: 'live',
  })
  const agent = { agentId: String(json['agentId']), apiKey: String(json['apiKey']) }
  await withDatabase(databaseUrl, (client) =>
    client.query(
      "select ledger_post($1, 'live', 'battery', 'seed', 'ent_' || $1, '{world:battery,credits}', '{credit,credit}', array[-$2::bigint, $2::bigint])",
      [agent.agentId, credits],
    ),
  )
  return agent
}

export const makeOperator = async ({ env }: Service): Promise<string> =>
  String((await runProgram([mainFile, 'operator', 'create', 'Battery'], env))['operatorKey'])

export const revokeAll = (service: Service, key: string, held: readonly HeldCredential[]) => {
  let refused = 0
  return inParallel(held, service.clients, async ({ id }) => {
    const url = `${service.operator}/operator/credentials/${id}/revoke`
    const { status } = await request(url, 'POST', key, { reason: 'battery' })
    if (status !== 200) refused += 1
  }).then(() => refused)
}

/** Waits until the published lists show these credentials as revoked; returns how many they do not. */
export const countUnrevoked = async (held: readonly HeldCredential[], waitMs: number): Promise<number> => {
  const count = async () => {
    const lists = new Map<string, string>()
    for (const uri of new Set(held.map((one) => one.uri))) lists.set(uri, await (await fetch(uri)).text())
    return held.filter(({ uri, idx }) => stateIn(lists.get(uri) ?? '', idx) !== 1).length
  }
  const deadline = performance.now() + waitMs
  for (;;) {
    const unrevoked = await count()
    if (unrevoked === 0 || performance.now() > deadline) return unrevoked
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
}

/** The published version of each list. */
export const readVersions = async (uris: ReadonlySet<string>): Promise<ReadonlyMap<string, number>> => {
  const versions = new Map<string, number>()
  for (const uri of uris) {
    const response = await fetch(uri)
    versions.set(uri, response.ok ? Number(claimsOf(await response.text())['pohf_version']) : -1)
  }
  return versions
}

/** How many lists have an older version than before, or are gone. */
export const countRevertedLists = async (before: ReadonlyMap<string, number>): Promise<number> => {
  const versions = await readVersions(new Set(before.keys()))
  return [...before].filter(([uri, version]) => (versions.get(uri) ?? -1) < version).length
}

/** Lets the worker build changed lists at its next look, not 15 seconds after the last build. */
export const publishSoon = ({ databaseUrl }: Service) =>
  withDatabase(databaseUrl, (client) =>
    client.query("update status_lists set built_at = built_at - interval '1 minute' where jwt is not null"),
  )

export const pick = (
  random: () => number,
  held: readonly HeldCredential[],
  count: number,
): HeldCredential[] =>
  held
    .map((one) => ({ one, order: random() }))
    .toSorted((a, b) => a.order - b.order)
    .slice(0, count)
    .map(({ one }) => one)

export const sessionNames = (prefix: string, count: number) =>
  Array.from({ length: count }, (_, n) => `${prefix}${n}`)

/** Waits until the journal has an acknowledgement of its last batch. */
export const waitUntilAcknowledged = ({ folder }: Service): Promise<true> =>
  pollUntil('the last batch is acknowledged', async () => {
    const journal = join(folder, 'keys', 'journal')
    const lines = readdirSync(journal).flatMap((name) =>
      readFileSync(join(journal, name), 'utf8').split('\n'),
    )
    const records = lines.flatMap((line) =>
      line.startsWith('{') && line.includes('\t')
        ? [JSON.parse(line.split('\t')[0] ?? '') as { kind: string; batch?: number; batches?: number[] }]
        : [],
    )
    const last = records.findLast(({ kind }) => kind === 'credential')?.batch
    return records.some(({ kind, batches }) => kind === 'acknowledged' && batches?.includes(last ?? 0))
  })
