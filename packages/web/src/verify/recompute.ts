import { reasonText } from '@pohf/protocol/reasons'
import type { TelemetryRecord } from '@pohf/protocol/telemetry'
import type { RecomputeResult } from '@pohf/scorer'
import { checkChunks, readRecording, type Claims } from '@pohf/verify'
import type { CheckLine } from '../shared/credential/outcome.ts'
import { componentNames } from '../shared/credential/messages.ts'

const good = (text: string): CheckLine => ({ sign: '✓', text })
const bad = (text: string): CheckLine => ({ sign: '✗', text })
const note = (text: string): CheckLine => ({ sign: '–', text })

const parse = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** What came out, in lines; the last one is the answer. */
const recomputeLines = (result: RecomputeResult): CheckLine[] => {
  if (result.type === 'unknown') return [bad(`It cannot be scored again: ${result.reason}.`)]
  const { score, assumed, differences } = result
  const parts = Object.entries(score.components).flatMap(([name, value]) =>
    value === null ? [] : [`${(componentNames[name] ?? name).toLowerCase()} ${value}`],
  )
  return [
    note(`From the recording: ${parts.join(', ')}`),
    note(
      `Taken from the credential: device ${assumed.device}, history ${assumed.history}, ${assumed.known.map(reasonText).join('; ') || 'no flag'}`,
    ),
    ...(score.observations.length === 0
      ? []
      : [note(`Observed, without effect on the score: ${score.observations.map(reasonText).join('; ')}`)]),
    ...(differences ?? []).map(bad),
    differences?.length === 0
      ? good(`Quality ${score.quality}: every number equals the signed one`)
      : bad(`The computed quality is ${score.quality}`),
  ]
}

/** Checks an opened recording against a credential and scores it again. Nothing leaves the page. */
export const recomputeText = async (text: string, claims: Claims): Promise<CheckLine[]> => {
  const recording = readRecording(parse(text))
  if (!recording || !claims.telemetry)
    return [bad('This is not an opened session: paste the answer of GET /api/agents/sessions/{id}/chunks')]
  const checked = await checkChunks({
    ...recording,
    telemetry: claims.telemetry,
    ...(claims.cnf === undefined ? {} : { jkt: claims.cnf.jkt }),
  })
  if (!checked.ok) return [bad(`Chunk ${checked.seq}: ${checked.message}`)]
  if (!checked.complete)
    return [
      bad(`${checked.records.length} of ${claims.telemetry.n} chunks are here; a score needs all of them`),
    ]
  // The model is large, so it is loaded only here.
  const [{ recompute }, { inputModel }] = await Promise.all([
    import('@pohf/scorer'),
    import('@pohf/scorer/input-model'),
  ])
  const records = checked.records as readonly TelemetryRecord[]
  return [
    good(
      `All ${claims.telemetry.n} chunks are the ones this credential commits to; chain and signatures hold`,
    ),
    ...recomputeLines(recompute(records, recording.opening.kind, claims, inputModel)),
  ]
}
