import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

export type SimulatorState = {
  readonly sessions: readonly {
    readonly id: string
    readonly status: string
    readonly clientReferenceId: string
    readonly paymentId: string | null
  }[]
  readonly refunds: readonly {
    readonly id: string
    readonly paymentId: string
    readonly amount: number
    readonly status: string
  }[]
  readonly events: readonly { readonly id: string; readonly type: string }[]
  readonly deliveries: readonly { readonly eventId: string; readonly status: number }[]
}

type SimulatorIdentity = { readonly secretKey: string; readonly webhookSecret: string; readonly port: number }
const makeIdentity = (): SimulatorIdentity => ({
  secretKey: `sk_test_${randomBytes(18).toString('hex')}`,
  webhookSecret: `whsec_${randomBytes(24).toString('hex')}`,
  port: 0,
})

/**
 * Starts the stand-in as a process of its own, with secrets of its own, for development and tests. With a folder
 * it is the same one at every start: open checkouts of yesterday can be paid today.
 */
export const startCheckoutSimulator = async (options: {
  readonly webhookUrl: string
  readonly folder?: string
}) => {
  const identityFile =
    options.folder === undefined ? undefined : join(options.folder, 'checkout-stand-in.json')
  const identity =
    identityFile !== undefined && existsSync(identityFile)
      ? (JSON.parse(readFileSync(identityFile, 'utf8')) as SimulatorIdentity)
      : makeIdentity()
  const { secretKey, webhookSecret } = identity
  const child = spawn(process.execPath, [fileURLToPath(new URL('main.ts', import.meta.url))], {
    // Its own group: Ctrl-C reaches whoever started it first, and that one ends it.
    detached: true,
    stdio: ['pipe', 'pipe', 'inherit'],
    env: {
      PATH: process.env['PATH'],
      STAND_IN_PORT: String(identity.port),
      STAND_IN_SECRET_KEY: secretKey,
      STAND_IN_WEBHOOK_URL: options.webhookUrl,
      STAND_IN_WEBHOOK_SECRET: webhookSecret,
      ...(options.folder === undefined
        ? {}
        : { STAND_IN_FILE: join(options.folder, 'checkout-stand-in-book.json') }),
    },
  })
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  const url = await new Promise<string>((resolve, reject) => {
    createInterface(child.stdout).once('line', (line) => resolve((JSON.parse(line) as { url: string }).url))
    child.once('exit', () => reject(new Error('the checkout simulator exited at start')))
  })
  if (identityFile !== undefined)
    writeFileSync(identityFile, JSON.stringify({ ...identity, port: Number(new URL(url).port) }), {
      mode: 0o600,
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
export type CheckoutSimulator = Awaited<ReturnType<typeof startCheckoutSimulator>>
