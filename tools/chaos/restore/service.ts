import { spawn } from 'node:child_process'
import { createPublicKey, verify, type JsonWebKey } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import { inflateSync } from 'node:zlib'
import type { Client } from 'pg'

/** A credential as its holder has it. */
export type HeldCredential = {
  readonly sessionId: string
  readonly id: string
  readonly jwt: string
  readonly uri: string
  readonly idx: number
}
export type Answer = {
  readonly status: number
  readonly json: Readonly<Record<string, unknown>>
}

export const claimsOf = (jwt: string): Readonly<Record<string, unknown>> =>
  JSON.parse(Buffer.from(jwt.split('.')[1] ?? '', 'base64url').toString('utf8')) as Record<string, unknown>

/** The state of an index in a signed status list. */
export const stateIn = (list: string, idx: number): number => {
  const { lst } = claimsOf(list)['status_list'] as { lst: string }
  const bits = inflateSync(Buffer.from(lst, 'base64url'))
  return ((bits[idx >> 2] ?? 0) >> ((idx & 3) * 2)) & 3
}

export const request = async (url: string, method: string, key?: string, body?: unknown): Promise<Answer> => {
  const response = await fetch(url, {
    method,
    headers: {
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    signal: AbortSignal.timeout(60_000),
  })
  const text = await response.text()
  return { status: response.status, json: text.startsWith('{') ? (JSON.parse(text) as Answer['json']) : {} }
}

/** Works through items with several clients at once. */
export const inParallel = async <T>(
  items: readonly T[],
  clients: number,
  work: (item: T) => Promise<void>,
) => {
  const waiting = [...items]
  const client = async () => {
    for (let item = waiting.shift(); item !== undefined; item = waiting.shift()) await work(item)
  }
  await Promise.all(Array.from({ length: clients }, client))
}

/** Scored sessions that wait to be verified. */
export const seedSessions = (client: Client, agentId: string, ids: readonly string[]) =>
  client.query(
    `with claimed as (insert into session_claims (agent_id, mode, session_id, at)
       select $1, 'live', id, date_trunc('second', now()) from unnest($2::text[]) id returning *)
     insert into sessions (agent_id, session_id, at, mode, kind, status, ended_at, quality, verified, assurance, scoring,
       components, evidence, salt)
     select agent_id, session_id, at, mode, 'view', 'scored', at, 0.9, true, 'low', 'attention-1', '{"focus":1}',
       jsonb_build_array(jsonb_build_object('type', 'telemetry', 'alg', 'sha-256', 'hash', repeat('h', 43))), '\\x00'
     from claimed`,
    [agentId, [...ids]],
  )

const cli = fileURLToPath(new URL('../../../packages/cli/src/main.ts', import.meta.url))
/** Runs a command of the runbook. */
export const runCommand = (parameters: readonly string[], env: NodeJS.ProcessEnv) =>
  runProgram([cli, ...parameters], env)

/** Runs a program; returns what it printed as JSON. */
export const runProgram = async (
  parameters: readonly string[],
  env: NodeJS.ProcessEnv,
): Promise<Readonly<Record<string, unknown>>> => {
  const child = spawn(process.execPath, [...parameters], { env, stdio: ['ignore', 'pipe', 'inherit'] })
  let text = ''
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
  await new Promise<void>((resolve) => child.once('close', () => resolve()))
  try {
    return JSON.parse(text) as Record<string, unknown>
  } catch (cause) {
    throw new Error(`${parameters.join(' ')} printed no JSON: ${text.slice(0, 500)}`, { cause })
  }
}

export type KeySet = { readonly keys: readonly (JsonWebKey & { readonly kid: string })[] }

/** Tells of a credential whether a key of the set signed it. */
export const makeVerifier = ({ keys }: KeySet): ((jwt: string) => boolean) => {
  const keyOf = new Map(keys.map((jwk) => [jwk.kid, createPublicKey({ key: jwk, format: 'jwk' })]))
  return (jwt) => {
    const [head = '', payload = '', signature = ''] = jwt.split('.')
    const { kid } = JSON.parse(Buffer.from(head, 'base64url').toString()) as { kid: string }
    const key = keyOf.get(kid)
    const [input, raw] = [Buffer.from(`${head}.${payload}`), Buffer.from(signature, 'base64url')]
    return key !== undefined && verify('sha256', input, { key, dsaEncoding: 'ieee-p1363' }, raw)
  }
}

/** The keys that the service publishes. */
export const readKeySet = async (baseUrl: string): Promise<KeySet> => {
  const answer = await fetch(`${baseUrl}/.well-known/jwks.json`, { signal: AbortSignal.timeout(30_000) })
  return (await answer.json()) as KeySet
}

/** How many of these credentials no published key verifies. */
export const countUnverifiable = async (baseUrl: string, jwts: readonly string[]): Promise<number> => {
  const isSigned = makeVerifier(await readKeySet(baseUrl))
  return jwts.filter((jwt) => !isSigned(jwt)).length
}
