import type { Command } from 'commander'

export type Remote = {
  readonly url: string
  readonly key?: string
  /** Calls with the same key act once. */
  readonly idempotencyKey?: string
}

/** Calls the operators' listener, prints its response and returns it; a refusal sets the exit code 1. */
export const requestOperator = async (
  remote: Remote,
  method: 'GET' | 'POST',
  path: string,
  body?: unknown,
): Promise<unknown> => {
  const key = remote.key ?? process.env['POHF_OPERATOR_KEY']
  if (!key) {
    console.error(
      'An operator key is needed: --key or POHF_OPERATOR_KEY. Make one with: pohf operator create <name>',
    )
    process.exitCode = 2
    return undefined
  }
  const response = await fetch(new URL(path, remote.url), {
    method,
    headers: {
      authorization: `Bearer ${key}`,
      'content-type': 'application/json',
      ...(remote.idempotencyKey === undefined ? {} : { 'idempotency-key': remote.idempotencyKey }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    signal: AbortSignal.timeout(60_000),
  }).catch((error: unknown) => {
    console.error(`${remote.url} does not answer: ${error instanceof Error ? error.message : String(error)}`)
    return undefined
  })
  if (!response) {
    process.exitCode = 1
    return undefined
  }
  const answer = (await response.json()) as { ok?: boolean }
  console.log(JSON.stringify(answer, null, 2))
  // A refusal, or a check that found something.
  if (!response.ok || answer.ok === false) process.exitCode = 1
  return answer
}

/** The same for a command that does one call. */
export const operatorCall = async (...call: Parameters<typeof requestOperator>): Promise<void> => {
  await requestOperator(...call)
}

const queryOf = (values: Readonly<Record<string, string | undefined>>): string => {
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries(values)) if (value !== undefined) query.set(name, value)
  return query.toString()
}

/** What the operators' pages show: the overview, and the agents. */
export const addOperatorLists = (makeCommand: (text: string) => Command): void => {
  makeCommand('overview')
    .description('read the health of the service and what waits for a decision')
    .action((options) => operatorCall(options, 'GET', '/operator/overview'))
  makeCommand('agents')
    .description('list the agents, newest first, or find them')
    .option('--search <text>', 'an agent id, a whole mail address, or the beginning of a name')
    .option('--state <state>', 'only these: suspended or unconfirmed')
    .option('--after <agentId>', 'nextCursor of the page before')
    .action(({ search, state, after, ...remote }) =>
      operatorCall(remote, 'GET', `/operator/agents?${queryOf({ order: 'newest', search, state, after })}`),
    )
  makeCommand('agent <agentId>')
    .description('read an agent, its balances and what operators granted it')
    .action((agentId: string, options) =>
      operatorCall(options, 'GET', `/operator/agents/${encodeURIComponent(agentId)}`),
    )
}
