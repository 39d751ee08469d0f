import * as client from 'openid-client'
import { isLoopbackHost } from '../../platform/net/loopback.ts'
import { send, type OutboundRequest } from '../../platform/net/outbound.ts'

/** Metadata, keys and tokens of an issuer are small. */
const responseBytesMax = 262_144
const callMsMax = 8_000
/** Metadata is read again after an hour, so that a new key or address of the issuer is found. */
const metadataMs = 3_600_000
/** A clock may be wrong by this much. */
export const toleranceSeconds = 30

export type ClientSettings = {
  readonly issuer: string
  readonly clientId: string
  /** Undefined for a public client, which has PKCE alone. */
  readonly clientSecret: string | undefined
  /** `user`: an owner of an agent named the issuer, so only public addresses are called. */
  readonly trust: OutboundRequest['trust']
  readonly allowLoopback: boolean
}

const bodyOf = (body: client.FetchBody): string | undefined => {
  if (body === null || body === undefined) return undefined
  if (typeof body === 'string') return body
  if (body instanceof URLSearchParams) return body.toString()
  throw new Error(`a call to an issuer has a body of type ${typeof body}, expected a form`)
}

/** Sends every call of the library through the guarded network of the server. No redirect is followed. */
const makeFetch =
  ({ trust, allowLoopback }: ClientSettings): client.CustomFetch =>
  async (url, { method, headers, body }) => {
    if (method !== 'GET' && method !== 'POST') throw new Error(`${method} is no call of a sign-in`)
    const text = bodyOf(body)
    const response = await send({
      url,
      method,
      headers,
      ...(text === undefined ? {} : { body: text }),
      timeoutMs: callMsMax,
      responseBytesMax,
      trust,
      allowLoopback,
    })
    if (!response.complete)
      throw new Error(`issuer ${new URL(url).host} answered with too much, or was cut off`)
    const type = response.headers['content-type']
    return new Response(response.body === '' ? null : response.body, {
      status: response.status,
      headers: type === undefined ? {} : { 'content-type': type },
    })
  }

/** Plain http is for a provider on this machine alone: anybody between could read the code of a sign-in. */
const isPlainLoopback = (address: string): boolean => {
  const { protocol, hostname } = new URL(address)
  return protocol === 'http:' && isLoopbackHost(hostname)
}

/** Every address that the issuer names is https, or http on this machine where the issuer is. */
const requireSafeAddresses = (
  { clientId }: ClientSettings,
  metadata: client.ServerMetadata,
  isPlain: boolean,
): void => {
  for (const name of ['authorization_endpoint', 'token_endpoint', 'jwks_uri'] as const) {
    const address = metadata[name]
    const isSafe =
      address !== undefined &&
      URL.canParse(address) &&
      (new URL(address).protocol === 'https:' || (isPlain && isPlainLoopback(address)))
    if (!isSafe)
      throw new Error(`issuer ${metadata.issuer} of client ${clientId} names no safe ${name}: ${address}`)
  }
}

/** As the issuer takes it: in the header, or where it takes only that, in the body. */
const authenticationOf = (secret: string | undefined): client.ClientAuth => {
  if (secret === undefined) return client.None()
  const [inHeader, inBody] = [client.ClientSecretBasic(secret), client.ClientSecretPost(secret)]
  return (server, metadata, body, headers) => {
    const methods = server.token_endpoint_auth_methods_supported ?? ['client_secret_basic']
    const send = methods.includes('client_secret_basic') ? inHeader : inBody
    send(server, metadata, body, headers)
  }
}

const discover = async (settings: ClientSettings): Promise<client.Configuration> => {
  const isPlain = isPlainLoopback(settings.issuer)
  const config = await client.discovery(
    new URL(settings.issuer),
    settings.clientId,
    { [client.clockTolerance]: toleranceSeconds },
    authenticationOf(settings.clientSecret),
    {
      [client.customFetch]: makeFetch(settings),
      execute: [
        // The signature is what a dispute can show later; the connection to the issuer proves nothing to others.
        client.enableNonRepudiationChecks,
        ...(isPlain ? [client.allowInsecureRequests] : []),
      ],
      timeout: callMsMax / 1_000,
    },
  )
  requireSafeAddresses(settings, config.serverMetadata(), isPlain)
  return config
}

/** The configuration of one issuer: discovered at its first use, again after an hour, and again after a failure. */
export const makeClient = (settings: ClientSettings) => {
  let known: { readonly config: Promise<client.Configuration>; readonly until: number } | undefined
  return async (): Promise<client.Configuration> => {
    if (known && performance.now() < known.until) return known.config
    const loading = { config: discover(settings), until: performance.now() + metadataMs }
    known = loading
    try {
      return await loading.config
    } catch (error) {
      if (known === loading) known = undefined
      throw error
    }
  }
}
