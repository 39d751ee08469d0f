import { buffer } from 'node:stream/consumers'
import sharp from 'sharp'

// The program of the process that re-encodes one image: bytes on standard input, WebP on standard output. It has no
// settings and no connection to the service, so that a fault in a decoder reaches nothing but this image.

/** 24 million pixels take about 100 MB while they are decoded. */
const pixelsMax = 24_000_000
/** Longest side in pixels. */
const sideMax = 2_048

sharp.cache(false)
sharp.concurrency(1)
// Every other decoder is off: SVG can name other files, and the rest are rare and have had more faults.
sharp.block({ operation: ['VipsForeignLoad'] })
sharp.unblock({
  operation: [
    'VipsForeignLoadJpegBuffer',
    'VipsForeignLoadPngBuffer',
    'VipsForeignLoadWebpBuffer',
    'VipsForeignLoadNsgifBuffer',
  ],
})

const image = await sharp(await buffer(process.stdin), { limitInputPixels: pixelsMax, failOn: 'error' })
  .autoOrient()
  .resize({ width: sideMax, height: sideMax, fit: 'inside', withoutEnlargement: true })
  .webp({ quality: 85 })
  .toBuffer()
process.stdout.end(image)
