import type { Mode } from '@pohf/protocol'

export const checkoutHours = 24
/** The provider takes nothing below this in US dollars. */
export const cardUsdCentsMin = 50n

export type CheckoutState = 'created' | 'processing' | 'completed' | 'expired' | 'failed'

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

type Shown = {
  readonly mode: Mode
  readonly state: CheckoutState
  readonly purpose: 'credits' | 'order'
  readonly outlived: boolean
  /** The provider has a page for it. */
  readonly payable: boolean
  /** The provider sent the person back here and said that it is paid. */
  readonly returned: boolean
  readonly amountUsdCents: bigint
  readonly takenUsdCents: bigint
}
type Words = {
  readonly chip: 'ok' | 'test' | 'warn' | 'stop'
  readonly label: string
  readonly text: string
  /** What the page offers: to go on to the provider, or to look again by itself. */
  readonly next?: 'pay' | 'wait'
}

const paidWords = ({ purpose, amountUsdCents, takenUsdCents }: Shown): Words => {
  if (takenUsdCents === 0n)
    return {
      chip: 'ok',
      label: 'Paid',
      text:
        purpose === 'credits'
          ? 'This is paid and the credits are posted. You can close this page.'
          : 'This is paid and the money is held for the order. You can close this page.',
    }
  const whole = takenUsdCents === amountUsdCents
  return {
    chip: 'warn',
    label: whole ? 'Taken back' : 'Partly taken back',
    text: `This was paid, and ${whole ? 'all' : writeUsd(takenUsdCents)} of it was refunded or is disputed.${
      purpose === 'credits' ? ' The credits of that part are taken back.' : ''
    }`,
  }
}

const testWords = (state: CheckoutState): Words =>
  state === 'completed'
    ? {
        chip: 'test',
        label: 'Test purchase',
        text: 'This is a test purchase: what was bought has been posted already, no card is needed, and nothing was charged.',
      }
    : {
        chip: 'test',
        label: 'Test checkout',
        text: 'This is a test checkout. No card is needed and nothing is charged.',
      }

const openWords = ({ payable, returned }: Shown): Words => {
  if (!payable)
    return {
      chip: 'warn',
      label: 'Cannot be paid',
      text: 'No card provider is configured on this deployment, so this checkout cannot take a payment. Nothing was charged and nothing was posted.',
    }
  return returned
    ? {
        chip: 'warn',
        label: 'Waiting for the card provider',
        text: 'You have paid. The card provider tells us in a moment, and this page changes by itself.',
        next: 'wait',
      }
    : {
        chip: 'warn',
        label: 'Not paid yet',
        text: 'Nothing was charged. You can go on to the payment as long as this checkout is open.',
        next: 'pay',
      }
}

/** What the page of a checkout says. Every line is true whatever the reader hoped for. */
export const checkoutWords = (shown: Shown): Words => {
  const { mode, state, outlived, payable } = shown
  if (state === 'failed')
    return { chip: 'stop', label: 'Failed', text: 'This payment failed. Nothing was charged.' }
  if (state === 'completed') return mode === 'test' ? testWords(state) : paidWords(shown)
  if (state === 'processing')
    return {
      chip: 'warn',
      label: 'Under way',
      text: 'The bank is working on this payment. That can take some days. Nothing is posted before it has arrived.',
      next: 'wait',
    }
  // With a provider, only its word ends a checkout: somebody may be paying at this moment.
  if (state === 'expired' || (outlived && !payable))
    return {
      chip: 'stop',
      label: 'Expired',
      text: 'This checkout is too old or was replaced by a newer one. Nothing was charged.',
    }
  return mode === 'test' ? testWords(state) : openWords(shown)
}
