import { timingSafeEqual } from 'node:crypto'
import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import type { Ctx } from '../ops/context.ts'
import { hmacOf, type Secrets } from '../ops/secrets.ts'
import { readClientAddress } from './client-address.ts'
import { Refusal } from './errors.ts'
import { headerOf } from './http-headers.ts'

// `pohf doctor` asks through the public address how its own request arrived. The answer names proxies inside the network of
// the operator, so only a holder of the master key gets it.

export const arrivalPath = '/arrivalz'
const proofHeader = 'pohf-doctor'
const proofCharsMax = 200
/** The clock of the machine of the doctor may be wrong by this much. */
const proofMsMax = 5 * 60_000

export const arrivalReport = z.object({
  /** The other end of the connection: the last proxy, or the client itself. */
  peer: z.string(),
  /** X-Forwarded-For as it arrived. */
  forwardedFor: z.string().nullable(),
  /** The address that every limit counts; `unknown` where it could not be read. */
  address: z.string(),
})
type ArrivalReport = z.output<typeof arrivalReport>

const tagOf = (key: Buffer, time: string): Buffer => hmacOf(key).update(time).digest()

/** The header by which the doctor shows that it has the master key: the time, and its HMAC. */
export const arrivalProof = (secrets: Secrets, now: Date): Record<string, string> => {
  const time = now.toISOString()
  return { [proofHeader]: `${time} ${tagOf(secrets.accepted('doctor')[0], time).toString('base64url')}` }
}

const holdsMasterKey = (
  { secrets, clock }: Pick<Ctx, 'secrets' | 'clock'>,
  proof: string | undefined,
): boolean => {
  if (proof === undefined || proof.length > proofCharsMax) return false
  const [time = '', tagText = ''] = proof.split(' ')
  const tag = Buffer.from(tagText, 'base64url')
  const isOurs = secrets.accepted('doctor').some((key) => {
    const expected = tagOf(key, time)
    return tag.length === expected.length && timingSafeEqual(tag, expected)
  })
  return isOurs && Math.abs(clock.now().getTime() - Date.parse(time)) <= proofMsMax
}

/** Mounts what `pohf doctor` reads. To everybody else it is a page that does not exist. */
export const mountArrival = (app: FastifyInstance, ctx: Pick<Ctx, 'secrets' | 'clock'>): void => {
  app.get(arrivalPath, async (request, reply) => {
    if (!holdsMasterKey(ctx, headerOf(request, proofHeader))) throw new Refusal('not_found')
    const report: ArrivalReport = {
      // In the form of `address`: a socket for both families writes IPv4 in another.
      peer: readClientAddress(request.ip).text,
      forwardedFor: headerOf(request, 'x-forwarded-for') ?? null,
      address: request.client.text,
    }
    return reply.send(report)
  })
}
