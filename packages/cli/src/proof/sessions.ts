import { checkChunks, type SealedChunk, type TelemetryClaim, type TelemetryOpening } from '@pohf/verify'
import { agentCall, type AgentRemote } from '../command/agent.ts'
import { CommandError } from '../command/errors.ts'
import { exitCodes } from '../command/exit-codes.ts'
import { printAnswer } from '../command/output.ts'

type Page = {
  readonly telemetry: TelemetryClaim
  readonly opening: TelemetryOpening
  readonly chunks: readonly SealedChunk[]
  readonly nextFrom: number | null
}

const pageSize = 100
/** A session has at most 2,000 chunks. */
const pagesMax = 20

const fetchPage = (remote: AgentRemote, sessionId: string, from: number): Promise<Page> =>
  agentCall<Page>(
    remote,
    'GET',
    `/api/agents/sessions/${encodeURIComponent(sessionId)}/chunks?from=${from}&limit=${pageSize}`,
  )

/** `pohf sessions open`: fetches a recording and checks it. */
export const openSession = async (sessionId: string, options: AgentRemote): Promise<void> => {
  const first = await fetchPage(options, sessionId, 1)
  const chunks = [...first.chunks]
  let from = first.nextFrom
  for (let page = 1; from !== null && page < pagesMax; page++) {
    const next = await fetchPage(options, sessionId, from)
    chunks.push(...next.chunks)
    from = next.nextFrom
  }
  const { telemetry, opening } = first
  if (chunks.length === 0)
    throw new CommandError(
      `Nothing to open: the ${telemetry.n} records are past their time, or were erased. Their hashes stay.`,
      { code: 'erased', fix: 'TELEMETRY_KEEP_DAYS of the service sets how long recordings are kept.' },
    )
  const checked = await checkChunks({ telemetry, sessionId, opening, chunks })
  if (!checked.ok) {
    printAnswer(options, checked, () =>
      console.log(`✗ chunk ${checked.seq}: ${checked.reason}. ${checked.message}`),
    )
    process.exitCode = exitCodes.refused
    return
  }
  printAnswer(options, { ok: true, complete: checked.complete, records: checked.records }, () => {
    for (const { seq, receivedAt, chunk, after } of checked.records)
      console.log(
        `✓ ${String(seq).padStart(4)}  ${new Date(receivedAt).toISOString()}  ${chunk.length} bytes${after.probe ? ', answers a probe' : ''}`,
      )
    console.log(
      `\n${checked.complete ? `Whole: ${telemetry.n} chunks, chain, signatures and end fit` : 'The first chunks fit, the last are missing'}. Root ${telemetry.root}`,
    )
  })
  if (!checked.complete) process.exitCode = exitCodes.refused
}
