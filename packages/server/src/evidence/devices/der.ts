/** A DER element: its tag and its content. */
type Element = { readonly tag: number; readonly content: Buffer; readonly end: number }

const readElement = (bytes: Buffer, at: number): Element => {
  const tag = bytes.readUInt8(at)
  const first = bytes.readUInt8(at + 1)
  const lengthBytes = first < 0x80 ? 0 : first & 0x7f
  // Indefinite lengths are not DER; four length bytes exceed any certificate.
  if (first === 0x80 || lengthBytes > 4) throw new RangeError(`not DER: length byte ${first} at offset ${at}`)
  const length = lengthBytes === 0 ? first : bytes.readUIntBE(at + 2, lengthBytes)
  const start = at + 2 + lengthBytes
  if (start + length > bytes.length)
    throw new RangeError(`not DER: the element at offset ${at} ends after ${bytes.length} bytes`)
  return { tag, content: bytes.subarray(start, start + length), end: start + length }
}

const childrenMax = 256
const children = (content: Buffer): Element[] => {
  const found: Element[] = []
  for (let at = 0; at < content.length;) {
    const element = readElement(content, at)
    found.push(element)
    if (found.length > childrenMax)
      throw new RangeError(`not accepted: more than ${childrenMax} DER elements in ${content.length} bytes`)
    at = element.end
  }
  return found
}

/** Base-128: groups of seven bits, all but the last with the top bit set. */
const septets = (value: number): number[] => {
  const bytes = [value & 0x7f]
  for (let left = Math.floor(value / 128); left > 0; left = Math.floor(left / 128))
    bytes.unshift((left & 0x7f) | 0x80)
  return bytes
}

const oidBytes = (oid: string): Buffer => {
  const [first = 0, second = 0, ...rest] = oid.split('.').map(Number)
  return Buffer.from([first * 40 + second, ...rest.flatMap(septets)])
}

const extensionsTag = 0xa3
/** The content of a certificate's extension; undefined when there is none with this id, or more than one. */
export const extensionOf = (certificate: Buffer, oid: string): Buffer | undefined => {
  const [signed] = children(readElement(certificate, 0).content)
  const [list] = signed ? children(signed.content).filter(({ tag }) => tag === extensionsTag) : []
  if (!list) return undefined
  const encodedOid = oidBytes(oid)
  const matching = children(readElement(list.content, 0).content)
    .map(({ content }) => children(content))
    .filter(([id]) => id?.content.equals(encodedOid))
  return matching.length === 1 ? matching[0]?.at(-1)?.content : undefined
}

/** The content inside `levels` nested elements. */
export const unwrap = (bytes: Buffer, levels: number): Buffer => {
  let content = bytes
  for (let level = 0; level < levels; level += 1) content = readElement(content, 0).content
  return content
}
