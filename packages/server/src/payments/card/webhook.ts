import type { Ctx } from '../../platform/ops/context.ts'
import { Refusal } from '../../platform/http/errors.ts'
import { applyCardEvent, type Settlers } from './apply.ts'
import type { CardProvider } from './provider.ts'

/** Receives an event of the provider. Its body is read only after its signature is verified. */
export const cardWebhook = async (
  ctx: Ctx,
  parts: { readonly provider: CardProvider | undefined; readonly settlers: Settlers },
  signed: { readonly text: unknown; readonly signature: string | undefined },
) => {
  if (!parts.provider)
    throw new Refusal('not_found', { message: 'No card provider is configured on this deployment.' })
  const event =
    typeof signed.text === 'string'
      ? await parts.provider.readSignedEvent(signed.text, signed.signature)
      : undefined
  if (!event) throw new Refusal('card_signature_invalid')
  // Another type, or another payment of the same account: acknowledged and ignored.
  if (event !== 'not ours') await applyCardEvent(ctx, parts.settlers, event)
  return { received: true as const }
}
