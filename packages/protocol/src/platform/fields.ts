import { z } from 'zod'

/**
 * Makes one schema for the same arguments: schemas never change, a process makes all of them at its start, and each check
 * takes 30 µs of CPU.
 */
const shared = <Parameters extends readonly (number | undefined)[], Schema>(
  make: (...parameters: Parameters) => Schema,
): ((...parameters: Parameters) => Schema) => {
  const made = new Map<string, Schema>()
  return (...parameters) => {
    const key = parameters.join()
    const schema = made.get(key) ?? make(...parameters)
    made.set(key, schema)
    return schema
  }
}

/** PostgreSQL stores neither NUL nor lone surrogates; refusing them here keeps that from becoming a 500. */
const storable = (value: string) => !value.includes('\u0000') && value.isWellFormed()

/** A string of 1 to max characters that can be stored. */
export const text = shared((max: number, min: number = 1) =>
  z.string().min(min).max(max).refine(storable, 'holds NUL or a lone surrogate'),
)

/** Whether a text has a character that shows something. The minimum length refuses an empty text by itself. */
const isVisible = (value: string) => value === '' || /[^\p{C}\p{Z}]/u.test(value)

/** A name for people: text that is not blank. */
export const displayName = (max: number) => text(max).refine(isVisible, 'must not be blank')

const mailName = /^(?!\.)(?!.*\.\.)[\p{L}\p{M}\p{N}_'+.-]*[\p{L}\p{M}\p{N}_+-]$/u
const mailHost = /^[\p{L}\p{M}\p{N}.-]{1,253}$/u
const hostLabel = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/

/** Accepts internationalised names and domains (RFC 6531); a domain must have a form that DNS knows. */
const isMailAddress = (value: string): boolean => {
  const at = value.lastIndexOf('@')
  const [name, host] = [value.slice(0, at), value.slice(at + 1)]
  if (at < 1 || !mailName.test(name) || !mailHost.test(host) || !URL.canParse(`http://${host}`)) return false
  const labels = new URL(`http://${host}`).hostname.split('.')
  return (
    new TextEncoder().encode(name).length <= 64 &&
    labels.length > 1 &&
    labels.every((label) => hostLabel.test(label)) &&
    /^([a-z]{2,}|xn--.+)$/.test(labels.at(-1) ?? '')
  )
}

export const email = shared(() =>
  z.string().max(254).refine(isMailAddress, 'must be a mail address').meta({ format: 'email' }),
)

/** A reference that a caller chooses: printable, on one line, not blank. */
export const reference = shared((max: number = 256) =>
  z
    .string()
    .min(1)
    .max(max)
    .regex(/^\P{Cc}+$/u, 'must be printable')
    .refine(storable, 'holds a lone surrogate')
    .refine(isVisible, 'must not be blank'),
)

/** A whole number in a query string, in decimal digits. */
export const queryInteger = shared((min: number, max: number) =>
  z
    .string()
    .regex(/^\d{1,9}$/, 'must be a whole number')
    .transform(Number)
    .pipe(z.int().min(min).max(max))
    .meta({ openapi: { type: 'integer', minimum: min, maximum: max } }),
)

/** A date-time or a date in a query string; a date means its first instant in UTC. */
export const queryInstant = shared(() =>
  z
    .union([z.iso.datetime({ offset: true }), z.iso.date()])
    .transform((value) => new Date(value))
    .meta({ openapi: { type: 'string', format: 'date-time' } }),
)

const depthMax = 16

const withinDepth = (value: unknown, depth = 0): boolean => {
  if (typeof value === 'string') return storable(value)
  if (value === null || typeof value !== 'object') return true
  if (depth >= depthMax) return false
  return Object.entries(value).every(([key, inner]) => storable(key) && withinDepth(inner, depth + 1))
}

/** Any JSON value that can be stored, at most 16 levels deep and `bytesMax` long when serialized. */
export const json = shared((bytesMax: number) =>
  z
    .unknown()
    .refine((value) => withinDepth(value), {
      error: 'is nested too deep or holds text that cannot be stored',
      // The next check serializes the value, which exhausts the stack where it is nested too deep.
      abort: true,
    })
    .refine(
      (value) => value === undefined || JSON.stringify(value).length <= bytesMax,
      `is longer than ${bytesMax} bytes`,
    ),
)

export const instant = shared(() => z.iso.datetime())
export const usd = shared(() => z.number().min(0).max(100_000_000))
export const unitInterval = shared(() => z.number().min(0).max(1))

/** The body of every error. */
export const errorBody = z.object({
  ok: z.literal(false),
  error: z.string(),
  message: z.string(),
  requestId: z.string(),
  docs: z.url(),
  retryable: z.boolean(),
  details: z
    .array(
      z.object({
        path: z.string(),
        code: z.string(),
        message: z.string(),
        stepUp: z
          .array(z.object({ kind: z.string(), url: z.url().optional() }))
          .max(10)
          .optional()
          .meta({ description: 'With below_policy and network_busy: the ways to a stronger root.' }),
      }),
    )
    .max(50)
    .optional(),
  buy: z.url().optional(),
  accepts: z
    .array(z.enum(['bearer', 'http-message-signature', 'verifiable-intent']))
    .max(3)
    .optional()
    .meta({ description: 'With auth_required: the kinds of credential that an order takes here now.' }),
  challenge: z
    .object({ aud: z.url(), nonce: z.string(), expiresAt: instant(), checkout_jwt: z.string() })
    .optional()
    .meta({ description: 'With auth_required: the signed quote that mandates are closed over.' }),
})
