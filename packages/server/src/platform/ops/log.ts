import { pino, type DestinationStream, type Logger } from 'pino'

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
  'password',
  'connectionString',
]

const redactedPaths = secretFields.flatMap((name) => [`["${name}"]`, `*["${name}"]`, `*.*["${name}"]`])

/** Keys and secrets that reach a line inside a longer text, such as a library's error message. */
const keyPattern = /(svc_(?:live|test|op)_|[sr]k_(?:live|test)_|whsec_)[0-9A-Za-z_+/=-]+/g

export type { Logger }

export const makeLogger = (level: string, destination?: DestinationStream): Logger => {
  const options = {
    level,
    base: null,
    redact: { paths: redactedPaths, censor: '[secret]' },
    hooks: { streamWrite: (line: string) => line.replace(keyPattern, '$1[secret]') },
  }
  return destination ? pino(options, destination) : pino(options)
}
