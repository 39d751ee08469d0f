import { createHash, generateKeyPairSync, sign } from 'node:crypto'
import type { sandboxProfiles } from '@pohf/protocol'
import { probeWindows } from '@pohf/protocol/probes'
import {
  actionBytes,
  firstLinkBytes,
  linkBytes,
  thumbprintText,
  type ProbeTruth,
  type TelemetryRecord,
} from '@pohf/protocol/telemetry'
import { deviceScores, historyScore, scoreSession, type FlagName, type SessionScore } from '@pohf/scorer'
import { inputModel } from '@pohf/scorer/input-model'

/**
 * The sandbox profiles. They all use a keyboard: a program that could simulate passing pointer motion would be the
 * bot that the scorer has to detect.
 */
export type Profile = (typeof sandboxProfiles)[number]

type Behaviour = {
  readonly trusted: 0 | 1
  readonly webdriver: boolean
  readonly visible: 0 | 1
  readonly answers: boolean
  /** Flags that the server would have found in its stored data. */
  readonly known: readonly FlagName[]
}
const attentive: Behaviour = { trusted: 1, webdriver: false, visible: 1, answers: true, known: [] }
const behaviours: Readonly<Record<Profile, Behaviour>> = {
  human: attentive,
  bot: { ...attentive, trusted: 0, webdriver: true },
  // The same bytes a second time, as the replay index would report them.
  replay: { ...attentive, known: ['replay_match'] },
  idle: { ...attentive, visible: 0, answers: false },
}

const chunkMs = 2_000
const chunkCount = 7
/** A probe in every second chunk, answered after this delay. */
const answerAfterMs = 1_400
const networkMs = 40
/** Arbitrary: no score depends on the date. */
const startedAt = Date.UTC(2026, 0, 1)
const site = 'simulated'
const sessionId = 'simulated'

const sha256 = (bytes: Uint8Array | string): Buffer => createHash('sha256').update(bytes).digest()
const tokenOf = (seq: number): string =>
  sha256(`pohf.simulated.receipt.${seq}`).subarray(0, 16).toString('base64url')
const probeOf = (seq: number): ProbeTruth | null =>
  seq % 2 === 0 ? { id: `probe-${seq}`, kind: 'choose', choice: seq % 3, ...probeWindows.choose } : null

/** The events of chunk `seq`, each with its milliseconds since the previous one. */
const eventsOf = (seq: number, { trusted, visible, answers }: Behaviour): unknown[] => {
  const opening =
    seq === 1
      ? [
          ['f', 5, visible, visible, visible * 100],
          ['x', 800],
        ]
      : []
  const probe = probeOf(seq)
  if (!probe || probe.kind !== 'choose') return opening
  const probeShown = ['o', 30, probe.id]
  if (!answers) return [...opening, probeShown]
  return [
    ...opening,
    probeShown,
    ['k', answerAfterMs - 300, 'd', 1, trusted],
    ['k', 85, 'u', 1, trusted],
    ['k', 130, 'd', 1, trusted],
    ['b', 85, probe.id, 'k', trusted, probe.choice],
    ['k', 10, 'u', 1, trusted],
  ]
}

const chunkOf = (seq: number, behaviour: Behaviour): string => {
  const environment = {
    webdriver: behaviour.webdriver,
    width: 1280,
    height: 720,
    touchPoints: 0,
    reducedMotion: false,
    coalesces: true,
  }
  return JSON.stringify({
    v: 1,
    seq,
    receipt: tokenOf(seq - 1),
    t0: (seq - 1) * chunkMs,
    t1: seq * chunkMs,
    ...(seq === 1 ? { env: environment } : {}),
    ev: eventsOf(seq, behaviour),
    ...(seq === chunkCount ? { last: { n: chunkCount, ms: chunkCount * chunkMs } } : {}),
  })
}

/**
 * A whole session of a profile: records as a page and a server make them, chained and signed with a throwaway key.
 */
export const simulateRecords = (profile: Profile) => {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const { x = '', y = '' } = publicKey.export({ format: 'jwk' })
  const nonce = sha256('pohf.simulated.nonce')
  const opening = { nonce: nonce.toString('base64url'), key: { kty: 'EC', crv: 'P-256', x, y }, sessionId }
  let link = sha256(
    firstLinkBytes({
      nonce,
      jkt: sha256(thumbprintText({ x, y })).toString('base64url'),
      sessionId,
      actionHash: sha256(actionBytes({ site, kind: 'view' })),
    }),
  )
  const records = Array.from({ length: chunkCount }, (_, index): TelemetryRecord => {
    const seq = index + 1
    const chunk = chunkOf(seq, behaviours[profile])
    link = sha256(linkBytes(link, seq, sha256(chunk)))
    const signature = sign('sha256', link, { key: privateKey, dsaEncoding: 'ieee-p1363' })
    return {
      v: 1,
      seq,
      chunk,
      signature: signature.toString('base64url'),
      receivedAt: startedAt + seq * chunkMs + networkMs,
      after: {
        at: startedAt + index * chunkMs + (index === 0 ? 0 : networkMs),
        token: tokenOf(index),
        probe: probeOf(seq),
      },
    }
  })
  return { opening, site, kind: 'view', records, link: link.toString('base64url') }
}

const scores = new Map<Profile, SessionScore>()

/** The score of a profile. Its records never change, so it is computed once. */
export const scoreProfile = (profile: Profile): SessionScore => {
  const known = scores.get(profile)
  if (known) return known
  const context = {
    kind: 'view',
    device: deviceScores.none,
    history: historyScore(0, 0),
    known: behaviours[profile].known,
    answerCorrect: null,
    calibration: null,
  } as const
  const score = scoreSession(simulateRecords(profile).records, context, inputModel)
  scores.set(profile, score)
  return score
}
