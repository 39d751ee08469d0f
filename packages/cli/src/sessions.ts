import { checkChunks, type SealedChunk, type TelemetryClaim, type TelemetryOpening } from '@pohf/verify'
import { findKey } from './agent.ts'

type OpenSessionOptions = { readonly url: string; readonly key?: string; readonly json?: boolean }
type Page = {
  readonly telemetry: TelemetryClaim
  readonly opening: TelemetryOpening
  readonly chunks: readonly SealedChunk[]
  readonly nextFrom: number | null
}

const pageSize = 100
/** A session has at most 2,000 chunks. */
const pagesMax = 20

const fail = (message: string, code: 1 | 2): undefined => {
  console.error(message)
  process.exitCode = code
  return undefined
}

const fetchPage = async (
  options: OpenSessionOptions,
  sessionId: string,
  from: number,
): Promise<Page | undefined> => {
  const path = `/api/agents/sessions/${encodeURIComponent(sessionId)}/chunks?from=${from}&limit=${pageSize}`
  try {
    const response = await fetch(new URL(path, options.url), {
      headers: { authorization: `Bearer ${options.key}` },
      signal: AbortSignal.timeout(60_000),
    })
    const answer = (await response.json()) as Page & { readonly message?: string }
    return response.ok ? answer : fail(answer.message ?? `The server answers ${response.status}.`, 1)
  } catch (error) {
    return fail(
      `${options.url} does not answer: ${error instanceof Error ? error.message : String(error)}`,
      1,
    )
  }
}

/** `pohf sessions open`: fetches a recording and checks it. Exit code 0 whole, 1 not, 2 wrongly called. */
export const openSession = async (sessionId: string, flags: OpenSessionOptions): Promise<void> => {
  const key = findKey(flags.key)
  if (!key) return fail('An API key of the agent is needed: --key or POHF_KEY.', 2)
  const options = { ...flags, key }
  const first = await fetchPage(options, sessionId, 1)
  if (!first) return
  const chunks = [...first.chunks]
  let from = first.nextFrom
  for (let page = 1; from !== null && page < pagesMax; page++) {
    const next = await fetchPage(options, sessionId, from)
    if (!next) return
    chunks.push(...next.chunks)
    from = next.nextFrom
  }
  const { telemetry, opening } = first
  if (chunks.length === 0)
    return fail(
      `Nothing to open: the ${telemetry.n} records are past their time, or were erased. Their hashes stay.`,
      1,
    )
  const checked = await checkChunks({ telemetry, sessionId, opening, chunks })
  if (!checked.ok) {
    console.log(
      options.json
        ? JSON.stringify(checked)
        : `✗ chunk ${checked.seq}: ${checked.reason}. ${checked.message}`,
    )
    process.exitCode = 1
    return
  }
  if (options.json)
    console.log(JSON.stringify({ ok: true, complete: checked.complete, records: checked.records }))
  else {
    for (const { seq, receivedAt, chunk, after } of checked.records)
      console.log(
        `✓ ${String(seq).padStart(4)}  ${new Date(receivedAt).toISOString()}  ${chunk.length} bytes${after.probe ? ', answers a probe' : ''}`,
      )
    console.log(
      `\n${checked.complete ? `Whole: ${telemetry.n} chunks, chain, signatures and end fit` : 'The first chunks fit, the last are missing'}. Root ${telemetry.root}`,
    )
  }
  if (!checked.complete) process.exitCode = 1
}
