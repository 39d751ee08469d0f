import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ApprovalDenied, ApprovalUnavailable, guard } from '../../src/approvals.ts'
import { createClient } from '../../src/index.ts'
import { approvers, type Answer } from './approval-server.ts'
import { payment, pollute, start, type Payment } from './guarded-payment.ts'

test('a tool runs once, with the arguments that people approved', async (t) => {
  const { pay, ran, server } = await start(t, { pendingReads: 1 })
  assert.equal(await pay(payment()), 'paid 120.00')
  assert.deepEqual(structuredClone(ran), [payment()])
  assert.deepEqual(
    server.calls.map(({ name }) => name),
    ['create', 'read', 'read', 'consume'],
  )
})

test('what the caller changes after the call changes nothing', async (t) => {
  const { pay, ran, server } = await start(t, { pendingReads: 1 })
  const input = payment()
  const paid = pay(input)
  input.amount = '9000.00'
  input.lines?.push('two')
  assert.equal(await paid, 'paid 120.00')
  assert.deepEqual(structuredClone(ran), [payment()])
  assert.deepEqual(server.calls[0]?.body['action'], payment())
})

test('an argument whose getter would return another value the second time is read once', async (t) => {
  const { pay, ran } = await start(t)
  let reads = 0
  const input = {
    get amount() {
      reads += 1
      return reads === 1 ? '1.00' : '9000.00'
    },
    to: 'DE02',
  }
  await pay(input)
  assert.equal(ran[0]?.amount, '1.00')
})

/** What a tool reads of its arguments beside what they say. */
const readOthers = (input: Payment & { memo?: unknown; meta?: { memo?: unknown } }) => [
  input.memo,
  input.meta?.memo,
  input.lines?.[1],
  (input.lines as unknown as { memo?: unknown } | undefined)?.memo,
  'memo' in input,
]

for (const place of ['before the tool is wrapped', 'while people decide']) {
  test(`nothing of a polluted Object.prototype is in the arguments: ${place}`, async (t) => {
    const inherited = { memo: 'paid twice', 1: 'two' }
    const { options } = await start(t, {
      pendingReads: 1,
      reply: ({ name }) => {
        if (name === 'read') pollute(t, inherited)
        return undefined
      },
    })
    if (place.startsWith('before')) pollute(t, inherited)
    const seen: unknown[] = []
    const tool = guard((input: Payment & { meta: object }) => {
      seen.push(...readOthers(input))
      return [...(input.lines ?? [])].concat(input.lines?.map((line) => line.toUpperCase()) ?? [])
    }, options)
    assert.deepEqual(await tool({ ...payment(), meta: {} }), ['one', 'ONE'])
    assert.deepEqual(seen, [undefined, undefined, undefined, undefined, false])
  })
}

test('arguments are JSON for the tool as they were for its caller', async (t) => {
  const { options } = await start(t)
  const tool = guard(
    (input: object) => [JSON.stringify(input), Array.isArray((input as Payment).lines)],
    options,
  )
  assert.deepEqual(await tool(payment()), [JSON.stringify(payment()), true])
})

test('the tool cannot change what it was given', async (t) => {
  const { options } = await start(t)
  const tool = guard((input: Payment) => void input.lines?.push('three'), options)
  await assert.rejects(tool(payment()), TypeError)
})

test('two equal calls are two approvals', async (t) => {
  const { pay, ran, server } = await start(t)
  await pay(payment())
  await pay(payment())
  const ids = server.calls.filter(({ name }) => name === 'create').map(({ body }) => body['requestId'])
  assert.equal(new Set(ids).size, 2)
  assert.equal(ran.length, 2)
})

test('the members of a group are those that an administrator set', async (t) => {
  const { client, run, ran } = await start(t)
  const base = { client, type: 'invoice.pay', quorum: 2, timeoutMs: 20_000 }
  assert.equal(await guard(run, { ...base, group: 'finance' })(payment()), 'paid 120.00')
  await assert.rejects(guard(run, { ...base, group: 'nobody' })(payment()), ApprovalUnavailable)
  await assert.rejects(guard(run, { ...base, quorum: 3, group: 'finance' })(payment()), ApprovalUnavailable)
  assert.equal(ran.length, 1)
})

test('a test approval passes where the caller allows it', async (t) => {
  const { pay } = await start(t, { minted: () => ({ mode: 'test' }) }, { allowTest: true })
  assert.equal(await pay(payment()), 'paid 120.00')
})

const soon = (): string => new Date(Date.now() + 700).toISOString()

test('a delay is waited for, and a denial within it ends the call with the words of the person', async (t) => {
  let readyAt = ''
  const delayed = (answer: Answer): Answer => {
    if (answer.status === 'approved') answer.consumableAt = readyAt ||= soon()
    return answer
  }
  const waiting = await start(t, { answer: delayed })
  const began = Date.now()
  await waiting.pay(payment())
  assert.ok(Date.now() - began >= 600, 'the delay was not waited for')

  let reads = 0
  const denied = await start(t, {
    answer: (answer) => {
      if (answer.status !== 'approved') return answer
      reads += 1
      if (reads === 1) return { ...answer, consumableAt: soon() }
      return { ...answer, status: 'denied', decisions: [{ decision: 'deny', words: 'No.', pohf_jwt: null }] }
    },
  })
  await assert.rejects(
    denied.pay(payment()),
    (error) => error instanceof ApprovalDenied && error.words === 'No.',
  )
  assert.deepEqual(denied.ran, [])
})

test('a service whose clock is behind is asked again when it says that the delay is not over', async (t) => {
  const early = {
    error: 'approval_conflict',
    message: 'early',
    details: [{ path: '', code: 'delay', message: '' }],
  }
  const { pay } = await start(t, {
    reply: ({ name }, count) =>
      name === 'consume' && count === 1 ? { status: 409, body: early } : undefined,
  })
  assert.equal(await pay(payment()), 'paid 120.00')
})

test('with a reference of the caller a repeat is the same request', async (t) => {
  const { pay, server } = await start(t, {}, { requestId: ({ to }) => `to-${to as string}` })
  await pay(payment())
  await pay(payment())
  const created = server.calls.filter(({ name }) => name === 'create').map(({ body }) => body)
  assert.equal(created[0]?.['requestId'], 'to-DE02')
  assert.deepEqual(created[0], created[1])
})

test('a service that comes back in time is waited for', async (t) => {
  const { pay } = await start(t, {
    reply: ({ name }, count) => (name === 'read' && count <= 3 ? 'close' : undefined),
  })
  assert.equal(await pay(payment()), 'paid 120.00')
})

test('the tool does not run: nobody listens', async () => {
  const client = createClient({ baseUrl: 'http://127.0.0.1:9', retries: 0 })
  let ran = 0
  const tool = guard(() => (ran += 1), { client, type: 'a.b', approvers, quorum: 1, timeoutMs: 1_000 })
  await assert.rejects(tool({}), ApprovalUnavailable)
  assert.equal(ran, 0)
})

test('the words of the person reach the caller', async (t) => {
  const { pay } = await start(t, { minted: () => ({ approval: { decision: 'deny' } }) })
  await assert.rejects(
    pay(payment()),
    (error) =>
      error instanceof ApprovalDenied &&
      error.words === 'Wrong account.' &&
      error.approvalId === 'apl_1' &&
      error.message.includes('Wrong account.'),
  )
})

test('a caller who gives up gets the reason of the signal, and the tool does not run', async (t) => {
  const controller = new AbortController()
  const stopAtRead = ({ name }: { readonly name: string }): undefined => {
    if (name === 'read') controller.abort(new Error('stopped'))
  }
  const behaviour = { pendingReads: 1_000, reply: stopAtRead }
  const { pay, ran } = await start(t, behaviour, { signal: controller.signal })
  await assert.rejects(pay(payment()), /stopped/)
  assert.deepEqual(ran, [])
})

const badInputs: readonly (readonly [string, unknown])[] = [
  ['a fraction', { amount: 1.5 }],
  ['a date', { at: new Date() }],
  ['a function', { pay: () => 1 }],
  ['undefined', { amount: undefined }],
  ['a list', [1]],
  ['a text', 'pay'],
  ['nothing', undefined],
]
for (const [name, input] of badInputs) {
  test(`nobody is asked about ${name}`, async (t) => {
    const { pay, ran, server } = await start(t)
    await assert.rejects(pay(input as Payment), ApprovalUnavailable)
    assert.deepEqual([ran, server.calls], [[], []])
  })
}

test('a second argument is refused: nobody would approve it', async (t) => {
  const { pay, ran } = await start(t)
  const loose = pay as (...args: unknown[]) => Promise<unknown>
  await assert.rejects(loose(payment(), 'now'), TypeError)
  assert.deepEqual(ran, [])
})

test('bad options throw where the tool is wrapped', async (t) => {
  const { options, run } = await start(t)
  const bad: readonly Record<string, unknown>[] = [
    { approvers: undefined },
    { group: 'finance' },
    { quorum: 0 },
    { quorum: 3 },
    { timeoutMs: 0 },
    { timeoutMs: Infinity },
  ]
  for (const more of bad) assert.throws(() => guard(run, { ...options, ...more }), TypeError)
})
