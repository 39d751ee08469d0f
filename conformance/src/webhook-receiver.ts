import { createHmac, timingSafeEqual } from 'node:crypto'
import { createServer } from 'node:http'
import { Failure, at } from './expect.ts'
import { pollUntil, oncePerRun, type RunContext } from './run-context.ts'

const bodyBytesMax = 65_536
const deliveriesMax = 200

export type Delivery = {
  readonly headers: Readonly<Record<string, string>>
  readonly raw: string
  readonly type: unknown
}

export type WebhookInbox = {
  readonly url: string
  readonly deliveries: readonly Delivery[]
  /** Waits for a delivery of this type, and fails without one. `nth` counts from 1. */
  readonly waitFor: (type: string, nth?: number) => Promise<Delivery>
}

type InboxState = { readonly deliveries: Delivery[]; readonly refusals: number }

const typeOf = (raw: string): unknown => {
  try {
    return at(JSON.parse(raw), 'type')
  } catch {
    return undefined
  }
}

/** A webhook receiver on this machine; it ends with the run. */
const startReceiver = oncePerRun(async (world) => {
  const slots = new Map<string, InboxState>()
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    let bytes = 0
    request.on('data', (chunk: Buffer) => {
      bytes += chunk.length
      if (bytes > bodyBytesMax) request.destroy()
      else chunks.push(chunk)
    })
    request.on('end', () => {
      const slot = slots.get(request.url ?? '')
      const raw = Buffer.concat(chunks).toString('utf8')
      const headers = Object.fromEntries(
        Object.entries(request.headers).map(([name, value]) => [name, String(value)]),
      )
      if (slot && slot.deliveries.length < deliveriesMax)
        slot.deliveries.push({ headers, raw, type: typeOf(raw) })
      const isRefused = slot !== undefined && slot.deliveries.length <= slot.refusals
      response.writeHead(isRefused ? 500 : 200).end()
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  world.closers.push(
    () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  )
  const address = server.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  return { port, slots }
})

/** A fresh address that takes deliveries; the first `refusals` of them are answered with 500. */
export const openWebhookInbox = async (world: RunContext, refusals = 0): Promise<WebhookInbox> => {
  const { port, slots } = await startReceiver(world)
  const path = `/inbox/${slots.size + 1}`
  const deliveries: Delivery[] = []
  slots.set(path, { deliveries, refusals })
  const ofType = (type: string) => deliveries.filter((delivery) => delivery.type === type)
  return {
    url: `http://127.0.0.1:${port}${path}`,
    deliveries,
    waitFor: async (type, nth = 1) => {
      const read = async () => ofType(type)[nth - 1]
      const found = await pollUntil(world, read, (delivery) => delivery !== undefined, 9_000)
      if (found) return found
      throw new Failure(
        `delivery ${nth} of ${type} within 9 s`,
        deliveries.map((delivery) => delivery.type),
      )
    },
  }
}

/** Standard Webhooks: HMAC-SHA256 over `id.timestamp.body` with the decoded secret, in base64 after `v1,`. */
export const isSignedWith = (signingSecret: string, delivery: Delivery, header: string): boolean => {
  const key = Buffer.from(signingSecret.replace(/^whsec_/, ''), 'base64')
  const signed = `${delivery.headers['webhook-id']}.${delivery.headers['webhook-timestamp']}.${delivery.raw}`
  const wanted = createHmac('sha256', key).update(signed).digest()
  return (delivery.headers[header] ?? '').split(' ').some((part) => {
    const given = Buffer.from(part.startsWith('v1,') ? part.slice(3) : '', 'base64')
    return given.length === wanted.length && timingSafeEqual(given, wanted)
  })
}
