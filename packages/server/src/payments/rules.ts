import type { Mode } from '@pohf/protocol'

export const checkoutHours = 24
/** The provider accepts no smaller payment in US dollars. */
export const cardUsdCentsMin = 50n

export type CheckoutState = 'created' | 'processing' | 'completed' | 'expired' | 'failed'

/** A checkout that a module opens. At most one is open for one reference. */
export type NewCheckout = {
  readonly agentId: string
  readonly mode: Mode
  readonly purpose: 'credits' | 'order'
  readonly reference: string
  readonly amountUsdCents: bigint
  readonly description: string
}

/** Cents as dollars, for people. */
export const formatUsd = (cents: bigint): string =>
  `${cents / 100n}.${String(cents % 100n).padStart(2, '0')} USD`

type CheckoutView = {
  readonly mode: Mode
  readonly state: CheckoutState
  readonly purpose: 'credits' | 'order'
  readonly isPastExpiry: boolean
  /** The provider has a page for it. */
  readonly payable: boolean
  /** The provider returned the person here as having paid. */
  readonly returned: boolean
  readonly amountUsdCents: bigint
  readonly reversedUsdCents: bigint
}
type CheckoutText = {
  readonly chip: 'ok' | 'test' | 'warn' | 'stop'
  readonly label: string
  /** The state in one sentence. */
  readonly title: string
  readonly text: string
  /** The next step of the page: a link to the provider, or reloading by itself. */
  readonly next?: 'pay' | 'wait'
}

const paidText = ({ purpose, amountUsdCents, reversedUsdCents }: CheckoutView): CheckoutText => {
  const credits = purpose === 'credits'
  if (reversedUsdCents === 0n)
    return {
      chip: 'ok',
      label: 'Paid',
      title: credits ? 'The credits are posted.' : 'The order is funded.',
      text: credits
        ? 'The payment has arrived. You can close this page.'
        : 'The payment has arrived and is held for the order. You can close this page.',
    }
  const whole = reversedUsdCents === amountUsdCents
  return {
    chip: 'warn',
    label: whole ? 'Taken back' : 'Partly taken back',
    title: whole ? 'The payment was taken back.' : 'A part of the payment was taken back.',
    text: `${whole ? 'All' : formatUsd(reversedUsdCents)} of it was refunded or is disputed.${
      credits ? ' The credits of that part are taken back too.' : ''
    }`,
  }
}

const testText = (state: CheckoutState): CheckoutText =>
  state === 'completed'
    ? {
        chip: 'test',
        label: 'Test',
        title: 'This is a test purchase.',
        text: 'What was bought has been posted already. No card is needed, and nothing was charged.',
      }
    : {
        chip: 'test',
        label: 'Test',
        title: 'This is a test checkout.',
        text: 'No card is needed and nothing is charged.',
      }

const openText = ({ payable, returned }: CheckoutView): CheckoutText => {
  if (!payable)
    return {
      chip: 'warn',
      label: 'Cannot be paid',
      title: 'This cannot be paid here.',
      text: 'No card provider is configured on this deployment, so this checkout cannot take a payment. Nothing was charged and nothing was posted.',
    }
  return returned
    ? {
        chip: 'warn',
        label: 'Waiting',
        title: 'We wait for the card provider.',
        text: 'It tells us in a moment whether the payment has arrived. This page then changes by itself.',
        next: 'wait',
      }
    : {
        chip: 'warn',
        label: 'Open',
        title: 'This is not paid yet.',
        text: 'Nothing was charged. The payment can be made as long as this checkout is open.',
        next: 'pay',
      }
}

/** The text on the page of a checkout. */
export const checkoutTextOf = (view: CheckoutView): CheckoutText => {
  const { mode, state, isPastExpiry, payable } = view
  if (state === 'failed')
    return {
      chip: 'stop',
      label: 'Failed',
      title: 'The payment failed.',
      text: 'Nothing was charged. Open a new checkout to try again.',
    }
  if (state === 'completed') return mode === 'test' ? testText(state) : paidText(view)
  if (state === 'processing')
    return {
      chip: 'warn',
      label: 'Under way',
      title: 'The bank is working on this payment.',
      text: 'That can take some days. Nothing is posted before the money has arrived.',
      next: 'wait',
    }
  // With a provider, only its event ends a checkout: a person may be paying at this moment.
  if (state === 'expired' || (isPastExpiry && !payable))
    return {
      chip: 'stop',
      label: 'Expired',
      title: 'This checkout is over.',
      text: 'It is too old or was replaced by a newer one. Nothing was charged.',
    }
  return mode === 'test' ? testText(state) : openText(view)
}
