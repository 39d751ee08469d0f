// Checks the signature of every delivery in a file: HMAC-SHA256 over id.timestamp.body, keyed by the decoded secret.
import { createHmac, timingSafeEqual } from 'node:crypto'
import { readFileSync } from 'node:fs'

const [file, secret] = process.argv.slice(2)
const key = Buffer.from(secret.replace('whsec_', ''), 'base64')
const deliveries = readFileSync(file, 'utf8')
  .trim()
  .split('\n')
  .map((line) => JSON.parse(line))
for (const { headers, body } of deliveries) {
  const signed = `${headers['webhook-id']}.${headers['webhook-timestamp']}.${body}`
  const expected = Buffer.from(`v1,${createHmac('sha256', key).update(signed).digest('base64')}`)
  const given = Buffer.from(headers['x-service-signature'])
  if (given.length !== expected.length || !timingSafeEqual(given, expected))
    throw new Error('a signature does not fit')
  console.log(JSON.parse(body).type, 'signature fits')
}
if (!deliveries.some(({ body }) => JSON.parse(body).type === 'personhood.wallet_bound'))
  throw new Error('the event did not arrive')
