import { isObject } from '../claims.ts'
import { merkleRoot } from './merkle.ts'
import type { IndexInputs, IndexRow } from './method.ts'

/** What an epoch of a series was computed from, as it is published. */
export type InputsDocument = IndexInputs & {
  readonly code: string
  readonly epoch: string
  readonly method: string
}

const pseudonymForm = /^[A-Za-z0-9_-]{16}$/
/** The limit of rows that a document has; 20,000 rows are about 2 MB. */
export const rowsMax = 20_000

const rowLeaf = ({ cluster, units, seconds, usdMicro }: IndexRow): string =>
  `row\t${cluster}\t${units}\t${seconds}\t${usdMicro}`
const workerLeaf = (worker: string): string => `worker\t${worker}`
const compareTexts = (one: string, other: string): number => (one < other ? -1 : one > other ? 1 : 0)

/** The document with its rows and workers in the one order in which they are signed. */
export const sortedInputs = (document: InputsDocument): InputsDocument => ({
  code: document.code,
  epoch: document.epoch,
  method: document.method,
  rows: document.rows.toSorted((one, other) => compareTexts(rowLeaf(one), rowLeaf(other))),
  workers: document.workers.toSorted(compareTexts),
})

/** The Merkle root that an epoch signs: over its series, month and method, then each row, then each worker. */
export const inputsRootOf = (document: InputsDocument): Promise<string> =>
  merkleRoot([
    `inputs\t${document.code}\t${document.epoch}\t${document.method}`,
    ...document.rows.map(rowLeaf),
    ...document.workers.map(workerLeaf),
  ])

const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) > 0
const isRow = (value: unknown): value is IndexRow =>
  isObject(value) &&
  typeof value['cluster'] === 'string' &&
  pseudonymForm.test(value['cluster']) &&
  isCount(value['units']) &&
  isCount(value['seconds']) &&
  isCount(value['usdMicro'])
const isPseudonym = (value: unknown): value is string =>
  typeof value === 'string' && pseudonymForm.test(value)

/** Reads a document of unknown origin; a text says what is wrong with it. */
export const readInputs = (value: unknown): InputsDocument | string => {
  if (!isObject(value)) return 'not a JSON object'
  const { code, epoch, method, rows, workers } = value
  if (typeof code !== 'string' || typeof epoch !== 'string' || typeof method !== 'string')
    return 'code, epoch or method is missing'
  if (!Array.isArray(rows) || !Array.isArray(workers)) return 'rows or workers is missing'
  if (rows.length > rowsMax || workers.length > rowsMax) return `more than ${rowsMax} rows or workers`
  if (!rows.every(isRow)) return 'a row is malformed'
  if (!workers.every(isPseudonym)) return 'a worker is malformed'
  if (new Set(workers).size !== workers.length) return 'a worker is listed twice'
  return { code, epoch, method, rows, workers }
}
