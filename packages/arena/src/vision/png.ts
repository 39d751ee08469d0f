// Reads a PNG with nothing but zlib: what a bot needs that has no browser.
import { inflateSync } from 'node:zlib'

/** Brightness of each pixel, 0 to 255, row by row. */
export type GreyImage = { readonly width: number; readonly height: number; readonly grey: Uint8Array }

const sideMax = 4_096
const signature = '89504e470d0a1a0a'
/** Values per pixel by colour type. */
const channelsOf = new Map([
  [0, 1],
  [2, 3],
  [3, 1],
  [4, 2],
  [6, 4],
])

type Header = {
  readonly width: number
  readonly height: number
  readonly depth: number
  readonly type: number
  readonly channels: number
}

const readHeader = (chunk: Buffer): Header => {
  const [width, height] = [chunk.readUInt32BE(0), chunk.readUInt32BE(4)]
  const [depth, type, interlace] = [chunk[8] ?? 0, chunk[9] ?? 0, chunk[12] ?? 0]
  const channels = channelsOf.get(type)
  if (channels === undefined || ![1, 2, 4, 8].includes(depth) || interlace !== 0)
    throw new Error(`a PNG of type ${type}, depth ${depth}, interlace ${interlace} is not read here`)
  if (width < 1 || height < 1 || width > sideMax || height > sideMax)
    throw new Error(`a PNG of ${width} by ${height} pixels is not read here: at most ${sideMax} on each side`)
  return { width, height, depth, type, channels }
}

const paeth = (left: number, up: number, corner: number): number => {
  const guess = left + up - corner
  const [a, b, c] = [Math.abs(guess - left), Math.abs(guess - up), Math.abs(guess - corner)]
  return a <= b && a <= c ? left : b <= c ? up : corner
}

const predict = (filter: number, left: number, up: number, corner: number): number => {
  if (filter === 1) return left
  if (filter === 2) return up
  if (filter === 3) return (left + up) >> 1
  return filter === 4 ? paeth(left, up, corner) : 0
}

/** Undoes the filter of each row; gives the rows without their filter bytes. */
const unfilter = (data: Buffer, rowBytes: number, rows: number, step: number): Uint8Array => {
  const out = new Uint8Array(rowBytes * rows)
  for (let row = 0; row < rows; row += 1) {
    const filter = data[row * (rowBytes + 1)] ?? 0
    for (let at = 0; at < rowBytes; at += 1) {
      const here = row * rowBytes + at
      const left = at >= step ? (out[here - step] ?? 0) : 0
      const up = row > 0 ? (out[here - rowBytes] ?? 0) : 0
      const corner = at >= step && row > 0 ? (out[here - rowBytes - step] ?? 0) : 0
      out[here] = (data[row * (rowBytes + 1) + 1 + at] ?? 0) + predict(filter, left, up, corner)
    }
  }
  return out
}

const brightness = (red: number, green: number, blue: number): number =>
  Math.round(0.299 * red + 0.587 * green + 0.114 * blue)

export const decodePng = (bytes: Buffer): GreyImage => {
  if (bytes.subarray(0, 8).toString('hex') !== signature)
    throw new Error(`${bytes.length} bytes are not a PNG: the signature is missing`)
  const data: Buffer[] = []
  let header: Header | undefined
  let palette = Buffer.alloc(0)
  for (let at = 8; at + 12 <= bytes.length;) {
    const [size, name] = [bytes.readUInt32BE(at), bytes.toString('latin1', at + 4, at + 8)]
    const chunk = bytes.subarray(at + 8, at + 8 + size)
    if (name === 'IHDR') header = readHeader(chunk)
    if (name === 'PLTE') palette = Buffer.from(chunk)
    if (name === 'IDAT') data.push(chunk)
    at += 12 + size
  }
  if (!header) throw new Error(`a PNG of ${bytes.length} bytes has no IHDR chunk`)
  const { width, height, depth, type, channels } = header
  const rowBytes = Math.ceil((width * depth * channels) / 8)
  const inflated = inflateSync(Buffer.concat(data), { maxOutputLength: (rowBytes + 1) * height })
  const rows = unfilter(inflated, rowBytes, height, Math.max(1, (depth * channels) >> 3))
  const value = (x: number, y: number, channel: number): number => {
    const bit = (x * channels + channel) * depth
    return ((rows[y * rowBytes + (bit >> 3)] ?? 0) >> (8 - depth - (bit & 7))) & ((1 << depth) - 1)
  }
  const grey = new Uint8Array(width * height)
  for (let y = 0; y < height; y += 1)
    for (let x = 0; x < width; x += 1) {
      const first = value(x, y, 0)
      const entry = 3 * first
      grey[y * width + x] =
        type === 3
          ? brightness(palette[entry] ?? 0, palette[entry + 1] ?? 0, palette[entry + 2] ?? 0)
          : channels >= 3
            ? brightness(first, value(x, y, 1), value(x, y, 2))
            : (first * 255) / ((1 << depth) - 1)
    }
  return { width, height, grey }
}
