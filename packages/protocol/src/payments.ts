import { z } from 'zod'
import { operation } from './endpoint.ts'

export const cardWebhook = operation({
  summary: 'Take a signed message of the card provider. Nobody else calls this.',
  textBody: true,
  errors: ['card_signature_invalid', 'not_found'],
  response: z.object({ received: z.literal(true) }),
})
