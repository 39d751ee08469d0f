import { mandateFault, type UseLimit } from '../rules.ts'
import type { Family, OpenMandate } from './chain.ts'
import { isObject, type Json } from './sd-jwt.ts'

/** What is bought, from whom and for how much. */
export type Purchase = {
  readonly taskType: string
  readonly quantity: number
  readonly totalUsdCents: number
  readonly merchant: { readonly id: string; readonly website: string }
  /** In seconds. */
  readonly now: number
}

const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])

/** By id; by website where there is no id. What is not disclosed does not count. */
export const isMerchant = ({ merchant }: Purchase, value: unknown): boolean => {
  if (!isObject(value)) return false
  return value['id'] === undefined ? value['website'] === merchant.website : value['id'] === merchant.id
}

/** An amount in whole cents. A mandate in fractions or another currency is refused, never converted. */
const centsOf = (value: unknown): number | undefined =>
  typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : undefined

type Check = (constraint: Json, purchase: Purchase) => boolean
const isAllowed: Check = ({ allowed }, purchase) => listOf(allowed).some((each) => isMerchant(purchase, each))

const isWithinAmount: Check = ({ currency, min, max }, { totalUsdCents }) => {
  const [least, most] = [min === undefined ? 0 : centsOf(min), centsOf(max)]
  if (currency !== 'USD' || least === undefined || most === undefined) return false
  return totalUsdCents >= least && totalUsdCents <= most
}

const areLineItemsAllowed: Check = ({ items }, { taskType, quantity }) =>
  listOf(items).some((requirement) => {
    if (!isObject(requirement)) return false
    const most = centsOf(requirement['quantity'])
    const isListed = listOf(requirement['acceptable_items']).some(
      (item) => isObject(item) && item['id'] === taskType,
    )
    return isListed && most !== undefined && quantity <= most
  })

/** In cents, as every amount of a mandate: where a draft meant dollars, the smaller limit holds. */
const isBudget: Check = ({ currency, max }, { totalUsdCents }) =>
  currency === 'USD' && totalUsdCents <= (centsOf(max) ?? -1)

const periods: Readonly<Record<string, Pick<UseLimit, 'period' | 'gapDays'>>> = {
  ON_DEMAND: { period: undefined, gapDays: undefined },
  DAILY: { period: 'day', gapDays: undefined },
  WEEKLY: { period: 'week', gapDays: undefined },
  BIWEEKLY: { period: undefined, gapDays: 14 },
  MONTHLY: { period: 'month', gapDays: undefined },
  QUARTERLY: { period: 'quarter', gapDays: undefined },
  ANNUALLY: { period: 'year', gapDays: undefined },
}

const secondsOf = (value: unknown): number =>
  typeof value === 'string' ? Date.parse(value) / 1_000 : Number.NaN
const isRecurrence: Check = (
  { frequency, max_occurrences: times, start_date: from, end_date: until },
  { now },
) =>
  Object.hasOwn(periods, String(frequency)) &&
  (times === undefined || (centsOf(times) ?? 0) > 0) &&
  (from === undefined || secondsOf(from) <= now) &&
  // A day includes its last second.
  (until === undefined || now < secondsOf(until) + 86_400)

/** Every constraint that is understood. Any other refuses the order: a limit that nobody checks is no limit. */
const checks: Readonly<Record<Family, Readonly<Record<string, Check>>>> = {
  checkout: {
    'checkout.allowed_merchants': isAllowed,
    'checkout.line_items': areLineItemsAllowed,
  },
  payment: {
    // The names of Verifiable Intent 0.1 and AP2 0.2.
    'payment.amount': isWithinAmount,
    'payment.amount_range': isWithinAmount,
    'payment.allowed_payees': isAllowed,
    'payment.budget': isBudget,
    'payment.agent_recurrence': isRecurrence,
    // Compared in `checkReference`, which knows the other chain.
    'payment.reference': () => true,
  },
}
const required: Readonly<Record<Family, readonly (readonly string[])[]>> = {
  checkout: [['checkout.line_items']],
  payment: [['payment.amount', 'payment.amount_range'], ['payment.reference']],
}

type Constraint = { readonly type: string; readonly value: Json }
const constraintsOf = ({ value }: OpenMandate, path: string): readonly Constraint[] =>
  listOf(value['constraints']).map((each) => {
    if (!isObject(each) || typeof each['type'] !== 'string')
      throw mandateFault(path, 'constraint_unknown', 'a constraint has no type')
    return { type: each['type'].replace(/^mandate\./, ''), value: each }
  })

/** Refuses where a limit of an open mandate does not allow the purchase, or is not understood. */
export const checkConstraints = (family: Family, open: readonly OpenMandate[], purchase: Purchase): void => {
  const path = `${family}_mandate`
  for (const mandate of open) {
    const constraints = constraintsOf(mandate, path)
    for (const { type, value } of constraints) {
      const check = Object.hasOwn(checks[family], type) ? checks[family][type] : undefined
      if (!check)
        throw mandateFault(
          path,
          'constraint_unknown',
          `the constraint ${type.slice(0, 100)} is not understood`,
        )
      if (!check(value, purchase))
        throw mandateFault(path, type, `the limit ${type} does not allow this order`)
    }
    for (const names of required[family])
      if (!constraints.some(({ type }) => names.includes(type)))
        throw mandateFault(
          path,
          'constraint_missing',
          `the open mandate has no constraint ${names.join(' or ')}`,
        )
  }
}

/** Each open payment mandate is for the open checkout mandate that was shown, and for no other. */
export const checkReference = (payment: readonly OpenMandate[], checkout: readonly OpenMandate[]): void => {
  const path = 'payment_mandate'
  if (payment.length !== checkout.length)
    throw mandateFault(path, 'pair', 'one mandate is open and the other is not')
  for (const [index, mandate] of payment.entries()) {
    const digest = checkout[index]?.digest
    const references = constraintsOf(mandate, path).filter(({ type }) => type === 'payment.reference')
    const isPair =
      digest !== undefined && references.every(({ value }) => value['conditional_transaction_id'] === digest)
    if (!isPair)
      throw mandateFault(path, 'payment.reference', 'the payment is for another open checkout mandate')
  }
}

/** The database counts uses in 32 bits. */
const usesCountMax = 2_000_000_000

/** How often an open payment mandate may be used; undefined for once. */
export const useLimitOf = (mandate: OpenMandate): UseLimit | undefined => {
  const constraints = constraintsOf(mandate, 'payment_mandate')
  const recurrences = constraints.filter(({ type }) => type === 'payment.agent_recurrence')
  const [recurrence] = recurrences
  if (!recurrence) return undefined
  if (recurrences.length > 1)
    throw mandateFault('payment_mandate', 'payment.agent_recurrence', 'the open mandate has two recurrences')
  const budgets = constraints
    .filter(({ type }) => type === 'payment.budget')
    .map(({ value }) => Number(value['max']))
  const { frequency, max_occurrences: times } = recurrence.value
  const period = periods[String(frequency)] ?? { period: undefined, gapDays: undefined }
  return {
    usesMax: Math.min(times === undefined ? usesCountMax : Number(times), usesCountMax),
    budgetUsdCents: budgets.length === 0 ? undefined : BigInt(Math.min(...budgets)),
    ...period,
  }
}
