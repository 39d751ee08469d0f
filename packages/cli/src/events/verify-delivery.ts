import { readFileSync } from 'node:fs'
import { buffer } from 'node:stream/consumers'
import { verifyWebhook } from '@pohf/verify'
import { messageOf, UsageError } from '../command/errors.ts'
import { exitCodes } from '../command/exit-codes.ts'
import { readText } from '../command/files.ts'
import { printAnswer } from '../command/output.ts'

type VerifyWebhookOptions = {
  readonly secret?: string
  readonly headers: string
  readonly body: string
  readonly at?: string
  readonly tolerance?: string
  readonly json?: boolean
}

/** Reads headers from a file: one JSON object, or lines as curl and most servers print them. */
const headersIn = (text: string): Record<string, string> => {
  if (text.trimStart().startsWith('{')) return JSON.parse(text) as Record<string, string>
  const fields = text
    .split(/\r?\n/)
    .map((line) => /^\s*[<>]?\s*([\w-]+):\s*(.*?)\s*$/.exec(line))
    .flatMap((found) => (found ? [[found[1] ?? '', found[2] ?? ''] as const] : []))
  return Object.fromEntries(fields)
}

/** The saved delivery, byte for byte. */
const readDelivery = async (options: VerifyWebhookOptions) => {
  try {
    return {
      headers: headersIn(readText(options.headers)),
      body: options.body === '-' ? await buffer(process.stdin) : readFileSync(options.body),
    }
  } catch (error) {
    throw new UsageError(
      messageOf(error),
      'Name the files with the headers and the body as they came.',
      error,
    )
  }
}

/** `pohf webhooks verify`, offline. */
export const verifyDelivery = async (options: VerifyWebhookOptions): Promise<void> => {
  const { secret } = options
  const now = options.at === undefined ? new Date() : new Date(options.at)
  if (!secret)
    throw new UsageError(
      'A secret is needed: --secret or POHF_WEBHOOK_SECRET.',
      'Give the secret that pohf webhooks add printed, or make a new one with pohf webhooks rotate.',
    )
  if (Number.isNaN(now.getTime())) throw new UsageError('--at must be a time such as 2026-01-31T12:00:00Z.')
  const input = await readDelivery(options)
  const toleranceSeconds = options.tolerance === undefined ? undefined : Number(options.tolerance)
  const result = await verifyWebhook({ secret, ...input, toleranceSeconds, clock: () => now })
  printAnswer(options, result, () =>
    console.log(
      result.ok
        ? `✓ genuine: ${result.id}, signed ${result.timestamp.toISOString()}`
        : `✗ ${result.reason}: ${result.message}`,
    ),
  )
  if (!result.ok) process.exitCode = exitCodes.refused
}
