/** Why a delivery is refused, named by what a developer has to fix. */
export type WebhookReason =
  'missing_header' | 'bad_prefix' | 'parsed_body' | 'changed_body' | 'wrong_secret' | 'stale_timestamp'

export type WebhookResult =
  | { readonly ok: true; readonly id: string; readonly timestamp: Date }
  | { readonly ok: false; readonly reason: WebhookReason; readonly message: string }

type HeadersInput = Headers | Readonly<Record<string, string | readonly string[] | undefined>>

export type WebhookInput = {
  /** `whsec_…`, as it was shown when the webhook was registered. */
  readonly secret: string
  readonly headers: HeadersInput
  /** The body as received, before any JSON parser. */
  readonly body: string | Uint8Array
  readonly toleranceSeconds?: number | undefined
  readonly clock?: (() => Date) | undefined
}

const refuse = (reason: WebhookReason, message: string): WebhookResult => ({ ok: false, reason, message })

const headerOf = (headers: HeadersInput, name: string): string | undefined => {
  if (headers instanceof Headers) return headers.get(name) ?? undefined
  const value = Object.entries(headers).find(([key]) => key.toLowerCase() === name)?.[1]
  return typeof value === 'object' ? value[0] : value
}

const fromBase64 = (text: string): Uint8Array<ArrayBuffer> | undefined => {
  try {
    return Uint8Array.from(atob(text), (character) => character.charCodeAt(0))
  } catch {
    return undefined
  }
}

const signedBytes = (id: string, timestamp: string, body: string | Uint8Array): Uint8Array<ArrayBuffer> => {
  const encoder = new TextEncoder()
  const head = encoder.encode(`${id}.${timestamp}.`)
  const tail = typeof body === 'string' ? encoder.encode(body) : body
  const whole = new Uint8Array(head.length + tail.length)
  whole.set(head)
  whole.set(tail, head.length)
  return whole
}

/** More than a rotation ever sends: each costs one HMAC over the body. */
const signaturesMax = 8

const signaturesIn = (header: string): Uint8Array<ArrayBuffer>[] =>
  header
    .split(' ')
    .filter((entry) => entry.startsWith('v1,'))
    .slice(0, signaturesMax)
    .flatMap((entry) => fromBase64(entry.slice(3)) ?? [])

/** The body parsed and serialized again; undefined where it is not JSON. */
const reserialize = (body: string | Uint8Array): string | undefined => {
  try {
    return JSON.stringify(JSON.parse(typeof body === 'string' ? body : new TextDecoder().decode(body)))
  } catch {
    return undefined
  }
}

/** Whether the body matches its digest header, which is not signed; undefined where there is none. */
const fitsDigest = async (
  header: string | undefined,
  body: string | Uint8Array,
): Promise<boolean | undefined> => {
  const sent = fromBase64(/(?:^|,)\s*sha-256=:([A-Za-z0-9+/=]{1,64}):/.exec(header ?? '')?.[1] ?? '')
  if (!sent || sent.length !== 32) return undefined
  const bytes = typeof body === 'string' ? new TextEncoder().encode(body) : Uint8Array.from(body)
  const found = new Uint8Array(await crypto.subtle.digest('SHA-256', bytes))
  return found.every((byte, index) => byte === sent[index])
}

type MismatchInput = Pick<WebhookInput, 'headers' | 'body'> & {
  readonly isSigned: (body: string | Uint8Array) => Promise<boolean>
}

/** Why no signature matches. The delivery is refused in any case: this only helps a developer. */
const explainMismatch = async ({ headers, body, isSigned }: MismatchInput): Promise<WebhookResult> => {
  const again = reserialize(body)
  if (again !== undefined && (await isSigned(again)))
    return refuse(
      'parsed_body',
      'The body was parsed and written again: its content is right, its bytes are not. Pass the raw body.',
    )
  const whole = await fitsDigest(headerOf(headers, 'content-digest'), body)
  if (whole === false)
    return refuse('changed_body', 'The body is not the one that was sent: something on its way changed it.')
  return refuse(
    'wrong_secret',
    whole
      ? 'The body is as it was sent, but this secret did not sign it. Is it the secret of this endpoint, and the newest?'
      : 'No signature fits: another secret, or the body was changed on its way here.',
  )
}

/** Checks that a delivery came from the service, unchanged and recently; if not, says what to fix. */
export const verifyWebhook = async (input: WebhookInput): Promise<WebhookResult> => {
  const { secret, headers, body, toleranceSeconds = 300, clock = () => new Date() } = input
  if (typeof body !== 'string' && !(body instanceof Uint8Array))
    return refuse(
      'parsed_body',
      'The body was parsed before it got here. Pass the raw text or bytes as received.',
    )
  const id = headerOf(headers, 'webhook-id')
  const timestamp = headerOf(headers, 'webhook-timestamp')
  const signature = headerOf(headers, 'webhook-signature') ?? headerOf(headers, 'x-service-signature')
  const missing = Object.entries({
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    'webhook-signature or X-Service-Signature': signature,
  }).find(([, value]) => !value)
  if (!id || !timestamp || !signature || missing)
    return refuse('missing_header', `The header ${missing?.[0]} is missing.`)
  if (!/^\d{1,12}$/.test(timestamp))
    return refuse('missing_header', 'The header webhook-timestamp is not a number of seconds.')
  const keyBytes = secret.startsWith('whsec_') ? fromBase64(secret.slice(6)) : undefined
  if (!keyBytes || keyBytes.length === 0)
    return refuse('bad_prefix', 'The secret must be whsec_ and base64, whole, as shown at registration.')
  const signatures = signaturesIn(signature)
  if (signatures.length === 0)
    return refuse('bad_prefix', 'The signature header has no entry that begins with v1, and base64.')
  const hmac = { name: 'HMAC', hash: 'SHA-256' }
  const key = await crypto.subtle.importKey('raw', keyBytes, hmac, false, ['verify'])
  const isSigned = async (text: string | Uint8Array) => {
    const signed = signedBytes(id, timestamp, text)
    const fits = await Promise.all(
      signatures.map((bytes) => crypto.subtle.verify('HMAC', key, bytes, signed)),
    )
    return fits.includes(true)
  }
  if (!(await isSigned(body))) return explainMismatch({ headers, body, isSigned })
  // After the signature, so that "stale" means a genuine delivery that is too old or replayed, or a wrong clock.
  const sentAt = Number(timestamp)
  if (Math.abs(clock().getTime() / 1_000 - sentAt) > toleranceSeconds)
    return refuse(
      'stale_timestamp',
      `Signed at ${timestamp}, more than ${toleranceSeconds} s from now. A replay, or your clock is wrong.`,
    )
  return { ok: true, id, timestamp: new Date(sentAt * 1_000) }
}
