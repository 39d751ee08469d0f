import { recompute, type RecomputeResult } from '@pohf/scorer'
import { inputModel } from '@pohf/scorer/input-model'
import type { TelemetryRecord } from '@pohf/protocol/telemetry'
import {
  checkChunks,
  credentialKinds,
  decodeUnverified,
  readRecording,
  verifyCredential,
  type Claims,
  type Options,
} from '@pohf/verify'
import { CommandError, messageOf, UsageError } from '../command/errors.ts'
import { exitCodes } from '../command/exit-codes.ts'
import { readJson } from '../command/files.ts'
import { printAnswer } from '../command/output.ts'
import { withProgress } from '../command/progress.ts'

type RecomputeOptions = {
  readonly credential?: string
  readonly issuer?: string
  readonly jwks?: string
  readonly json?: boolean
}

type Line = { readonly ok: boolean | null; readonly text: string }
const marks = new Map([
  [true, '✓'],
  [false, '✗'],
  [null, '–'],
])

/** The claims of the credential, and whether their signature was verified. */
const readClaims = async (options: RecomputeOptions): Promise<{ claims: Claims | null; line: Line }> => {
  const { credential, issuer, jwks } = options
  if (credential === undefined)
    return { claims: null, line: { ok: null, text: 'credential: none given, so nothing is compared' } }
  if (issuer === undefined) {
    const claims = decodeUnverified(credential)
    if (!claims) throw new Error('The value of --credential is not a JWT.')
    const text = 'credential: its signature was not checked; give --issuer to check it'
    return { claims: claims as unknown as Claims, line: { ok: null, text } }
  }
  const result = await verifyCredential(credential, {
    issuer,
    // Only the signature matters here: the records decide about the rest.
    policy: { kinds: credentialKinds, minAssurance: 'low', minQuality: 0, status: 'skip', allowTest: true },
    ...(jwks === undefined ? {} : { jwks: readJson(jwks) as Options['jwks'] }),
  })
  if (!result.ok) throw new Error(`The credential was refused: ${result.reason}. ${result.message}`)
  return { claims: result.claims, line: { ok: true, text: `credential: signed by ${issuer}` } }
}

const scoreLines = (result: RecomputeResult): Line[] => {
  if (result.type === 'unknown') return [{ ok: false, text: `score: ${result.reason}` }]
  const { score, differences, assumed } = result
  const parts = Object.entries(score.components).map(([name, value]) => `${name} ${value ?? 'not measured'}`)
  return [
    { ok: null, text: `components: ${parts.join(', ')}` },
    { ok: null, text: `flags: ${score.flags.join(', ') || 'none'}` },
    ...(score.observations.length === 0
      ? []
      : [{ ok: null, text: `noticed, not counted: ${score.observations.join(', ')}` }]),
    {
      ok: null,
      text: `on the service's word: device ${assumed.device}, history ${assumed.history}, ${assumed.known.join(', ') || 'no flag'}`,
    },
    ...(differences ?? []).map((text) => ({ ok: false, text })),
    {
      ok: differences === null ? null : differences.length === 0,
      text: `quality: ${score.quality}${differences?.length === 0 ? ', the same as was signed' : ''}`,
    },
  ]
}

const run = async (
  file: string,
  options: RecomputeOptions,
): Promise<{ lines: Line[]; result: RecomputeResult | null }> => {
  const recording = readRecording(readJson(file))
  if (!recording) throw new Error(`${file} is not a response of GET /api/agents/sessions/{id}/chunks.`)
  const { claims, line } = await readClaims(options)
  if (claims && !claims.telemetry) throw new Error(`Credential ${claims.jti} names no recording.`)
  const telemetry = claims?.telemetry ?? recording.telemetry
  const checked = await checkChunks({
    ...recording,
    telemetry,
    ...(claims?.cnf === undefined ? {} : { jkt: claims.cnf.jkt }),
  })
  if (!checked.ok) {
    const text = `recording: chunk ${checked.seq}, ${checked.reason}. ${checked.message}`
    return { lines: [line, { ok: false, text }], result: null }
  }
  if (!checked.complete) {
    const text = `recording: ${checked.records.length} of ${telemetry.n} chunks; a score needs all of them`
    return { lines: [line, { ok: false, text }], result: null }
  }
  const text = `recording: ${telemetry.n} chunks, chain, signatures and root hold`
  const result = recompute(
    checked.records as readonly TelemetryRecord[],
    recording.opening.kind,
    claims,
    inputModel,
  )
  return { lines: [line, { ok: true, text }, ...scoreLines(result)], result }
}

/** `pohf recompute`. */
export const recomputeFile = async (file: string, options: RecomputeOptions): Promise<void> => {
  const work = () => run(file, options)
  const { lines, result } = await withProgress(`computing the score of ${file}`, work).catch(
    (error: unknown) => {
      if (error instanceof CommandError) throw error
      throw new UsageError(
        messageOf(error),
        'Give the whole answer of the service and the credential of that session.',
        error,
      )
    },
  )
  printAnswer(options, { ...result, checks: lines }, () => {
    for (const { ok, text } of lines) console.log(`${marks.get(ok) ?? ''} ${text}`)
  })
  if (lines.some(({ ok }) => ok === false)) process.exitCode = exitCodes.refused
}
