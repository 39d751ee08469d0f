import { agentCall, agentFetch, type AgentRemote } from '../command/agent.ts'
import { UsageError } from '../command/errors.ts'
import { readText } from '../command/files.ts'
import { printAnswer } from '../command/output.ts'
import { refusalOf } from '../command/requests.ts'

const pathOf = (orderId: string, rest = '') => `/api/agents/orders/${encodeURIComponent(orderId)}${rest}`
const show = (remote: AgentRemote, answer: unknown): void =>
  printAnswer(remote, answer, () => console.log(JSON.stringify(answer, null, 2)))

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

export const list = async (remote: AgentRemote & { readonly status?: string }): Promise<void> => {
  const query = remote.status === undefined ? '' : `?status=${encodeURIComponent(remote.status)}`
  const answer = await agentCall<{ orders: Order[] }>(remote, 'GET', `/api/agents/orders${query}`)
  printAnswer(remote, answer, () => {
    if (answer.orders.length === 0) console.log('No order. Make one: pohf orders create wf_text_review 2')
    for (const order of answer.orders)
      console.log(
        `${order.orderId}  ${order.status}  ${order.quantity} x ${order.taskType}  ${order.totalUsd} USD  ${unitsOf(order.units)}`,
      )
  })
}

type CreateOptions = AgentRemote & {
  readonly maxPriceUsd?: string
  readonly items?: string
  readonly instructions?: string
  readonly callbackRef?: string
  readonly idempotencyKey?: string
  readonly fund?: true
}

const numberOf = (text: string, name: string): number => {
  const value = text.trim() === '' ? Number.NaN : Number(text)
  if (Number.isNaN(value)) throw new UsageError(`${name} must be a number.`, `Correct ${name}.`)
  return value
}

const parseItem = (part: string): unknown => {
  try {
    return JSON.parse(part)
  } catch {
    return part
  }
}

/** One JSON array, or one item on each line: JSON where the line is JSON, else text. */
const readItems = (text: string): unknown[] => {
  const whole = parseItem(text)
  if (Array.isArray(whole)) return whole
  return text
    .split(/\r?\n/)
    .map((line) => line.trim())
    .filter((line) => line !== '')
    .map(parseItem)
}

type CreatedOrder = Order & {
  readonly expiresAt: string
  readonly warnings: readonly { readonly code?: string }[]
}
type Funding = { readonly checkoutUrl: string; readonly amountUsd: number; readonly expiresAt: string }

const requestFunding = (remote: AgentRemote, orderId: string): Promise<Funding> =>
  agentCall<Funding>(remote, 'POST', '/api/agents/order/fund', { body: { orderId } })

const printFunding = ({ checkoutUrl, amountUsd, expiresAt }: Funding): void =>
  console.log(`Pay ${amountUsd} USD until ${expiresAt}:\n\n  ${checkoutUrl}`)

/** `pohf orders create`. */
export const create = async (taskType: string, quantity: string, options: CreateOptions): Promise<void> => {
  const body = {
    taskType,
    quantity: numberOf(quantity, 'the quantity'),
    ...(options.maxPriceUsd === undefined
      ? {}
      : { maxPriceUsd: numberOf(options.maxPriceUsd, '--max-price-usd') }),
    ...(options.items === undefined ? {} : { items: readItems(readText(options.items)) }),
    ...(options.instructions === undefined ? {} : { instructions: options.instructions }),
    ...(options.callbackRef === undefined ? {} : { callbackRef: options.callbackRef }),
  }
  const { idempotencyKey } = options
  const order = await agentCall<CreatedOrder>(options, 'POST', '/api/agents/order', { body, idempotencyKey })
  const funding = options.fund ? await requestFunding(options, order.orderId) : undefined
  printAnswer(options, { ...order, ...(funding && { funding }) }, () => {
    console.log(`Ordered: ${order.quantity} x ${order.taskType} for ${order.totalUsd} USD`)
    console.log(`  order    ${order.orderId}`)
    console.log(`  status   ${order.status}`)
    console.log(`  expires  ${order.expiresAt}`)
    for (const warning of order.warnings) console.log(`  warning  ${JSON.stringify(warning)}`)
    if (funding) printFunding(funding)
    else console.log(`\nWorkers see it when it is funded: pohf orders fund ${order.orderId}`)
  })
}

/** `pohf orders fund`: with a test key the order is funded at once. */
export const fund = async (orderId: string, remote: AgentRemote): Promise<void> => {
  const funding = await requestFunding(remote, orderId)
  printAnswer(remote, funding, () => printFunding(funding))
}

export const read = async (orderId: string, remote: AgentRemote): Promise<void> =>
  show(remote, await agentCall<Order>(remote, 'GET', pathOf(orderId)))

/** Pages of a thousand units. */
const pagesMax = 10

const printCsv = async (orderId: string, remote: AgentRemote): Promise<void> => {
  let after = '0'
  for (let page = 0; page < pagesMax; page++) {
    const path = pathOf(orderId, `/results?format=csv&limit=1000&after=${encodeURIComponent(after)}`)
    const response = await agentFetch(remote, path)
    const text = await response.text()
    if (!response.ok) throw await refusalOf(response, text)
    // Each page begins with the names of the columns.
    process.stdout.write(page === 0 ? text : text.slice(text.indexOf('\n') + 1))
    const next = response.headers.get('x-next-cursor')
    if (next === null) return
    after = next
  }
}

export const results = async (
  orderId: string,
  remote: AgentRemote & { readonly csv?: boolean },
): Promise<void> => {
  if (remote.csv) return printCsv(orderId, remote)
  let after = 0
  for (let page = 0; page < pagesMax; page++) {
    const answer = await agentCall<{ units: Unit[]; nextCursor: number | null }>(
      remote,
      'GET',
      pathOf(orderId, `/results?limit=1000&after=${after}`),
    )
    for (const unit of answer.units)
      printAnswer(remote, unit, () =>
        console.log(`${unit.n}  ${unit.status}  ${unit.answer === null ? '' : JSON.stringify(unit.answer)}`),
      )
    if (answer.nextCursor === null) return
    after = answer.nextCursor
  }
}

export const accept = async (orderId: string, n: string, remote: AgentRemote): Promise<void> =>
  show(
    remote,
    await agentCall<Unit>(remote, 'POST', pathOf(orderId, `/units/${encodeURIComponent(n)}/accept`)),
  )

export const reject = async (
  orderId: string,
  n: string,
  remote: AgentRemote & { readonly reason: string; readonly note?: string },
): Promise<void> => {
  const body = { reason: remote.reason, ...(remote.note === undefined ? {} : { note: remote.note }) }
  const path = pathOf(orderId, `/units/${encodeURIComponent(n)}/reject`)
  show(remote, await agentCall<Unit>(remote, 'POST', path, { body }))
}

export const cancel = async (orderId: string, remote: AgentRemote): Promise<void> =>
  show(remote, await agentCall<Order>(remote, 'POST', pathOf(orderId, '/cancel')))
