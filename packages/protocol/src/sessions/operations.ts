import { z } from 'zod'
import { operation } from '../platform/endpoint.ts'
import { assurances } from '../credentials/operations.ts'
import { components } from '../evidence/operations.ts'
import { instant, queryInstant, queryInteger, reference, text, unitInterval } from '../platform/fields.ts'
import { nextPage, pageQuery } from '../platform/lists.ts'
import { verdictReasons } from './reasons.ts'
import { telemetryLimits } from './telemetry.ts'

const base64url = (bytes: number) =>
  z
    .string()
    .regex(
      new RegExp(`^[A-Za-z0-9_-]{${Math.ceil((bytes * 4) / 3)}}$`),
      `must be base64url of ${bytes} bytes`,
    )
const sessionParams = z.object({ sessionId: reference(128) })

/** A probe is an image, or, where the alternative was requested, a list of words. The right answer stays here. */
export const probe = z.union([
  z.object({
    id: z.string(),
    kind: z.literal('point'),
    /** A PNG as a data URL. */
    image: z.string().max(65_536),
    width: z.int(),
    height: z.int(),
    windowMs: z.int(),
  }),
  z.object({
    id: z.string(),
    kind: z.literal('choose'),
    say: z.string().max(64),
    choices: z.array(z.string().max(64)).min(2).max(10),
    windowMs: z.int(),
  }),
])
export const receipt = z.object({
  seq: z.int().min(0),
  /** The server's time in milliseconds since 1970. */
  at: z.int(),
  token: base64url(16),
  /** When the next chunk is due at the latest. */
  nextMs: z.int().min(100).max(10_000),
  /** Settled probes, all probes as far as it is known, and the hits. The page may end the session when `done` equals `of`. */
  progress: z.object({ done: z.int(), of: z.int(), hits: z.int() }),
  probe: probe.nullable(),
})
export type Receipt = z.infer<typeof receipt>
export type Probe = z.infer<typeof probe>

const publicKey = z.object({
  kty: z.literal('EC'),
  crv: z.literal('P-256'),
  x: base64url(32),
  y: base64url(32),
})

export const sessionKinds = ['view', 'work', 'task', 'approval'] as const

export const create = operation({
  summary: 'Open a session in a page.',
  errors: ['not_found', 'forbidden'],
  cors: 'echo',
  limit: 'sessions',
  body: z.object({
    site: z.string().max(64),
    kind: z.enum(sessionKinds).optional(),
    workflowId: reference(128).optional(),
    challenge: text(128).optional(),
    language: text(35).optional().meta({
      description: 'Language of the word questions: en or de. Any other value gives English.',
    }),
    words: z.boolean().optional().meta({
      description: 'Begin with word questions. The page also records that the person asked for them.',
    }),
    key: publicKey,
    browser: z
      .object({ key: publicKey, proof: base64url(64) })
      .optional()
      .meta({
        description:
          'A key that this browser keeps for the site, and its signature over site and session key: docs/reference/telemetry.md.',
      }),
  }),
  response: z.object({
    sessionId: z.string(),
    nonce: base64url(32),
    receipt,
    expiresAt: instant(),
    /** The browser got a credential on an earlier day on this site: one right answer suffices. */
    returning: z.boolean(),
  }),
})

const signedChunk = z.object({
  chunk: text(telemetryLimits.chunkBytes),
  signature: base64url(64),
})
export const telemetry = operation({
  summary: 'Submit the next chunk of a session.',
  errors: ['not_found', 'session_expired', 'telemetry_refused'],
  cors: 'echo',
  limit: 'telemetry',
  bodyLimitBytes: 524_288,
  params: sessionParams,
  body: signedChunk,
  response: z.object({ received: z.int(), receipt }),
})

/** What a person is told at the end of a check. */
const verdicts = ['passed', 'retry', 'step_up', 'failed', 'pending'] as const
const sessionVerdict = z.object({
  verdict: z.enum(verdicts),
  reasons: z.array(z.enum(verdictReasons)).max(verdictReasons.length),
  stepUp: z
    .array(z.object({ kind: z.string(), url: z.string() }))
    .max(4)
    .optional()
    .meta({ description: 'For step_up: where the person shows a stronger proof.' }),
  retryAfter: z
    .int()
    .optional()
    .meta({ description: 'Seconds until the same call may pass, where waiting helps.' }),
  validUntil: instant()
    .optional()
    .meta({ description: 'For passed: until then, the credential is not refused for a budget.' }),
})
export type SessionVerdict = z.infer<typeof sessionVerdict>

export const finish = operation({
  summary: 'Submit the last chunk, end the session and read the verdict.',
  errors: ['not_found', 'session_expired', 'telemetry_refused'],
  cors: 'echo',
  limit: 'telemetry',
  bodyLimitBytes: 524_288,
  params: sessionParams,
  body: signedChunk,
  response: sessionVerdict.extend({
    sessionId: z.string(),
    status: z.string(),
    vt: z.string().optional(),
  }),
})

const probeCount = z.object({ asked: z.int(), hit: z.int() })
const telemetryCommitment = z.object({ alg: z.string(), link: z.string(), root: z.string(), n: z.int() })
export const read = operation({
  summary: 'Read one of your sessions.',
  errors: ['not_found'],
  params: sessionParams,
  response: z.object({
    sessionId: z.string(),
    kind: z.string(),
    status: z.string(),
    simulated: z.boolean(),
    startedAt: instant(),
    endedAt: instant().nullable(),
    workflowId: z.string().nullable(),
    challenge: z.string().nullable(),
    quality: unitInterval().nullable(),
    verified: z.boolean().nullable(),
    assurance: z.enum(assurances).nullable(),
    scoring: z.string().nullable(),
    components: components.nullable(),
    flags: z.array(z.string()).max(32),
    reasons: z.array(z.string()).max(32),
    telemetry: telemetryCommitment.nullable(),
    evidence: z.array(z.object({ type: z.string(), alg: z.string(), hash: z.string() })).max(16),
    /** The scorer's counts; null where nothing was recorded. */
    counted: z
      .object({
        chunks: z.int(),
        durationMs: z.int(),
        visibleMs: z.int(),
        probes: z.int(),
        hits: z.int(),
        /** The same for each kind of probe; missing where an older version scored the session. */
        pictures: probeCount.optional(),
        words: probeCount.optional(),
        /** Whether this browser had passed on an earlier day on this site, so that one probe sufficed. */
        returning: z.boolean().optional(),
        motionSeconds: z.number(),
        strokes: z.int(),
        /** How likely a person moved the mouse, by the motion model; null where there was too little motion. */
        p: unitInterval().nullable(),
        keys: z.int(),
        presses: z.int(),
        lost: z.int(),
        /** Observations that do not change the score. */
        observations: z.array(z.string()).max(32),
      })
      .nullable(),
    credentialId: z.string().nullable(),
  }),
})
/** The kinds of sessions that pages record, and those of presence evidence. */
const listedKinds = [...sessionKinds, 'presence'] as const
export const sessionStatuses = ['open', 'closed', 'scored', 'sealed', 'expired'] as const
const sessionRecord = read.response
  .pick({
    sessionId: true,
    simulated: true,
    startedAt: true,
    endedAt: true,
    workflowId: true,
    quality: true,
    verified: true,
    assurance: true,
    flags: true,
    reasons: true,
    credentialId: true,
  })
  .extend({
    kind: z.enum(listedKinds),
    status: z.enum(sessionStatuses),
    durationMs: z.int().min(0).nullable().meta({ description: 'Null while the session is open.' }),
    hostname: z
      .string()
      .nullable()
      .meta({ description: 'The host of the page that opened the session; null where no page did.' }),
  })
/** A session as its agent's list shows it. */
export type SessionRecord = z.output<typeof sessionRecord>

export const list = operation({
  summary: 'List your sessions, newest first.',
  query: z.object({
    kind: z.enum(listedKinds).optional(),
    status: z.enum(sessionStatuses).optional(),
    verified: z.enum(['true', 'false']).optional().meta({
      description: 'true: scored as human; false: refused. Sessions without a score are in neither.',
    }),
    since: queryInstant().optional(),
    until: queryInstant().optional(),
    ...pageQuery,
  }),
  response: z.object({ sessions: z.array(sessionRecord).max(100), ...nextPage }),
})
/** The recorded chunks, for the agent and for the recorded person. */
export const recordedChunks = {
  params: sessionParams,
  query: z.object({ from: queryInteger(1, 2_000).optional(), limit: queryInteger(1, 100).optional() }),
  response: z.object({
    sessionId: z.string(),
    telemetry: telemetryCommitment,
    opening: z.object({
      nonce: base64url(32),
      key: z.object({ kty: z.literal('EC'), crv: z.literal('P-256'), x: z.string(), y: z.string() }),
      site: z.string(),
      kind: z.string(),
      workflowId: z.string().nullable(),
      challenge: z.string().nullable(),
    }),
    /** AES-256-GCM under this chunk's own key with a zero IV, tag at the end; empty once the raw data is deleted. */
    chunks: z
      .array(
        z.object({
          seq: z.int(),
          ciphertext: z.string(),
          key: z.string(),
          proof: z.array(z.string()).max(16),
        }),
      )
      .max(100),
    nextFrom: z.int().nullable(),
  }),
}
export const chunks = operation({
  summary: 'Read the recorded chunks of a session, each with its proof against the committed root.',
  errors: ['not_found'],
  ...recordedChunks,
})
