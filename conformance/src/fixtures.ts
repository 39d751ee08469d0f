import { randomUUID } from 'node:crypto'
import { createLocalJWKSet, jwtVerify, type JSONWebKeySet, type JWTPayload, type JWTVerifyResult } from 'jose'
import { Failure, Skipped, NotBuilt, at, isRecord } from './expect.ts'
import type { HttpResponse } from './http.ts'
import { oncePerRun, type RunContext } from './run-context.ts'

export type Agent = { readonly apiKey: string; readonly agentId: string }
export type Mode = 'live' | 'test'

/** Text that was not used before. */
export const uniqueText = (what: string): string => `${what}-${randomUUID()}`

const requiredField = (answer: HttpResponse, path: string): string => {
  const value = at(answer.body, path)
  if (answer.status !== 200 || typeof value !== 'string')
    throw new Failure(`${answer.call} to give ${path}`, `${answer.status} ${answer.text}`)
  return value
}

/** Registrations are limited per address, so most statements share the agents below. */
export const registerAgent = async (world: RunContext, mode: Mode): Promise<Agent> => {
  if (!world.api.has('POST /api/agents/register')) throw new NotBuilt('POST /api/agents/register')
  const answer = await world.http.post('/api/agents/register', {
    name: 'Conformance',
    contactEmail: `${uniqueText('conformance')}@example.com`,
    mode,
  })
  return { apiKey: requiredField(answer, 'apiKey'), agentId: requiredField(answer, 'agentId') }
}

export const testAgent = oncePerRun((world) => registerAgent(world, 'test'))
/** Another tenant in the sandbox. */
export const otherAgent = oncePerRun((world) => registerAgent(world, 'test'))
/** A live agent that never paid and never confirmed its mail address. */
export const liveAgent = oncePerRun((world) => registerAgent(world, 'live'))

export const keySet = oncePerRun(async (world): Promise<JSONWebKeySet> => {
  if (!world.api.has('GET /.well-known/jwks.json')) throw new NotBuilt('GET /.well-known/jwks.json')
  const { body, status, text } = await world.http.get('/.well-known/jwks.json')
  if (status !== 200 || !isRecord(body) || !Array.isArray(body['keys']))
    throw new Failure('a JWK Set', `${status} ${text}`)
  return { keys: body['keys'] }
})

/** Checks a credential as any relying party would: with the public keys and a standard library. */
export const verifyJwt = async (world: RunContext, jwt: string): Promise<JWTVerifyResult> => {
  const keys = createLocalJWKSet(await keySet(world))
  try {
    return await jwtVerify(jwt, keys, { algorithms: ['ES256'] })
  } catch (error) {
    throw new Failure('a JWT that verifies against the JWKS', error instanceof Error ? error.message : jwt)
  }
}

export type MintedCredential = {
  readonly answer: HttpResponse
  readonly jwt: string
  readonly credentialId: string
  readonly claims: () => Promise<JWTPayload>
}

const toMintedCredential = (world: RunContext, answer: HttpResponse): MintedCredential => {
  const jwt = requiredField(answer, 'pohf_jwt')
  return {
    answer,
    jwt,
    credentialId: requiredField(answer, 'credentialId'),
    claims: async () => (await verifyJwt(world, jwt)).payload,
  }
}

/** Mints for a session; to a test key an invented one is a simulated attentive person. */
export const mintSession = async (
  world: RunContext,
  agent: Agent,
  sessionId = uniqueText('session'),
): Promise<MintedCredential> =>
  toMintedCredential(world, await world.http.post('/api/agents/verify', { sessionId }, { key: agent.apiKey }))

export const mintMember = async (
  world: RunContext,
  agent: Agent,
  body: Readonly<Record<string, string>> = {},
): Promise<MintedCredential> =>
  toMintedCredential(
    world,
    await world.http.post(
      '/api/agents/verify-personhood',
      { memberId: uniqueText('member'), ...body },
      { key: agent.apiKey },
    ),
  )

export const mintBinding = async (
  world: RunContext,
  agent: Agent,
  body: Readonly<Record<string, string | boolean>>,
): Promise<MintedCredential> =>
  toMintedCredential(
    world,
    await world.http.post('/api/agents/bind-transaction', body, { key: agent.apiKey }),
  )

export const sharedSession = oncePerRun(async (world) => mintSession(world, await testAgent(world)))
export const sharedMember = oncePerRun(async (world) => mintMember(world, await testAgent(world)))

export type Balance = {
  readonly balance: number
  readonly lifetimePurchased: number
  readonly lifetimeConsumed: number
}

export const readBalance = async (world: RunContext, agent: Agent): Promise<Balance> => {
  const answer = await world.http.get('/api/agents/credits/balance', { key: agent.apiKey })
  const numberOf = (name: string): number => {
    const value = at(answer.body, name)
    if (answer.status !== 200 || typeof value !== 'number')
      throw new Failure(`${name} in the balance`, `${answer.status} ${answer.text}`)
    return value
  }
  return {
    balance: numberOf('balance'),
    lifetimePurchased: numberOf('lifetimePurchased'),
    lifetimeConsumed: numberOf('lifetimeConsumed'),
  }
}

/** The ids on offer. Only a deployment elsewhere may have nothing to offer. */
export const offeredWorkflows = oncePerRun(async (world): Promise<readonly Record<string, unknown>[]> => {
  const answer = await world.http.get('/api/workflows/available')
  const list = at(answer.body, 'workflows')
  if (answer.status !== 200 || !Array.isArray(list))
    throw new Failure('a list of workflows', `${answer.status} ${answer.text}`)
  const tasks = list.filter(isRecord)
  if (tasks.length > 0) return tasks
  if (world.isLoopback) throw new Failure('at least one workflow on a loopback deployment', answer.text)
  throw new Skipped('this deployment offers no work at the moment')
})
