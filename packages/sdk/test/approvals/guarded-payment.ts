import type { TestContext } from 'node:test'
import { guard, type GuardOptions } from '../../src/approvals.ts'
import { createClient } from '../../src/index.ts'
import { approvers, startApprovalServer, type Behaviour } from './approval-server.ts'

export type Payment = { amount: string; to: string; lines?: string[] }
export const payment = (): Payment => ({ amount: '120.00', to: 'DE02', lines: ['one'] })

export type Options = Partial<Omit<GuardOptions, 'approvers' | 'group'>>
/** A guarded payment, and a service of its own that behaves as the test says. */
export const start = async (t: TestContext, behaviour: Behaviour = {}, more: Options = {}) => {
  const server = await startApprovalServer(behaviour)
  t.after(server.stop)
  const client = createClient({
    baseUrl: server.baseUrl,
    apiKey: 'pohf_test_key',
    retries: 1,
    wait: async () => undefined,
  })
  const ran: Payment[] = []
  const options: GuardOptions = {
    client,
    type: 'invoice.pay',
    approvers,
    quorum: 2,
    timeoutMs: 20_000,
    ...more,
  }
  const run = (input: Payment): string => {
    ran.push(input)
    return `paid ${input.amount}`
  }
  return { server, client, ran, options, run, pay: guard(run, options) }
}

/** Adds properties to `Object.prototype` until the test ends, as a faulty dependency of the program would. */
export const pollute = (t: TestContext, properties: Readonly<Record<string, unknown>>): void => {
  for (const [name, value] of Object.entries(properties))
    // oxlint-disable-next-line no-extend-native -- the attack itself
    Object.defineProperty(Object.prototype, name, {
      value,
      configurable: true,
      enumerable: true,
      writable: true,
    })
  t.after(() => {
    for (const name of Object.keys(properties)) Reflect.deleteProperty(Object.prototype, name)
  })
}
