import type { Recording, SealedChunk, TelemetryClaim, TelemetryOpening } from './telemetry.ts'

type Page = {
  readonly sessionId: string
  readonly telemetry: TelemetryClaim
  readonly opening: TelemetryOpening
  readonly chunks: readonly SealedChunk[]
}

const pagesMax = 100
const chunksMax = 2_000

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
const areTexts = (object: Record<string, unknown>, names: readonly string[]): boolean =>
  names.every((name) => typeof object[name] === 'string')

const isTelemetry = (value: unknown): boolean =>
  isObject(value) && areTexts(value, ['alg', 'link', 'root']) && Number.isInteger(value['n'])
const isOpening = (value: unknown): boolean =>
  isObject(value) &&
  areTexts(value, ['nonce', 'site', 'kind']) &&
  isObject(value['key']) &&
  areTexts(value['key'], ['kty', 'crv', 'x', 'y']) &&
  [value['workflowId'], value['challenge']].every((text) => text === null || typeof text === 'string')
const isChunk = (value: unknown): boolean =>
  isObject(value) &&
  Number.isInteger(value['seq']) &&
  areTexts(value, ['ciphertext', 'key']) &&
  Array.isArray(value['proof']) &&
  value['proof'].every((hash) => typeof hash === 'string')
const isPage = (value: unknown): value is Page =>
  isObject(value) &&
  typeof value['sessionId'] === 'string' &&
  isTelemetry(value['telemetry']) &&
  isOpening(value['opening']) &&
  Array.isArray(value['chunks']) &&
  value['chunks'].length <= chunksMax &&
  value['chunks'].every(isChunk)

/**
 * The answer of `GET /api/agents/sessions/{id}/chunks` as the input of `checkChunks`. A long session comes in
 * pages: an array of them, in order, is one recording. Undefined for anything else.
 */
export const readRecording = (value: unknown): Omit<Recording, 'jkt'> | undefined => {
  const pages: unknown[] = Array.isArray(value) ? value : [value]
  const [first] = pages
  if (pages.length > pagesMax || !isPage(first)) return undefined
  if (!pages.every((page) => isPage(page) && page.sessionId === first.sessionId)) return undefined
  const { sessionId, telemetry, opening } = first
  return { sessionId, telemetry, opening, chunks: (pages as Page[]).flatMap(({ chunks }) => chunks) }
}
