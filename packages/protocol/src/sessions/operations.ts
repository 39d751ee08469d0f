import { z } from 'zod'
import { operation } from '../platform/endpoint.ts'
import { assurances } from '../credentials/operations.ts'
import { components } from '../evidence/operations.ts'
import { instant, queryInteger, reference, text, unitInterval } from '../platform/fields.ts'
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
const probe = z.union([
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
const receipt = z.object({
  seq: z.int().min(0),
  /** The server's time in milliseconds since 1970. */
  at: z.int(),
  token: base64url(16),
  /** When the next chunk is due at the latest. */
  nextMs: z.int().min(100).max(10_000),
  /** Answered probes, and all probes. The page ends the session when they are equal. */
  progress: z.object({ done: z.int(), of: z.int() }),
  probe: probe.nullable(),
})
export type Receipt = z.infer<typeof receipt>
export type Probe = z.infer<typeof probe>

export const sessionKinds = ['view', 'work', 'task'] as const

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
    key: z.object({ kty: z.literal('EC'), crv: z.literal('P-256'), x: base64url(32), y: base64url(32) }),
  }),
  response: z.object({ sessionId: z.string(), nonce: base64url(32), receipt, expiresAt: instant() }),
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
export const finish = operation({
  summary: 'Submit the last chunk and end the session.',
  errors: ['not_found', 'session_expired', 'telemetry_refused'],
  cors: 'echo',
  limit: 'telemetry',
  bodyLimitBytes: 524_288,
  params: sessionParams,
  body: signedChunk,
  response: z.object({ sessionId: z.string(), status: z.string(), vt: z.string().optional() }),
})

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
