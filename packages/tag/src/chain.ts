import { actionBytes, firstLinkBytes, linkBytes, thumbprintText, type Action } from '@pohf/protocol/telemetry'

const encoder = new TextEncoder()
const hash = async (bytes: Uint8Array<ArrayBuffer>) =>
  new Uint8Array(await crypto.subtle.digest('SHA-256', bytes))
const base64url = (bytes: Uint8Array): string =>
  btoa(String.fromCharCode(...bytes))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '')
const bytesOf = (text: string): Uint8Array =>
  Uint8Array.from(atob(text.replaceAll('-', '+').replaceAll('_', '/')), (character) =>
    character.charCodeAt(0),
  )

/** The key of one session. The browser keeps it: no script, ours included, can read it. */
export const makeKey = async () => {
  const { privateKey, publicKey } = await crypto.subtle.generateKey(
    { name: 'ECDSA', namedCurve: 'P-256' },
    false,
    ['sign', 'verify'],
  )
  const { x = '', y = '' } = await crypto.subtle.exportKey('jwk', publicKey)
  return { privateKey, jwk: { kty: 'EC', crv: 'P-256', x, y } as const }
}
type Key = Awaited<ReturnType<typeof makeKey>>

/** Links each chunk to all before it, and signs the link. */
export const openChain = async (
  key: Key,
  { nonce, sessionId, action }: { nonce: string; sessionId: string; action: Action },
) => {
  const jkt = base64url(await hash(encoder.encode(thumbprintText(key.jwk))))
  const actionHash = await hash(actionBytes(action))
  let link = await hash(firstLinkBytes({ nonce: bytesOf(nonce), jkt, sessionId, actionHash }))
  return async (seq: number, chunk: string): Promise<string> => {
    link = await hash(linkBytes(link, seq, await hash(encoder.encode(chunk))))
    const signature = await crypto.subtle.sign({ name: 'ECDSA', hash: 'SHA-256' }, key.privateKey, link)
    return base64url(new Uint8Array(signature))
  }
}
