import { createHmac } from 'node:crypto'
import { makeIssuer, origin } from '../../packages/verify/test/issuer.ts'
import type { Fixture } from './consumer/program.ts'

/** A credential with its keys and a signed delivery, made now. */
export const makeConsumerInput = (): Fixture => {
  const issuer = makeIssuer()
  const key = Buffer.alloc(32, 7)
  const body = '{"id":"evt_1","type":"credential.issued","data":{}}'
  const timestamp = String(Math.floor(Date.now() / 1_000))
  const signature = createHmac('sha256', key).update(`evt_1.${timestamp}.${body}`).digest('base64')
  return {
    issuer: origin,
    jwt: issuer.mint('work'),
    jwks: issuer.jwks as Fixture['jwks'],
    webhook: {
      secret: `whsec_${key.toString('base64')}`,
      headers: {
        'webhook-id': 'evt_1',
        'webhook-timestamp': timestamp,
        'webhook-signature': `v1,${signature}`,
      },
      body,
    },
  }
}
