import { generateKeyPairSync, sign, verify } from 'node:crypto'
import { credentialKinds, verifyCredential, type Options } from '../../packages/verify/src/index.ts'
import { programOf } from '../driver/program.ts'
import { tableOfRounds } from '../driver/report.ts'
import { inTurns, mediansOf, rounded, sum } from '../driver/rounds.ts'

const perRound = 1_000
const perBatch = 20
const warmUpRounds = 2
const issuer = 'https://proof.example'

const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url')

const makeCredentials = () => {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const kid = 'k'.repeat(43)
  const now = Math.floor(Date.now() / 1_000)
  const tokens = Array.from({ length: perRound }, (_, index) => {
    const claims = {
      iss: issuer,
      sub: `psu_${'a'.repeat(32)}`,
      jti: `crd_aa${String(index).padStart(24, '0')}`,
      iat: now,
      exp: now + 86_400,
      vct: `${issuer}/credentials/view/v1`,
      kind: 'view',
      agent: 'agt_aa0123456789abcdef',
      verified: true,
      event_at: now,
      assurance: 'low',
      quality: 0.7,
      components: { focus: 0.97, probe: 0.8, input: null, gaze: null, device: 0.3, history: 0.5 },
      flags: [],
      scoring: 'attention-1',
      evidence: [{ type: 'telemetry', alg: 'sha-256', hash: 'h'.repeat(43) }],
      telemetry: { alg: 'sha-256', link: 'l'.repeat(43), root: 'r'.repeat(43), n: 9 },
      view: { session: 'ses_aa0123456789abcdef' },
    }
    const input = `${encode({ alg: 'ES256', typ: 'JWT', kid })}.${encode(claims)}`
    const signature = sign('sha256', Buffer.from(input), { key: privateKey, dsaEncoding: 'ieee-p1363' })
    return { jwt: `${input}.${signature.toString('base64url')}`, input: Buffer.from(input), signature }
  })
  return {
    tokens,
    publicKey,
    jwks: {
      keys: [{ ...publicKey.export({ format: 'jwk' }), kty: 'EC', kid, alg: 'ES256', pohf_purpose: 'live' }],
    },
  }
}

/** CPU time of this process in microseconds: other work on the machine does not count. */
const cpuOf = async (work: () => Promise<void> | void): Promise<number> => {
  const before = process.cpuUsage()
  await work()
  const { user, system } = process.cpuUsage(before)
  return user + system
}

/** All checks of @pohf/verify with warm keys, against nothing but the signature of the same bytes. */
export const verifySdk = programOf({
  command: 'bench -- verify-sdk',
  title: 'Checks of @pohf/verify against bare crypto.verify',
  about: `CPU microseconds for each of ${perRound} credentials a round. Batches of ${perBatch} take turns, each side first half of the time: a slow moment of the machine hits both. The goal is a ratio of at most 1.3.`,
  options: { rounds: 9 },
  smoke: { rounds: 1 },
  minutes: ({ rounds }) => 5 + rounds,
  run: async ({ rounds }) => {
    const { tokens, publicKey, jwks } = makeCredentials()
    const options: Options = {
      issuer,
      jwks,
      policy: { kinds: credentialKinds, minAssurance: 'low', minQuality: 0.5, status: 'if-present' },
    }
    const bare = (batch: typeof tokens) => {
      for (const { input, signature } of batch)
        if (!verify('sha256', input, { key: publicKey, dsaEncoding: 'ieee-p1363' }, signature))
          throw new Error(
            `the signature of a valid credential does not verify: ${input.toString().slice(0, 80)}…`,
          )
    }
    const whole = async (batch: typeof tokens) => {
      for (const { jwt } of batch) {
        const result = await verifyCredential(jwt, options)
        if (!result.ok) throw new Error(`a valid credential was refused: ${result.reason}`)
      }
    }
    const runRound = async () => {
      const batches = Array.from({ length: perRound / perBatch }, (_, n) =>
        tokens.slice(n * perBatch, (n + 1) * perBatch),
      )
      const turns = await inTurns(batches.length, {
        whole: (n) => cpuOf(() => whole(batches[n] ?? [])),
        bare: (n) => cpuOf(() => bare(batches[n] ?? [])),
      })
      const used = (side: 'whole' | 'bare') => sum(turns.map((turn) => turn[side])) / perRound
      return {
        '@pohf/verify': rounded(used('whole')),
        'crypto.verify': rounded(used('bare')),
        ratio: rounded(used('whole') / used('bare'), 3),
      }
    }
    for (let round = 0; round < warmUpRounds; round++) await runRound()
    const found = await inTurns(rounds, { figures: runRound })
    const measured = found.map(({ figures }) => figures)
    const { ratio } = mediansOf(measured)
    return {
      figures: { ratio, rounds: measured.map((round) => round.ratio) },
      tables: [tableOfRounds(measured, { goals: { ratio: '<= 1.3' } })],
      holds: 'every credential was accepted',
    }
  },
})
