import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { after, test } from 'node:test'
import { startCheckoutSimulator } from '@pohf/checkout-simulator'
import { freePort } from '../../packages/server/dev/cluster.ts'
import { contactNames } from './contacts.ts'

const reports = mkdtempSync(join(tmpdir(), 'pohf-contact-'))
after(() => rmSync(reports, { recursive: true }))

type Outcome = { readonly code: number | null; readonly output: string; readonly report: string }
/** Runs the command as an operator does, with these settings only. `onLine` plays the person. */
const runContact = async (
  parameters: readonly string[],
  settings: Readonly<Record<string, string>>,
  onLine: (line: string) => void | Promise<void> = () => undefined,
): Promise<Outcome> => {
  const folder = mkdtempSync(join(reports, 'run-'))
  const child = spawn(
    process.execPath,
    [join(import.meta.dirname, '../contact.ts'), ...parameters, '--report', folder],
    { env: { PATH: process.env['PATH'], ...settings }, stdio: ['ignore', 'pipe', 'pipe'] },
  )
  let output = ''
  child.stderr.on('data', (chunk: Buffer) => (output += chunk.toString()))
  const acts: Promise<void>[] = []
  createInterface(child.stdout).on('line', (line) => {
    output += `${line}\n`
    acts.push(Promise.resolve(onLine(line)))
  })
  const code = await new Promise<number | null>((resolve) => child.once('close', resolve))
  await Promise.all(acts)
  const [file] = readdirSync(folder)
  const report = file === undefined ? '' : readFileSync(join(folder, file), 'utf8')
  for (const secret of Object.entries(settings).flatMap(([name, value]) =>
    /KEY$|SECRET$|TOKEN$/.test(name) ? [value] : [],
  ))
    assert.ok(!output.includes(secret) && !report.includes(secret), 'a secret is shown')
  return { code, output, report }
}
const marksOf = ({ output }: Outcome, mark: '✓' | '✗') =>
  output.split('\n').filter((line) => line.startsWith(mark))

/** The run failed at its last step, after as many others, and said what to do. */
const assertFailed = (outcome: Outcome, passed: number, reason: RegExp): void => {
  assert.equal(outcome.code, 1, outcome.output)
  assert.equal(marksOf(outcome, '✗').length, 1, outcome.output)
  assert.equal(marksOf(outcome, '✓').length, passed, outcome.output)
  for (const text of [outcome.output, outcome.report]) {
    assert.match(text, reason)
    assert.match(text, /What to do: \S/)
  }
}
const assertPassed = (outcome: Outcome, steps: number): void => {
  assert.equal(outcome.code, 0, outcome.output)
  assert.equal(marksOf(outcome, '✓').length, steps, outcome.output)
  assert.match(outcome.report, /It passed\./)
}

test('without a name all contacts are listed, and a name that does not exist fails with the list', async () => {
  const listed = await runContact([], {})
  assert.equal(listed.code, 0)
  for (const name of contactNames) assert.match(listed.output, new RegExp(`^${name} +\\S`, 'm'))
  const unknown = await runContact(['nothing'], {})
  assert.equal(unknown.code, 1)
  assert.match(unknown.output, /no contact nothing/)
})

const startStripe = async () => {
  const port = await freePort()
  const simulator = await startCheckoutSimulator({
    webhookUrl: `http://127.0.0.1:${port}/api/payments/card/webhook`,
  })
  after(() => simulator.stop())
  return { simulator, options: ['--port', String(port), '--wait', '30'] }
}

test('stripe: a page is paid, its event is verified and the money is refunded', async () => {
  const { simulator, options } = await startStripe()
  const outcome = await runContact(['stripe', ...options], simulator.settings, async (line) => {
    const [, session] = /\/pay\/(cs_test_\w+)/.exec(line) ?? []
    if (session !== undefined) await simulator.control(`sessions/${session}/pay`)
  })
  assertPassed(outcome, 9)
})

test('stripe: without settings, with a live key and with a key that Stripe does not know it says so', async () => {
  const { simulator } = await startStripe()
  assertFailed(await runContact(['stripe'], {}), 0, /STRIPE_SECRET_KEY and STRIPE_WEBHOOK_SECRET are not set/)
  const withKey = (key: string) => runContact(['stripe'], { ...simulator.settings, STRIPE_SECRET_KEY: key })
  assertFailed(await withKey('sk_live_0123456789'), 0, /is a live key/)
  assertFailed(await withKey('sk_test_0123456789'), 1, /Stripe does not know the key/)
})

test('stripe: no server, and an event that another secret signed, are told apart', async () => {
  const { simulator, options } = await startStripe()
  const away = `http://127.0.0.1:${await freePort()}`
  assertFailed(
    await runContact(['stripe'], { ...simulator.settings, STRIPE_API_BASE: away }),
    1,
    /Stripe was not reached/,
  )
  const wrong = { ...simulator.settings, STRIPE_WEBHOOK_SECRET: 'whsec_0123456789' }
  const outcome = await runContact(['stripe', ...options], wrong, async (line) => {
    const [, session] = /\/pay\/(cs_test_\w+)/.exec(line) ?? []
    if (session !== undefined) await simulator.control(`sessions/${session}/pay`)
  })
  assertFailed(outcome, 4, /signature does not fit STRIPE_WEBHOOK_SECRET/)
})
