const encoder = new TextEncoder()

const sha256 = async (bytes: Uint8Array<ArrayBuffer>): Promise<Uint8Array<ArrayBuffer>> =>
  new Uint8Array(await crypto.subtle.digest('SHA-256', bytes))

const prefixed = (first: number, ...parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> => {
  const bytes = new Uint8Array(1 + parts.reduce((sum, part) => sum + part.length, 0))
  bytes[0] = first
  let at = 1
  for (const part of parts) {
    bytes.set(part, at)
    at += part.length
  }
  return bytes
}

/** The largest power of two below n. */
const splitOf = (n: number): number => 2 ** Math.floor(Math.log2(n - 1))

const hashTree = async (hashes: readonly Uint8Array<ArrayBuffer>[]): Promise<Uint8Array<ArrayBuffer>> => {
  const [first] = hashes
  if (hashes.length === 1 && first) return first
  const split = splitOf(hashes.length)
  return sha256(prefixed(1, await hashTree(hashes.slice(0, split)), await hashTree(hashes.slice(split))))
}

/** The Merkle tree hash of RFC 6962, section 2.1, over texts; 64 hexadecimal digits. */
export const merkleRoot = async (leaves: readonly string[]): Promise<string> => {
  const hashes = await Promise.all(leaves.map((leaf) => sha256(prefixed(0, encoder.encode(leaf)))))
  const root = hashes.length === 0 ? await sha256(new Uint8Array()) : await hashTree(hashes)
  return Array.from(root, (byte) => byte.toString(16).padStart(2, '0')).join('')
}
