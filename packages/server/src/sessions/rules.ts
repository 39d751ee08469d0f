import { createHmac, timingSafeEqual } from 'node:crypto'
import type { Assurance, Mode } from '@pohf/protocol'
import type { Components } from '@pohf/scorer'
import type { EvidenceItem, SessionCounts, TelemetrySeal } from '../platform/db/columns.ts'

export type SessionKind = 'view' | 'work' | 'task' | 'presence'
export type SessionStatus = 'open' | 'closed' | 'scored' | 'sealed' | 'expired'

export type Telemetry = TelemetrySeal
export type { EvidenceItem }

/** The counts behind a score (seconds, probes, hits) and observations without effect on it. */
export type EvidenceCounts = SessionCounts

/** The result of scoring, ready to be stored. */
export type SessionMeasurement = {
  readonly kind: SessionKind
  readonly simulated: boolean
  readonly memberRef?: string | undefined
  readonly workflowId?: string | undefined
  readonly challenge?: string | undefined
  readonly source?: string | undefined
  readonly quality: number
  readonly verified: boolean
  readonly assurance: Assurance
  readonly scoring: string
  readonly components: Components
  readonly flags: readonly string[]
  readonly reasons: readonly string[]
  readonly telemetry?: Telemetry | undefined
  readonly evidence: readonly EvidenceItem[]
  readonly salt: Buffer
}

export type Session = {
  readonly sessionId: string
  readonly at: Date
  readonly kind: SessionKind
  readonly status: SessionStatus
  readonly simulated: boolean
  readonly memberRef: string | null
  readonly workflowId: string | null
  readonly challenge: string | null
  readonly source: string | null
  readonly endedAt: Date | null
  readonly quality: number | null
  readonly verified: boolean | null
  readonly assurance: Assurance | null
  readonly scoring: string | null
  readonly components: Components | null
  readonly flags: readonly string[]
  readonly reasons: readonly string[]
  readonly telemetry: Telemetry | null
  readonly evidence: readonly EvidenceItem[]
  readonly credentialId: string | null
  /** What the scorer counted; null where nothing was recorded. */
  readonly counted: EvidenceCounts | null
  /** Thumbprint of the page's key; null where no page recorded it. */
  readonly jkt: string | null
}

/** The contents of a view token. */
export type View = {
  readonly agentId: string
  readonly mode: Mode
  readonly sessionId: string
  readonly viewedAt: Date
}

const macOf = (key: Buffer, payload: string): Buffer =>
  createHmac('sha256', key).update(payload).digest().subarray(0, 16)

/** An unforgeable token for a view: payload and 128 bits of HMAC. Checking it needs no read. */
export const makeViewToken = (key: Buffer, view: View): string => {
  const fields = [view.agentId, view.mode, view.sessionId, Math.floor(view.viewedAt.getTime() / 1_000)]
  const payload = Buffer.from(JSON.stringify(fields)).toString('base64url')
  return `vt_${payload}.${macOf(key, payload).toString('base64url')}`
}

/** The view of a valid token; undefined for anything else. */
export const readViewToken = (key: Buffer, token: string): View | undefined => {
  const [, payload, mac] = /^vt_([A-Za-z0-9_-]{1,600})\.([A-Za-z0-9_-]{22})$/.exec(token) ?? []
  if (payload === undefined || mac === undefined) return undefined
  const receivedMac = Buffer.from(mac, 'base64url')
  if (receivedMac.length !== 16 || !timingSafeEqual(receivedMac, macOf(key, payload))) return undefined
  const [agentId, mode, sessionId, viewedAt] = JSON.parse(
    Buffer.from(payload, 'base64url').toString('utf8'),
  ) as [string, Mode, string, number]
  return { agentId, mode, sessionId, viewedAt: new Date(viewedAt * 1_000) }
}

/** What the User-Agent header claims about the browser; nothing that distinguishes people. */
export type Client = { readonly platform: Platform; readonly automated: boolean }
type Platform = (typeof platforms)[number][0] | 'other'

/** The first match wins: Android also says Linux, and an iPhone says Mac OS. */
const platforms = [
  ['windows', /Windows/],
  ['android', /Android/],
  ['ios', /iPhone|iPad/],
  ['mac', /Macintosh|Mac OS X/],
  ['chromeos', /CrOS/],
  ['linux', /Linux|X11/],
] as const
const automation = /HeadlessChrome|PhantomJS|SlimerJS|Playwright|Puppeteer|Selenium|Cypress/i
export const parseUserAgent = (userAgent: string | undefined): Client => ({
  platform: platforms.find(([, pattern]) => pattern.test(userAgent ?? ''))?.[0] ?? 'other',
  automated: automation.test(userAgent ?? ''),
})

/** How long a session may run before it must be finished. */
export const sessionMinutesOf: Readonly<Record<RecordedKind, number>> = { view: 15, task: 15, work: 60 }
export type RecordedKind = Exclude<SessionKind, 'presence'>

/** The flags for rules that the key holder broke in signed chunks. */
export const faultFlags = (faults: readonly string[]): ('chain_broken' | 'clock_skew')[] => [
  ...(faults.some((fault) => fault !== 'clock') ? (['chain_broken'] as const) : []),
  ...(faults.includes('clock') ? (['clock_skew'] as const) : []),
]
