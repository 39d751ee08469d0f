import { UsageError } from './errors.ts'
import { exitCodes } from './exit-codes.ts'
import { requestJson } from './requests.ts'

export type OperatorRemote = {
  readonly url: string
  readonly key?: string
  readonly json?: boolean
  /** Calls with the same key act once. */
  readonly idempotencyKey?: string
}

/** Prints JSON: in one line with `--json`, else indented for people. */
export const printJson = (options: { readonly json?: boolean }, value: unknown): void =>
  console.log(options.json ? JSON.stringify(value) : JSON.stringify(value, null, 2))

/** Calls the operators' listener, prints its answer and returns it. */
export const requestOperator = async (
  remote: OperatorRemote,
  method: 'GET' | 'POST',
  path: string,
  body?: unknown,
): Promise<unknown> => {
  if (!remote.key)
    throw new UsageError(
      'An operator key is needed: --operator-key or POHF_OPERATOR_KEY.',
      'Make one on the machine of the server: pohf operator create <name>.',
    )
  const answer = await requestJson<{ ok?: boolean }>({
    url: remote.url,
    method,
    path,
    headers: {
      authorization: `Bearer ${remote.key}`,
      ...(remote.idempotencyKey === undefined ? {} : { 'idempotency-key': remote.idempotencyKey }),
    },
    body,
    timeoutMs: 60_000,
    addressOption: '--operator-url',
  })
  printJson(remote, answer)
  // A check that found something.
  if (answer.ok === false) process.exitCode = exitCodes.refused
  return answer
}

/** The same for a command that does one call. */
export const operatorCall = async (...call: Parameters<typeof requestOperator>): Promise<void> => {
  await requestOperator(...call)
}

/** The parameters of a query that have a value. */
export const queryOf = (values: Readonly<Record<string, string | undefined>>): string => {
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries(values)) if (value !== undefined) query.set(name, value)
  return query.toString()
}
