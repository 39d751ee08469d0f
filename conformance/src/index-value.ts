import { createHash } from 'node:crypto'
import { filledListAt, listAt, numberAt, textAt } from './expect.ts'

const sha256 = (first: number, ...parts: readonly Buffer[]): Buffer =>
  createHash('sha256')
    .update(Buffer.concat([Buffer.from([first]), ...parts]))
    .digest()

const hashTree = (hashes: readonly Buffer[]): Buffer => {
  const [only] = hashes
  if (hashes.length === 1 && only) return only
  const split = 2 ** Math.floor(Math.log2(hashes.length - 1))
  return sha256(1, hashTree(hashes.slice(0, split)), hashTree(hashes.slice(split)))
}

/** The Merkle root of published inputs, as the methodology defines it. */
export const inputsRoot = (inputs: unknown): string => {
  const rows = filledListAt(inputs, 'rows').map((row) =>
    [
      'row',
      textAt(row, 'cluster'),
      numberAt(row, 'units'),
      numberAt(row, 'seconds'),
      numberAt(row, 'usdMicro'),
    ].join('\t'),
  )
  const workers = listAt(inputs, 'workers').map((worker) => `worker\t${String(worker)}`)
  const first = ['inputs', textAt(inputs, 'code'), textAt(inputs, 'epoch'), textAt(inputs, 'method')].join(
    '\t',
  )
  return hashTree([first, ...rows, ...workers].map((leaf) => sha256(0, Buffer.from(leaf)))).toString('hex')
}

/** The value of published inputs: the median, weighted by seconds, with at most 5 % of all seconds for a cluster. */
export const indexValue = (inputs: unknown): number => {
  const rows = filledListAt(inputs, 'rows').map((row) => ({
    cluster: textAt(row, 'cluster'),
    seconds: numberAt(row, 'seconds'),
    rate: numberAt(row, 'usdMicro') / numberAt(row, 'seconds'),
  }))
  const total = rows.reduce((sum, { seconds }) => sum + seconds, 0)
  const ofCluster = new Map<string, number>()
  for (const { cluster, seconds } of rows) ofCluster.set(cluster, (ofCluster.get(cluster) ?? 0) + seconds)
  const weighted = rows
    .map((row) => ({
      ...row,
      weight: row.seconds * Math.min(1, total / 20 / (ofCluster.get(row.cluster) ?? 1)),
    }))
    .toSorted((one, other) => one.rate - other.rate)
  const half = weighted.reduce((sum, { weight }) => sum + weight, 0) / 2
  let reached = 0
  const median = weighted.find(({ weight }) => (reached += weight) >= half)
  return Math.round((median?.rate ?? Number.NaN) * 0.36) / 100
}
