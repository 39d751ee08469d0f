import { constants, crc32, deflateSync } from 'node:zlib'

export type Colour = readonly [red: number, green: number, blue: number]
type Picture = {
  readonly width: number
  readonly height: number
  /** Up to 16 colours. */
  readonly palette: readonly Colour[]
  /** One palette index per pixel, row by row. */
  readonly pixels: Uint8Array
}

const pngChunk = (name: string, body: Uint8Array): Buffer => {
  const named = Buffer.concat([Buffer.from(name, 'latin1'), body])
  const frame = Buffer.alloc(named.length + 8)
  frame.writeUInt32BE(body.length)
  named.copy(frame, 4)
  frame.writeUInt32BE(crc32(named), named.length + 4)
  return frame
}

const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])

/** Encodes a PNG with four bits per pixel and a palette. The width must be even. */
export const encodePng = ({ width, height, palette, pixels }: Picture): Buffer => {
  const head = Buffer.alloc(13)
  head.writeUInt32BE(width)
  head.writeUInt32BE(height, 4)
  // Four bits per pixel, indexed colour.
  head.set([4, 3, 0, 0, 0], 8)
  const rowBytes = width / 2
  const rows = Buffer.alloc((rowBytes + 1) * height)
  for (let y = 0; y < height; y++) {
    const start = y * (rowBytes + 1) + 1
    // Each row begins with its filter. Grain is two pixels high: every other row is written as its difference to
    // the row above, and is nearly all zeros.
    const isDifference = y % 2 === 1
    rows[start - 1] = isDifference ? 2 : 0
    for (let x = 0; x < rowBytes; x++) {
      const at = y * width + 2 * x
      const byte = ((pixels[at] ?? 0) << 4) | (pixels[at + 1] ?? 0)
      const above = isDifference ? ((pixels[at - width] ?? 0) << 4) | (pixels[at - width + 1] ?? 0) : 0
      rows[start + x] = (byte - above) & 255
    }
  }
  return Buffer.concat([
    signature,
    pngChunk('IHDR', head),
    pngChunk('PLTE', Uint8Array.from(palette.flat())),
    // Run-length matching suffices for noise; full matching costs three times as much and saves nothing.
    pngChunk('IDAT', deflateSync(rows, { strategy: constants.Z_RLE })),
    pngChunk('IEND', new Uint8Array()),
  ])
}
