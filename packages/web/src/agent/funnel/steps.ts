import type { Funnel } from '../wire.ts'

type Step = Funnel['steps'][number]

type FunnelStep = {
  readonly name: string
  readonly count: number
  /** Share of the verified views. */
  readonly rate: number
  /** How many of the step before are not in this one, and what that means. */
  readonly lost: { readonly count: number; readonly share: number; readonly text: string } | undefined
}

const texts: Readonly<Record<Step['step'], readonly [name: string, lost: string]>> = {
  views: ['Verified views', ''],
  landed: ['Landed', 'reached no page that reports visits'],
  engaged: ['Engaged', 'left within 10 seconds and touched nothing'],
  converted: ['Converted', 'did not convert'],
}

/** The steps of the funnel. A conversion needs no beacon before it, so a step can be larger than the one before. */
export const stepsOf = ({ steps }: Pick<Funnel, 'steps'>): readonly FunnelStep[] =>
  steps.map(({ step, views: count, rate }, index) => {
    const [name, text] = texts[step]
    const before = steps[index - 1]?.views ?? 0
    const lost =
      before > count ? { count: before - count, share: (before - count) / before, text } : undefined
    return { name, count, rate, lost }
  })

/** A sum in its currency; XXX is the code for none. */
export const formatValue = (code: string, value: number): string => {
  if (code === 'XXX') return `${value.toLocaleString('en', { maximumFractionDigits: 2 })} (no currency)`
  try {
    return new Intl.NumberFormat('en', { style: 'currency', currency: code, currencyDisplay: 'code' }).format(
      value,
    )
  } catch {
    return `${code} ${value.toLocaleString('en')}`
  }
}

const valuesMax = 3
const listFormat = new Intl.ListFormat('en-GB')
/** Sums in several currencies; the table has those that are not named. */
export const valuesText = (values: readonly (readonly [code: string, value: number])[]): string => {
  const rest = values.length - valuesMax
  return listFormat.format([
    ...values.slice(0, valuesMax).map(([code, value]) => formatValue(code, value)),
    ...(rest > 0 ? [`sums in ${rest} other ${rest === 1 ? 'currency' : 'currencies'}`] : []),
  ])
}
