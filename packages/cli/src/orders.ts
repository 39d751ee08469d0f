import { readFileSync } from 'node:fs'
import { agentCall, CommandError, keyOf, runCommand, type AgentRemote } from './agent.ts'
import { operatorCall, type Remote } from './operator.ts'

const pathOf = (orderId: string, rest = '') => `/api/agents/orders/${encodeURIComponent(orderId)}${rest}`
const show = (answer: unknown): void => console.log(JSON.stringify(answer, null, 2))

type Order = {
  readonly orderId: string
  readonly status: string
  readonly taskType: string
  readonly quantity: number
  readonly totalUsd: number
  readonly units: Readonly<Record<string, number>>
}
type Unit = { readonly n: number; readonly status: string; readonly answer: unknown }

const unitsOf = (units: Order['units']): string =>
  Object.entries(units)
    .filter(([, count]) => count > 0)
    .map(([state, count]) => `${count} ${state}`)
    .join(', ')

export const list = (remote: AgentRemote & { readonly status?: string }): Promise<void> =>
  runCommand(async () => {
    const query = remote.status === undefined ? '' : `?status=${encodeURIComponent(remote.status)}`
    const answer = await agentCall<{ orders: Order[] }>(remote, 'GET', `/api/agents/orders${query}`)
    if (remote.json) return console.log(JSON.stringify(answer))
    if (answer.orders.length === 0) console.log('No order yet. See docs/guides/work.md.')
    for (const order of answer.orders)
      console.log(
        `${order.orderId}  ${order.status}  ${order.quantity} x ${order.taskType}  ${order.totalUsd} USD  ${unitsOf(order.units)}`,
      )
  })

export const read = (orderId: string, remote: AgentRemote): Promise<void> =>
  runCommand(async () => show(await agentCall<Order>(remote, 'GET', pathOf(orderId))))

/** Pages of a thousand units. */
const pagesMax = 10
export const results = (orderId: string, remote: AgentRemote & { readonly csv?: boolean }): Promise<void> =>
  runCommand(async () => {
    if (remote.csv) {
      const url = new URL(pathOf(orderId, '/results?format=csv&limit=1000'), remote.url)
      const response = await fetch(url, {
        headers: { authorization: `Bearer ${keyOf(remote)}` },
        signal: AbortSignal.timeout(60_000),
      })
      const text = await response.text()
      if (!response.ok) throw new CommandError(text)
      process.stdout.write(text)
      const next = response.headers.get('x-next-cursor')
      if (next !== null) console.error(`There is more after unit ${next}.`)
      return
    }
    let after = 0
    for (let page = 0; page < pagesMax; page++) {
      const answer = await agentCall<{ units: Unit[]; nextCursor: number | null }>(
        remote,
        'GET',
        pathOf(orderId, `/results?limit=1000&after=${after}`),
      )
      for (const unit of answer.units)
        console.log(
          remote.json
            ? JSON.stringify(unit)
            : `${unit.n}  ${unit.status}  ${unit.answer === null ? '' : JSON.stringify(unit.answer)}`,
        )
      if (answer.nextCursor === null) return
      after = answer.nextCursor
    }
  })

export const accept = (orderId: string, n: string, remote: AgentRemote): Promise<void> =>
  runCommand(async () =>
    show(await agentCall<Unit>(remote, 'POST', pathOf(orderId, `/units/${encodeURIComponent(n)}/accept`))),
  )

export const reject = (
  orderId: string,
  n: string,
  remote: AgentRemote & { readonly reason: string; readonly note?: string },
): Promise<void> =>
  runCommand(async () => {
    const body = { reason: remote.reason, ...(remote.note === undefined ? {} : { note: remote.note }) }
    show(
      await agentCall<Unit>(remote, 'POST', pathOf(orderId, `/units/${encodeURIComponent(n)}/reject`), body),
    )
  })

export const cancel = (orderId: string, remote: AgentRemote): Promise<void> =>
  runCommand(async () => show(await agentCall<Order>(remote, 'POST', pathOf(orderId, '/cancel'))))

/** Creates or changes a workflow from a JSON file. */
export const writeWorkflow = (
  workflowId: string,
  remote: Remote & { readonly file: string },
): Promise<void> => {
  let body: unknown
  try {
    body = JSON.parse(readFileSync(remote.file === '-' ? 0 : remote.file, 'utf8'))
  } catch (error) {
    console.error(`${remote.file} is no JSON: ${error instanceof Error ? error.message : String(error)}`)
    process.exitCode = 2
    return Promise.resolve()
  }
  return operatorCall(remote, 'POST', `/operator/workflows/${encodeURIComponent(workflowId)}`, body)
}
