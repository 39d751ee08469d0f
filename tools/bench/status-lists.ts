// Sizes and times of status lists: a million credentials, some revoked, packed and compressed as the service does it.
// npx node tools/bench/status-lists.ts
import { randomInt } from 'node:crypto'
import { deflateSync, inflateSync } from 'node:zlib'
import {
  listPayload,
  packStatuses,
  defaultListLayout,
} from '../../packages/server/src/credentials/status/rules.ts'

const credentials = 1_000_000
const places = defaultListLayout.entries

/** So many different places of one list, revoked, as the database hands them over. */
const revokedWords = (count: number): Buffer => {
  const chosen = new Set<number>()
  while (chosen.size < count) chosen.add(randomInt(places))
  const words = Buffer.alloc(count * 4)
  for (const [n, idx] of [...chosen].entries()) words.writeUInt32BE(idx * 4 + 1, n * 4)
  return words
}

const timed = <T>(work: () => T): { result: T; ms: number } => {
  const startedAt = performance.now()
  const result = work()
  return { result, ms: performance.now() - startedAt }
}
const kilobytes = (bytes: number) => (bytes / 1_000).toFixed(1)

console.log(
  `${credentials.toLocaleString('en')} credentials in one list of ${places.toLocaleString('en')} places\n`,
)
console.log('| Revoked | of them | Compressed kB | Token kB | Pack ms | Compress ms |')
console.log('| --- | --- | --- | --- | --- | --- |')
for (const share of [0, 0.000_1, 0.001, 0.01, 0.02]) {
  const count = Math.round(credentials * share)
  const words = revokedWords(count)
  const { result: bits, ms: packMs } = timed(() => packStatuses(places, words))
  const { result: compressed, ms: compressMs } = timed(() => deflateSync(bits, { level: 9 }))
  if (!inflateSync(compressed).equals(bits))
    throw new Error(`status list with ${count} revoked credentials differs after deflate and inflate`)
  const payload = listPayload({
    issuer: 'https://pohf.example',
    uri: 'https://pohf.example/status/aa-live-1',
    at: new Date(),
    compressed,
    version: 1n,
  })
  // Header, payload and signature in base64url, with two dots.
  const tokenBytes = 122 + Math.ceil((JSON.stringify(payload).length * 4) / 3) + 86 + 2
  console.log(
    `| ${(share * 100).toFixed(2)} % | ${count.toLocaleString('en')} | ${kilobytes(compressed.length)} | ${kilobytes(tokenBytes)} | ${packMs.toFixed(1)} | ${compressMs.toFixed(0)} |`,
  )
}
