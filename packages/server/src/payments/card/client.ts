import { Stripe } from 'stripe'
import { send } from '../../platform/net/outbound.ts'

const answerBytesMax = 2_000_000
/** For one attempt. The SDK retries once where that is safe, so a caller waits about 13 s at most. */
const timeoutMs = 6_000
const retriesMax = 1

type Response = Awaited<ReturnType<typeof send>>

/** A response of the outbound client in the SDK's form. */
class OutboundResponse extends Stripe.HttpClientResponse {
  readonly #answer: Response
  constructor(answer: Response) {
    super(answer.status, answer.headers as Record<string, string>)
    this.#answer = answer
  }
  override getRawResponse(): unknown {
    return {}
  }
  override toStream(): never {
    throw new Error(
      `card provider response with status ${this.#answer.status} cannot be streamed: it is read whole`,
    )
  }
  override toJSON(): Promise<unknown> {
    return Promise.resolve().then(() => this._parseResponseBody(this.#answer.body) as unknown)
  }
}

/** Headers that describe this machine to the provider. It needs none of them. */
const omittedHeaders: ReadonlySet<string> = new Set([
  'user-agent',
  'x-stripe-client-user-agent',
  'x-stripe-client-telemetry',
  'content-length',
])

/** Sends the SDK's requests through the platform's outbound client, the only one that reaches the network. */
class OutboundClient extends Stripe.HttpClient {
  override getClientName(): string {
    return 'pohf'
  }
  override async makeRequest(
    ...[host, port, path, method, headers, data, protocol]: Parameters<Stripe.HttpClient['makeRequest']>
  ): Promise<OutboundResponse> {
    if (method !== 'GET' && method !== 'POST')
      throw new Error(`card provider request ${method} ${path} not sent: expected GET or POST`)
    const sentHeaders = Object.entries(headers).filter(([name]) => !omittedHeaders.has(name.toLowerCase()))
    const answer = await send({
      url: `${protocol}://${host}:${port}${path}`,
      method,
      headers: {
        ...Object.fromEntries(sentHeaders.map(([name, value]) => [name, String(value)])),
        'User-Agent': 'pohf',
      },
      ...(method === 'POST' ? { body: data } : {}),
      timeoutMs,
      responseBytesMax: answerBytesMax,
      trust: 'operator',
    }).catch((error: unknown) => {
      throw error instanceof Error && error.name === 'TimeoutError'
        ? Stripe.HttpClient.makeTimeoutError()
        : error
    })
    return new OutboundResponse(answer)
  }
}

/** The provider's SDK over the platform's outbound client. */
export const makeStripeClient = (options: {
  readonly secretKey: string
  readonly apiBase: string
}): Stripe => {
  const url = new URL(options.apiBase)
  const https = url.protocol === 'https:'
  return new Stripe(options.secretKey, {
    host: url.hostname,
    port: url.port === '' ? (https ? 443 : 80) : Number(url.port),
    protocol: https ? 'https' : 'http',
    httpClient: new OutboundClient(),
    timeout: timeoutMs,
    maxNetworkRetries: retriesMax,
    telemetry: false,
  })
}

export const asStripeError = (error: unknown): Stripe.errors.StripeError | undefined =>
  error instanceof Stripe.errors.StripeError ? error : undefined

/** The version of the API that the SDK names in every request. */
export const apiVersion: string = Stripe.API_VERSION
