import { makeWorker, type TestWorker } from '../../packages/server/test/fixtures/people/worker.ts'
import { pollUntil } from '../../packages/server/test/fixtures/polling.ts'
import { hourMs } from './rhythm.ts'
import { call, type Demo, type DemoAgent } from './service.ts'

const questions = [
  'Would you trust a shop with this returns policy?',
  'Is this product description honest?',
  'Does this headline promise too much?',
  'Would you open this newsletter?',
  'Is this answer of our support polite?',
  'Would you pay 39 EUR for these boots?',
  'Is this photo good enough for a catalogue?',
  'Do you understand what this service does?',
  'Is this price shown clearly?',
  'Would you recommend this page to a friend?',
]
const judgements = [
  'Yes. The time limit is named and the shop pays for the parcel.',
  'Mostly. The photo shows another colour than the text says.',
  'No. It promises a result that the text below does not support.',
  'I think so. The first sentence says what is in it for me.',
  'It is polite, but it does not answer the question that was asked.',
]

/** What the history of the orders leaves for the pages that show it. */
export type DemoWork = {
  readonly worker: TestWorker
  readonly results: Readonly<Record<'accepted' | 'rejected' | 'appealed' | 'notVerified', string>>
}

type OrderBody = { readonly taskType: string; readonly quantity: number; readonly items: readonly unknown[] }
const placeOrder = async (demo: Demo, buyer: DemoAgent, body: OrderBody): Promise<string> => {
  const { orderId } = await call(demo, 'POST', '/api/agents/order', { key: buyer.apiKey, body })
  return orderId
}
const fundOrder = async (demo: Demo, buyer: DemoAgent, orderId: string): Promise<void> => {
  const { key, body } = { key: buyer.apiKey, body: { orderId } }
  const { checkoutUrl } = await call(demo, 'POST', '/api/agents/order/fund', { key, body })
  if (buyer.mode === 'live') await demo.pay(new URL(checkoutUrl).pathname.split('/').at(-1) ?? '')
  await pollUntil('the order is funded', async () => {
    const { status } = await call(demo, 'GET', `/api/agents/orders/${orderId}`, { key })
    return status !== 'created'
  })
}
const judgementOrder = (quantity: number): OrderBody => ({
  taskType: 'wf_judge',
  quantity,
  items: Array.from({ length: quantity }, (_, index) => questions[index % questions.length]),
})

/** A worker does one unit in one to four minutes. */
const doUnit = async ({ harness, random }: Demo, worker: TestWorker, isVerified = true): Promise<string> => {
  const { status, json, text } = await worker.claim('wf_judge')
  if (status !== 200) throw new Error(`a unit was not claimed: ${text}`)
  const quality = random.integer(64, 93) / 100
  const measured = isVerified
    ? { quality }
    : { verified: false, quality: 0.31, reasons: ['attention_unproven', 'focus_low'] as const }
  const sessionId = await worker.record(json, measured)
  await harness.advance(random.integer(70, 240) * 1_000)
  await harness.owner.query('update sessions set ended_at = pohf_now() where session_id = $1', [sessionId])
  const answer = { judgement: random.pick(judgements), sure: random.integer(2, 5) }
  const delivered = await worker.deliver(json.assignmentId, sessionId, answer)
  if (delivered.status !== 200) throw new Error(`a unit was not delivered: ${delivered.text}`)
  return json.assignmentId
}

const review = (demo: Demo, orderId: string, n: number, verdict: 'accept' | 'reject') =>
  call(demo, 'POST', `/api/agents/orders/${orderId}/units/${n}/${verdict}`, {
    key: demo.live.apiKey,
    body: verdict === 'reject' ? { reason: 'low_effort', note: 'One sentence more would have helped.' } : {},
  })

/** Units of a finished order: each worker does two, and all are accepted. */
const finishOrder = async (demo: Demo, workers: readonly TestWorker[]): Promise<void> => {
  const orderId = await placeOrder(demo, demo.live, judgementOrder(workers.length * 2))
  await fundOrder(demo, demo.live, orderId)
  for (const worker of [...workers, ...workers]) await doUnit(demo, worker)
  await demo.harness.advance(5 * hourMs)
  for (let n = 1; n <= workers.length * 2; n++) await review(demo, orderId, n, 'accept')
}

/** An order in review: some units accepted, one rejected, one appealed. */
const reviewOrder = async (demo: Demo, workers: readonly TestWorker[]) => {
  const { live } = demo
  const [worker, ...others] = workers
  if (!worker) throw new Error('nobody works for the demo')
  const orderId = await placeOrder(demo, live, judgementOrder(10))
  await fundOrder(demo, live, orderId)
  const done: string[] = []
  for (const one of [worker, worker, worker, ...others]) done.push(await doUnit(demo, one))
  const notVerified = await doUnit(demo, worker, false)
  await demo.harness.advance(3 * hourMs)
  await review(demo, orderId, 1, 'accept')
  await review(demo, orderId, 2, 'reject')
  await review(demo, orderId, 3, 'reject')
  const [accepted = '', rejected = '', appealed = ''] = done
  const appeal = await worker.post(`assignments/${appealed}/appeal`, {
    text: 'I answered the question and gave a reason. Two sentences were asked for, and there are two.',
  })
  if (appeal.status !== 200) throw new Error(`no appeal: ${appeal.text}`)
  return { accepted, rejected, appealed, notVerified }
}

const account = (n: number) => `acct_demo${String(n).padStart(12, '0')}`
const requestPayout = async (worker: TestWorker, n: number): Promise<string> => {
  const { json: earnings } = await worker.get('earnings')
  const { vestedStars } = earnings.books.find(({ mode }: { mode: string }) => mode === 'live')
  const { json, status, text } = await worker.post('payout', {
    mode: 'live',
    stars: vestedStars,
    account: account(n),
  })
  if (status !== 200) throw new Error(`no payout of ${vestedStars} Stars: ${text}`)
  return json.requestId
}
/** One payout is paid, one approved, one in review, and one waits for its review. */
const requestPayouts = async (demo: Demo, workers: readonly TestWorker[]): Promise<void> => {
  const [ada, grace] = demo.operatorKeys
  const step = (requestId: string, name: string, key: string, body: object = {}) =>
    call(demo, 'POST', `/operator/payouts/${requestId}/${name}`, { key, body })
  for (const [n, worker] of workers.slice(0, 4).entries()) {
    const requestId = await requestPayout(worker, n)
    await demo.harness.advance(hourMs)
    if (n < 3) await step(requestId, 'review', ada)
    if (n < 2) await step(requestId, 'approve', grace)
    if (n < 1) await step(requestId, 'pay', ada, { paymentRef: 'SEPA-2041', account: account(n) })
  }
}

const makeItems = (quantity: number, item: (n: number) => object): object[] =>
  Array.from({ length: quantity }, (_, index) => item(index + 1))

/** Work that people can take now. */
const openOrders = async (demo: Demo): Promise<void> => {
  const { live } = demo
  for (const body of [
    judgementOrder(9),
    {
      taskType: 'wf_compare_texts',
      quantity: 12,
      items: makeItems(12, (n) => ({
        question: `Which answer is clearer? (${n})`,
        a: 'Use both hands.',
        b: 'Hold it.',
      })),
    },
    {
      taskType: 'wf_moderate',
      quantity: 20,
      items: makeItems(20, (n) => ({ message: `Comment ${n}: where is my parcel?!` })),
    },
  ])
    await fundOrder(demo, live, await placeOrder(demo, live, body))
  await placeOrder(demo, live, judgementOrder(5))
  await call(demo, 'POST', '/api/agents/order', {
    key: live.apiKey,
    body: {
      taskType: 'Call three shops and ask for their opening hours',
      quantity: 3,
      maxPriceUsd: 12,
      instructions: 'Write down the opening hours of each shop.',
    },
  })
}

/** What happens to orders on which day before the end: each step has its age in days. */
export const makeWorkSchedule = (demo: Demo) => {
  const { harness, live, test } = demo
  const workers: TestWorker[] = []
  let results: DemoWork['results'] | undefined
  const hire = async (): Promise<void> => {
    for (let n = 0; n < 5; n++) workers.push(await makeWorker(harness, live))
    await finishOrder(demo, workers)
  }
  const cancelOrder = async (): Promise<void> => {
    const orderId = await placeOrder(demo, live, judgementOrder(4))
    await fundOrder(demo, live, orderId)
    await call(demo, 'POST', `/api/agents/orders/${orderId}/cancel`, { key: live.apiKey, body: {} })
  }
  const payOut = async (): Promise<void> => {
    await harness.runJobs()
    await requestPayouts(demo, workers.slice(1))
    await fundOrder(demo, test, await placeOrder(demo, test, judgementOrder(3)))
  }
  const leaveOpen = async (): Promise<void> => {
    results = await reviewOrder(demo, workers)
    await openOrders(demo)
  }
  return {
    steps: new Map<number, () => Promise<void>>([
      [36, hire],
      [25, cancelOrder],
      [19, payOut],
      [2, leaveOpen],
    ]),
    read: (): DemoWork => {
      const [worker] = workers
      if (!worker || !results) throw new Error('the work of the demo was not seeded: too few days')
      return { worker, results }
    },
  }
}
