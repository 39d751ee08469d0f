// Any runtime with the Fetch API: node, Deno, Bun, workers.
import { verifyWebhook } from '@pohf/verify'

export const receive = async (request: Request, secret: string): Promise<Response> => {
  // The raw text, before any JSON parser: a parsed body no longer has the bytes that were signed.
  const body = await request.text()
  const result = await verifyWebhook({ secret, headers: request.headers, body })
  if (!result.ok) return new Response(`${result.reason}: ${result.message}`, { status: 400 })
  // Store result.id: a delivery may arrive twice.
  return new Response('thank you')
}

const headers = { 'webhook-id': 'msg_1', 'webhook-timestamp': '1800000000', 'webhook-signature': 'v1,AAAA' }
const forged = new Request('https://example.com', { method: 'POST', body: '{}', headers })
const answer = await receive(forged, `whsec_${btoa('an example secret, not a real one')}`)
console.log(answer.status, await answer.text())
