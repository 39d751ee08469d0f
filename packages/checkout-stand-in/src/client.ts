import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

export type State = {
  readonly sessions: readonly {
    readonly id: string
    readonly status: string
    readonly clientReferenceId: string
    readonly paymentId: string | null
  }[]
  readonly events: readonly { readonly id: string; readonly type: string }[]
  readonly deliveries: readonly { readonly eventId: string; readonly status: number }[]
}

/** Starts the stand-in as a process of its own, with secrets of its own, for development and tests. */
export const startStandIn = async (options: { readonly webhookUrl: string; readonly port?: number }) => {
  const secretKey = `sk_test_${randomBytes(18).toString('hex')}`
  const webhookSecret = `whsec_${randomBytes(24).toString('hex')}`
  const child = spawn(process.execPath, [fileURLToPath(new URL('main.ts', import.meta.url))], {
    // Its own group: Ctrl-C reaches whoever started it first, and that one ends it.
    detached: true,
    stdio: ['pipe', 'pipe', 'inherit'],
    env: {
      PATH: process.env['PATH'],
      STAND_IN_PORT: String(options.port ?? 0),
      STAND_IN_SECRET_KEY: secretKey,
      STAND_IN_WEBHOOK_URL: options.webhookUrl,
      STAND_IN_WEBHOOK_SECRET: webhookSecret,
    },
  })
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  const url = await new Promise<string>((resolve, reject) => {
    createInterface(child.stdout).once('line', (line) => resolve((JSON.parse(line) as { url: string }).url))
    child.once('exit', () => reject(new Error('the checkout stand-in stopped at start')))
  })
  return {
    url,
    /** What the server is told about its card provider. */
    settings: {
      STRIPE_API_BASE: url,
      STRIPE_SECRET_KEY: secretKey,
      STRIPE_WEBHOOK_SECRET: webhookSecret,
    },
    /** Makes something happen: see the README. */
    control: async <T = object>(path: string, input: object = {}): Promise<T> => {
      const response = await fetch(`${url}/control/${path}`, { method: 'POST', body: JSON.stringify(input) })
      const body = (await response.json()) as T
      if (!response.ok) throw new Error(`${path}: ${response.status} ${JSON.stringify(body)}`)
      return body
    },
    stop: async (): Promise<void> => {
      child.kill('SIGTERM')
      await ended
    },
  }
}
export type StandIn = Awaited<ReturnType<typeof startStandIn>>
