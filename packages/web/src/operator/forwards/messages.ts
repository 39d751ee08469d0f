import type { Forward } from '../wire.ts'

type Label = { readonly word: string; readonly tone: string }
export const statusLabels: Readonly<Record<Forward['status'], Label>> = {
  received: { word: 'received', tone: 'warn' },
  quoted: { word: 'quoted', tone: '' },
  countersigned: { word: 'countersigned', tone: 'ok' },
  invoiced: { word: 'invoiced', tone: 'ok' },
  closed: { word: 'closed', tone: '' },
}
export const assessmentLabels: Readonly<Record<Forward['capacity']['assessment'], Label>> = {
  within: { word: 'within', tone: 'ok' },
  stretch: { word: 'stretch', tone: 'warn' },
  beyond: { word: 'beyond', tone: 'stop' },
}

export const formatHours = (hours: number): string => hours.toLocaleString('en', { maximumFractionDigits: 2 })
export const formatUsd = (usd: number | null): string =>
  usd === null ? 'none' : `$${usd.toLocaleString('en', { minimumFractionDigits: 2 })}`

type Step = { readonly to: 'quoted' | 'countersigned' | 'invoiced' | 'closed'; readonly words: string }
/** What an operator can do next in each state; the first is the next step. */
export const nextSteps: Readonly<Record<Forward['status'], readonly Step[]>> = {
  received: [
    { to: 'quoted', words: 'Record the quote' },
    { to: 'closed', words: 'Close without a quote' },
  ],
  quoted: [
    { to: 'countersigned', words: 'Record the countersigned agreement' },
    { to: 'closed', words: 'Close without an agreement' },
  ],
  countersigned: [
    { to: 'invoiced', words: 'Record the invoice' },
    { to: 'closed', words: 'Close without an invoice' },
  ],
  invoiced: [{ to: 'closed', words: 'Close: paid and delivered' }],
  closed: [],
}
