import { spawn, type ChildProcessByStdio } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Readable, Writable } from 'node:stream'
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

/** The simulator prints its address once it listens. */
const readUrl = (child: ChildProcessByStdio<Writable, Readable, null>): Promise<string> =>
  new Promise((resolve, reject) => {
    createInterface(child.stdout).once('line', (line) => resolve((JSON.parse(line) as { url: string }).url))
    child.once('exit', (exitCode) =>
      reject(new Error(`checkout simulator exited with code ${exitCode} before it listened`)),
    )
  })

/**
 * Starts the simulator in a separate process with random secrets, for development and tests. With a folder it keeps
 * its port, secrets and records from one start to the next, so that an open checkout can still be paid.
 */
export const startCheckoutSimulator = async (options: {
  readonly webhookUrl: string
  readonly folder?: string
  /** Default: that of the last start in this folder, or a free one. */
  readonly port?: number
}) => {
  const identityFile =
    options.folder === undefined ? undefined : join(options.folder, 'checkout-simulator.json')
  const identity =
    identityFile !== undefined && existsSync(identityFile)
      ? (JSON.parse(readFileSync(identityFile, 'utf8')) as SimulatorIdentity)
      : makeIdentity()
  const { secretKey, webhookSecret } = identity
  const child = spawn(process.execPath, [fileURLToPath(new URL('main.ts', import.meta.url))], {
    // A separate process group: Ctrl-C reaches only the parent, which then stops the simulator.
    detached: true,
    stdio: ['pipe', 'pipe', 'inherit'],
    env: {
      PATH: process.env['PATH'],
      NODE_OPTIONS: process.env['NODE_OPTIONS'] ?? '',
      SIMULATOR_PORT: String(options.port ?? identity.port),
      SIMULATOR_SECRET_KEY: secretKey,
      SIMULATOR_WEBHOOK_URL: options.webhookUrl,
      SIMULATOR_WEBHOOK_SECRET: webhookSecret,
      ...(options.folder === undefined
        ? {}
        : { SIMULATOR_FILE: join(options.folder, 'checkout-simulator-records.json') }),
    },
  })
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  const url = await readUrl(child)
  if (identityFile !== undefined)
    writeFileSync(identityFile, JSON.stringify({ ...identity, port: Number(new URL(url).port) }), {
      mode: 0o600,
    })
  return {
    url,
    /** The settings of the server for this card provider. */
    settings: {
      STRIPE_API_BASE: url,
      STRIPE_SECRET_KEY: secretKey,
      STRIPE_WEBHOOK_SECRET: webhookSecret,
    },
    /** Causes something to happen: see the README. */
    control: async <T = object>(path: string, input: object = {}): Promise<T> => {
      const response = await fetch(`${url}/control/${path}`, { method: 'POST', body: JSON.stringify(input) })
      const body = (await response.json()) as T
      if (!response.ok)
        throw new Error(`control call ${path} failed: ${response.status} ${JSON.stringify(body)}`)
      return body
    },
    stop: async (): Promise<void> => {
      child.kill('SIGTERM')
      await ended
    },
  }
}
export type CheckoutSimulator = Awaited<ReturnType<typeof startCheckoutSimulator>>
