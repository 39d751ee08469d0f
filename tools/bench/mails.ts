import { setTimeout } from 'node:timers/promises'
import { startMailCatcher } from '../../packages/server/dev/mail-catcher.ts'
import { open } from '../driver/closing.ts'
import { programOf, step } from '../driver/program.ts'
import { quantile, rounded } from '../driver/rounds.ts'
import { openService } from '../driver/service.ts'

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
const openMailService = (delayMs: number) =>
  open(async (defer) => {
    const arrivals = new Map<string, number>()
    const catcher = await startMailCatcher({ smtp: 0, http: 0 }, async (to) => {
      await setTimeout(delayMs)
      for (const address of to) arrivals.set(address, performance.now())
    })
    defer(catcher.stop)
    const { baseUrl, close } = await openService({
      name: 'mails',
      roles: ['signer', 'api', 'worker'],
      settings: {
        ADDRESS_LIMITS: 'on',
        TRUSTED_PROXIES: '127.0.0.1',
        SMTP_URL: `smtp://127.0.0.1:${catcher.smtpPort}`,
        LOG_LEVEL: 'error',
        NODE_ENV: 'production',
      },
      isShown: true,
    })
    defer(close)
    return { url: baseUrl, origin: baseUrl.replace('127.0.0.1', 'localhost'), arrivals }
  })
type Service = Awaited<ReturnType<typeof openMailService>>

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

const measureFlood = async (flood: Flood, options: { registrations: number; delayMs: number }) => {
  const service = await openMailService(options.delayMs)
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

const secondsOf = (ms: number): number => rounded(ms / 1_000, 2)

/** How long a stranger waits for a sign-in mail while others register. */
export const mails = programOf({
  command: 'bench -- mails',
  title: 'Sign-in mails of strangers while others register',
  about: `Strangers ask for a sign-in link every ${strangerEveryMs} ms while registrations arrive within ${floodSeconds} s, from one /48 or from many networks. The mail server takes a time for each mail (\`--delay\`).`,
  options: { registrations: 500, delay: 150 },
  smoke: { registrations: 20, delay: 10 },
  minutes: () => 20,
  run: async ({ registrations, delay }) => {
    const results: Awaited<ReturnType<typeof measureFlood>>[] = []
    for (const flood of ['none', 'one /48', 'many networks'] as const) {
      step(`flood: ${flood}`)
      results.push(await measureFlood(flood, { registrations, delayMs: delay }))
    }
    return {
      figures: { results },
      tables: [
        {
          head: ['Flood', 'Accepted', 'Seconds', 'Answer p95 s', 'Mail p50 s', 'Mail p95 s', 'Longest s'],
          rows: results.map(({ flood, accepted, seconds, answerP95, p50, p95, max }) => [
            flood,
            `${accepted} of ${flood === 'none' ? 0 : registrations}`,
            rounded(seconds),
            ...[answerP95, p50, p95, max].map(secondsOf),
          ]),
        },
      ],
      holds: 'every stranger was answered',
    }
  },
})
