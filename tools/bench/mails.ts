import { spawn, type ChildProcess } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { createDatabase, freePort, startCluster } from '../../packages/server/dev/cluster.ts'
import { startMailCatcher } from '../../packages/server/dev/mail-catcher.ts'
import {
  runToEnd,
  waitForExit,
  waitUntilReady,
} from '../../packages/server/test/fixtures/processes/restarts.ts'
import { tableOf } from '../ci/pages/markdown.ts'

const main = fileURLToPath(new URL('../../packages/server/src/main.ts', import.meta.url))
const floodSeconds = 7
const floodConnections = 16
/** Strangers go on asking after the flood has ended, while its mails may still wait. */
const strangerEveryMs = 250
const strangersMax = 60
const waitMsMax = 120_000

type Flood = 'none' | 'one /48' | 'many networks'
const floodAddress = (flood: Flood, n: number): string =>
  flood === 'one /48'
    ? `2a01:4f9:2:${n.toString(16)}::1`
    : `${11 + (n % 100)}.${20 + Math.floor(n / 100)}.7.1`

/** Server processes behind a trusted proxy, and a mail server that takes `delayMs` for each mail. */
const openService = async (delayMs: number) => {
  const folder = mkdtempSync(join(tmpdir(), 'pohf-bench-'))
  const arrivals = new Map<string, number>()
  const catcher = await startMailCatcher({ smtp: 0, http: 0 }, async (to) => {
    await setTimeout(delayMs)
    for (const address of to) arrivals.set(address, performance.now())
  })
  const cluster = await startCluster({ folder })
  const children: ChildProcess[] = []
  const close = async () => {
    for (const child of children) {
      child.kill('SIGTERM')
      await waitForExit(child)
    }
    await cluster.stop()
    await catcher.stop()
    rmSync(folder, { recursive: true, force: true })
  }
  const port = await freePort()
  const env = {
    ...process.env,
    DATABASE_URL: await createDatabase(cluster, 'pohf'),
    DATA_DIR: join(folder, 'secrets'),
    PORT: String(port),
    OPERATOR_PORT: String(await freePort()),
    ADDRESS_LIMITS: 'on',
    TRUSTED_PROXIES: '127.0.0.1',
    SMTP_URL: `smtp://127.0.0.1:${catcher.smtpPort}`,
    LOG_LEVEL: 'error',
    NODE_ENV: 'production',
  }
  try {
    await runToEnd([main, 'migrate'], env)
    for (const role of ['signer', 'api', 'worker'])
      children.push(spawn(process.execPath, [main, role], { env, stdio: ['ignore', 'ignore', 'inherit'] }))
    await waitUntilReady(`http://127.0.0.1:${port}`)
    return { url: `http://127.0.0.1:${port}`, origin: `http://localhost:${port}`, arrivals, close }
  } catch (error) {
    await close()
    throw error
  }
}
type Service = Awaited<ReturnType<typeof openService>>

const post = (service: Service, path: string, address: string, body: unknown): Promise<Response> =>
  fetch(`${service.url}${path}`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'x-forwarded-for': address,
      origin: service.origin,
      'sec-fetch-site': 'same-origin',
    },
    body: JSON.stringify(body),
  })

/** Sends registrations at an even rate. Returns how many were accepted, and the seconds that it took. */
const runFlood = async (service: Service, flood: Flood, registrations: number) => {
  const startedAt = performance.now()
  let [next, accepted] = [0, 0]
  const sendSome = async () => {
    for (let n = next++; n < registrations; n = next++) {
      await setTimeout(
        Math.max(0, (n / registrations) * floodSeconds * 1_000 - (performance.now() - startedAt)),
      )
      const contactEmail = `f${n}@flood-${n}.example`
      const { status } = await post(service, '/api/agents/register', floodAddress(flood, n), {
        name: 'Flood',
        contactEmail,
        mode: 'test',
      })
      if (status === 200) accepted += 1
    }
  }
  await Promise.all(Array.from({ length: floodConnections }, sendSome))
  return { accepted, seconds: (performance.now() - startedAt) / 1_000 }
}

/** Milliseconds from the request of a stranger for a sign-in link until it is answered, and until the mail server has the mail. */
const askForLink = async (service: Service, n: number) => {
  const email = `s${n}@stranger-${n}.example`
  const askedAt = performance.now()
  const { status } = await post(service, '/console/sign-up', `${150 + n}.9.9.9`, { email, name: 'Stranger' })
  if (status !== 202) throw new Error(`sign-up of stranger ${n} answered ${status}`)
  const answerMs = performance.now() - askedAt
  for (;;) {
    const arrivedAt = service.arrivals.get(email)
    if (arrivedAt !== undefined) return { answerMs, mailMs: arrivedAt - askedAt }
    if (performance.now() - askedAt > waitMsMax) return { answerMs, mailMs: waitMsMax }
    await setTimeout(10)
  }
}

const quantile = (values: readonly number[], share: number): number =>
  values.toSorted((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * share))] ?? NaN

const measureFlood = async (flood: Flood, options: { registrations: number; delayMs: number }) => {
  const service = await openService(options.delayMs)
  try {
    const flooding = flood === 'none' ? undefined : runFlood(service, flood, options.registrations)
    const strangers: ReturnType<typeof askForLink>[] = []
    for (let n = 0; n < strangersMax; n++) {
      strangers.push(askForLink(service, n))
      await setTimeout(strangerEveryMs)
    }
    const waits = await Promise.all(strangers)
    const mailsMs = waits.map(({ mailMs }) => mailMs)
    const { accepted, seconds } = (await flooding) ?? { accepted: 0, seconds: 0 }
    return {
      flood,
      accepted,
      seconds,
      answerP95: quantile(
        waits.map(({ answerMs }) => answerMs),
        0.95,
      ),
      p50: quantile(mailsMs, 0.5),
      p95: quantile(mailsMs, 0.95),
      max: Math.max(...mailsMs),
    }
  } finally {
    await service.close()
  }
}

/** How long a stranger waits for a sign-in mail while others register. */
export const mails = async () => {
  const { values } = parseArgs({
    args: process.argv.slice(2),
    strict: false,
    options: {
      registrations: { type: 'string', default: '500' },
      delay: { type: 'string', default: '150' },
    },
  })
  const options = { registrations: Number(values.registrations), delayMs: Number(values.delay) }
  const results: Awaited<ReturnType<typeof measureFlood>>[] = []
  for (const flood of ['none', 'one /48', 'many networks'] as const)
    results.push(await measureFlood(flood, options))
  if (!process.argv.includes('--json'))
    console.log(
      tableOf(
        ['Flood', 'Accepted', 'Seconds', 'Answer p95 s', 'Mail p50 s', 'Mail p95 s', 'Longest s'],
        results.map(({ flood, accepted, seconds, ...latencies }) => [
          flood,
          `${accepted} of ${flood === 'none' ? 0 : options.registrations}`,
          seconds.toFixed(1),
          ...[latencies.answerP95, latencies.p50, latencies.p95, latencies.max].map((ms) =>
            (ms / 1_000).toFixed(2),
          ),
        ]),
      ) + `\n\nLoad of the machine: ${(loadavg()[0] ?? NaN).toFixed(1)}`,
    )
  return { results }
}
