import type { Assurance, Mode } from '@pohf/protocol'
import type { SessionReason } from '@pohf/protocol/reasons'
import type { Components } from '@pohf/scorer'
import type { EvidenceItem, SessionCounts, TelemetrySeal } from '../platform/db/columns.ts'
import { readSignedToken, signToken, type SigningCtx } from '../platform/ops/tokens.ts'

export type SessionKind = 'view' | 'work' | 'task' | 'presence' | 'approval'
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
  readonly reasons: readonly SessionReason[]
  readonly telemetry?: Telemetry | undefined
  /** Of the recording that it rests on. */
  readonly counted?: EvidenceCounts | undefined
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
  /** The host of the page that opened it; null where no page did. */
  readonly hostname: string | null
  /** When siteverify first answered success for it, and the idempotency_key of that call. */
  readonly redeemedAt: Date | null
  readonly redeemedKey: string | null
}

/** The host of an Origin header; null for `null` and anything that is no origin. */
export const hostnameOf = (origin: string | undefined): string | null =>
  (origin !== undefined && URL.parse(origin)?.hostname.slice(0, 255)) || null

/** The contents of a view token. */
export type View = {
  readonly agentId: string
  readonly mode: Mode
  readonly sessionId: string
  readonly viewedAt: Date
}

const signerOf = ({ secrets, ids }: SigningCtx) => ({ keys: secrets.accepted('vt'), cell: ids.cell })

/** An unforgeable token for a view. */
export const makeViewToken = (ctx: SigningCtx, view: View): string => {
  const seconds = Math.floor(view.viewedAt.getTime() / 1_000)
  return signToken(signerOf(ctx), 'vt_', [view.agentId, view.mode, view.sessionId, seconds])
}

/** The view of a valid token; undefined for anything else. */
export const readViewToken = (ctx: SigningCtx, token: string): View | undefined => {
  const fields = readSignedToken(signerOf(ctx), 'vt_', token)
  if (!fields) return undefined
  const [agentId, mode, sessionId, viewedAt] = fields as [string, Mode, string, number]
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
export const sessionMinutesOf: Readonly<Record<RecordedKind, number>> = {
  view: 15,
  task: 15,
  work: 60,
  approval: 60,
}
export type RecordedKind = Exclude<SessionKind, 'presence'>

/** The flags for rules that the key holder broke in signed chunks. */
export const faultFlags = (faults: readonly string[]): ('chain_broken' | 'clock_skew')[] => [
  ...(faults.some((fault) => fault !== 'clock') ? (['chain_broken'] as const) : []),
  ...(faults.includes('clock') ? (['clock_skew'] as const) : []),
]
