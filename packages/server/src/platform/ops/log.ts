import { writeSync } from 'node:fs'
import { pino, type DestinationStream, type Logger } from 'pino'
import { systemClock } from './clock.ts'
import { requestLogFields } from './tracing/request-scope.ts'
import { traceLogFields } from './tracing.ts'

/** Fields that are redacted in every line, up to three levels deep. */
const secretFields = [
  'authorization',
  'apiKey',
  'operatorKey',
  'signingSecret',
  'token',
  'walletSig',
  'x-payment',
  'payment-signature',
  'idempotency-key',
  'cookie',
  'set-cookie',
  'password',
  'connectionString',
]

const redactedPaths = secretFields.flatMap((name) => [`["${name}"]`, `*["${name}"]`, `*.*["${name}"]`])

/**
 * Keys, secrets and the tokens of the console and of operators that reach a line inside a longer text, such as a library's
 * error message. A signed token ends with a dot and its MAC.
 */
const keyPattern =
  /(svc_(?:live|test|op)_|[sr]k_(?:live|test)_|whsec_|cns_|cso_|lnk_|brw_|opb_|ops_|opw_)[0-9A-Za-z_+/=-]+(?:\.[0-9A-Za-z_-]{22})?/g

export type { Logger }

const standardOutput = 1
/** How often and how long a line waits for a reader that is slow: a pipe that is full answers EAGAIN. */
const fullRetriesMax = 5
const fullWaitMs = 10

let dropped = 0
/** How many lines this process could not write. */
export const countDroppedLines = (): number => dropped

const isFull = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === 'EAGAIN'

/** Writes all bytes, or throws. */
const writeFully = (text: string, retriesMax: number): void => {
  const bytes = Buffer.from(text)
  let written = 0
  for (let retries = 0; written < bytes.length;) {
    try {
      written += writeSync(standardOutput, bytes, written)
    } catch (error) {
      if (!isFull(error) || retries++ >= retriesMax) throw error
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, fullWaitMs)
    }
  }
}

/**
 * Standard output, where no fault ends the process: a full disk, a reader that has gone or a reader that does not read.
 * Lines that cannot be written are counted, and the count is reported when writing works again.
 */
const makeSafeOutput = (): DestinationStream => {
  let unreported = 0
  return {
    write: (line) => {
      try {
        if (unreported > 0) {
          const fields = {
            level: pino.levels.values['warn'],
            time: systemClock.now().getTime(),
            lines: unreported,
          }
          // The first line feed ends a line of which only a part was written.
          writeFully(`\n${JSON.stringify({ ...fields, msg: 'log lines were dropped' })}\n`, 0)
          unreported = 0
        }
        writeFully(line, fullRetriesMax)
      } catch {
        unreported += 1
        dropped += 1
      }
    },
  }
}

/** Keeps a warning of Node itself that cannot be written from ending the process. */
export const ignoreStreamErrors = (): void => {
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined)
}

/** An error without the `detail` of PostgreSQL: it quotes the row at fault, with whatever the row says about people. */
const serializeError = (error: Error): object => {
  const { detail: _, ...fields } = { detail: undefined, ...pino.stdSerializers.err(error) }
  return fields
}

export const makeLogger = (level: string, destination: DestinationStream = makeSafeOutput()): Logger =>
  pino(
    {
      level,
      base: null,
      mixin: () => ({ ...requestLogFields(), ...traceLogFields() }),
      serializers: { err: serializeError },
      redact: { paths: redactedPaths, censor: '[secret]' },
      hooks: { streamWrite: (line: string) => line.replace(keyPattern, '$1[secret]') },
    },
    destination,
  )
