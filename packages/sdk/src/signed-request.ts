/** A key of Web Crypto, in Node and in browsers. */
type SigningKey = Parameters<typeof crypto.subtle.sign>[1]

/** A request to sign, and the key of your agent. */
export type RequestToSign = {
  readonly method: string
  readonly url: string
  /** The body as it is sent, byte by byte. */
  readonly body: string
  /** The origin whose key directory publishes the key, such as `https://agent.example`. */
  readonly agent: string
  /** A private key of Ed25519, or of ECDSA on P-256. */
  readonly privateKey: SigningKey
  /** The RFC 7638 thumbprint of its public key. */
  readonly keyid: string
}

/** The service accepts at most 480 seconds. */
const validSeconds = 300

const base64 = (bytes: Uint8Array): string => btoa(String.fromCharCode(...bytes))

const signatureOf = async (key: SigningKey, base: string): Promise<string> => {
  const algorithm = key.algorithm.name === 'ECDSA' ? { name: 'ECDSA', hash: 'SHA-256' } : key.algorithm.name
  return base64(new Uint8Array(await crypto.subtle.sign(algorithm, key, new TextEncoder().encode(base))))
}

/**
 * Signs a request by RFC 9421, so that an agent of a trust root orders without an API key. Returns the headers to send
 * with it. Each call has a nonce of its own: sign anew for each attempt.
 */
export const signRequest = async (request: RequestToSign): Promise<Record<string, string>> => {
  const { method, body, agent, privateKey, keyid } = request
  const { host, pathname } = new URL(request.url)
  const hash = new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(body)))
  const digest = `sha-256=:${base64(hash)}:`
  const created = Math.floor(Date.now() / 1_000)
  const covered = '"@method" "@authority" "@path" "content-digest" "signature-agent";key="sig1"'
  const parameters = [
    `(${covered})`,
    `created=${created}`,
    `expires=${created + validSeconds}`,
    `keyid="${keyid}"`,
    `nonce="${crypto.randomUUID()}"`,
    'tag="agent-payer-auth"',
  ].join(';')
  const base = [
    `"@method": ${method}`,
    `"@authority": ${host}`,
    `"@path": ${pathname}`,
    `"content-digest": ${digest}`,
    `"signature-agent";key="sig1": "${agent}"`,
    `"@signature-params": ${parameters}`,
  ].join('\n')
  return {
    'content-digest': digest,
    'signature-agent': `sig1="${agent}"`,
    'signature-input': `sig1=${parameters}`,
    signature: `sig1=:${await signatureOf(privateKey, base)}:`,
  }
}
