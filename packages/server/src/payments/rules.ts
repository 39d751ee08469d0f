import type { Mode } from '@pohf/protocol'

export const checkoutHours = 24

export type CheckoutState = 'created' | 'completed' | 'expired' | 'failed'

/** What a module wants paid. At most one is open for one reference. */
export type NewCheckout = {
  readonly agentId: string
  readonly mode: Mode
  readonly purpose: 'credits' | 'order'
  readonly reference: string
  readonly amountUsdCents: bigint
  readonly description: string
}

/** Cents as dollars, for people. */
export const writeUsd = (cents: bigint): string =>
  `${cents / 100n}.${String(cents % 100n).padStart(2, '0')} USD`

type Shown = { readonly mode: Mode; readonly state: CheckoutState; readonly outlived: boolean }
type Words = { readonly chip: 'test' | 'warn' | 'stop'; readonly label: string; readonly text: string }

/** What the page of a checkout says. Every line is true whatever the reader hoped for. */
export const checkoutWords = ({ mode, state, outlived }: Shown): Words => {
  if (state === 'completed')
    return {
      chip: 'test',
      label: 'Test purchase',
      text: 'This is a test purchase: what was bought has been posted already, no card is needed, and nothing was charged.',
    }
  if (state === 'failed')
    return { chip: 'stop', label: 'Failed', text: 'This payment failed. Nothing was charged.' }
  if (state === 'expired' || outlived)
    return {
      chip: 'stop',
      label: 'Expired',
      text: 'This checkout is too old or was replaced by a newer one. Nothing was charged.',
    }
  return mode === 'test'
    ? {
        chip: 'test',
        label: 'Test checkout',
        text: 'This is a test checkout. No card is needed and nothing is charged.',
      }
    : {
        chip: 'warn',
        label: 'Cannot be paid',
        text: 'No card provider is configured on this deployment, so this checkout cannot take a payment. Nothing was charged and nothing was posted.',
      }
}
