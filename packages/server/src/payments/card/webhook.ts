import type { Ctx } from '../../platform/ops/context.ts'
import { Refusal } from '../../platform/http/errors.ts'
import { applyCardEvent, type Settlers } from './apply.ts'
import type { CardProvider } from './provider.ts'

/** Takes a message of the provider: nothing is read before its signature fits. */
export const cardWebhook = async (
  ctx: Ctx,
  parts: { readonly provider: CardProvider | undefined; readonly settlers: Settlers },
  signed: { readonly text: unknown; readonly signature: string | undefined },
) => {
  if (!parts.provider)
    throw new Refusal('not_found', { message: 'No card provider is configured on this deployment.' })
  const message =
    typeof signed.text === 'string'
      ? parts.provider.readSignedEvent(signed.text, signed.signature)
      : undefined
  if (!message) throw new Refusal('card_signature_invalid')
  // Another kind of message, or other money of the same account: heard, and of no concern.
  if (message !== 'not ours') await applyCardEvent(ctx, parts.settlers, message)
  return { received: true as const }
}
