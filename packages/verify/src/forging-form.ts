import { assurances, isObject } from './claims.ts'
import { forgingClasses } from './price.ts'

// The form of a price table. A figure of another form could make a forgery look dear, so one fault refuses the whole table.

type Test = (value: unknown) => boolean
const amountMax = 1e12
const listMax = 200

const isText: Test = (value) => typeof value === 'string' && value !== '' && value.length <= 64
const isAmount: Test = (value) => typeof value === 'number' && value >= 0 && value <= amountMax
const isPositive: Test = (value) => isAmount(value) && value !== 0
const isFlag: Test = (value) => typeof value === 'boolean'
const oneOf =
  (...known: readonly unknown[]): Test =>
  (value) =>
    known.includes(value)
const hasForm =
  (form: Readonly<Record<string, Test>>): Test =>
  (value) =>
    isObject(value) && Object.entries(form).every(([name, test]) => test(value[name]))
const isListOf =
  (test: Test, least = 0): Test =>
  (value) =>
    Array.isArray(value) && value.length >= least && value.length <= listMax && value.every(test)
const isRecordOf =
  (test: Test): Test =>
  (value) =>
    isObject(value) && Object.keys(value).length <= listMax && Object.values(value).every(test)

const isLevel = oneOf(...assurances, 'named')
const isCost = hasForm({ usd: isAmount, class: oneOf(...forgingClasses) })
const isPrice: Test = (value) => value === 'named' || isCost(value)

const isEntry = hasForm({
  kind: isText,
  root: isText,
  level: isLevel,
  actsB: isPrice,
  acts10: isPrice,
  acts1: isPrice,
  humans: isPrice,
})

const isWay = hasForm({
  by: oneOf('buy', 'hire'),
  usd: isAmount,
  subjects: isPositive,
  lifeDays: isPositive,
})
const isRoot = hasForm({
  class: isText,
  level: isLevel,
  counted: isFlag,
  confirmed: isFlag,
  actsPerDay: isPositive,
  ways: isListOf(isWay),
})
const isFamily = hasForm({
  name: isText,
  kind: isText,
  root: isText,
  successRate: isAmount,
  cpuSeconds: isAmount,
  bytes: isAmount,
  humanSeconds: isAmount,
  fixed: isListOf(hasForm({ item: isText, quantity: isPositive, lifeActs: isPositive })),
})
const isInputs = hasForm({
  wagePerHour: isAmount,
  ownerWagePerHour: isAmount,
  searchUsd: isAmount,
  corePerHour: isAmount,
  networks: isListOf(hasForm({ usdPerAddressDay: isAmount, usdPerGigabyte: isAmount }), 1),
  addressActsPerDay: isPositive,
  items: isRecordOf(isAmount),
  humanSeconds: isRecordOf(isAmount),
  confirmSeconds: isAmount,
  roots: isRecordOf(isRoot),
  families: isListOf(isFamily),
})

/** Every item that a script needs has a price. */
const hasItems = ({ items, families }: Record<string, unknown>): boolean =>
  isObject(items) &&
  Array.isArray(families) &&
  families.every((family: { readonly fixed: readonly { readonly item: string }[] }) =>
    family.fixed.every(({ item }) => Object.hasOwn(items, item)),
  )

/** Whether the entries and the inputs of a table have the form from which prices are computed. */
export const isForgingContent = ({ entries, inputs }: Readonly<Record<string, unknown>>): boolean =>
  isListOf(isEntry, 1)(entries) && isInputs(inputs) && isObject(inputs) && hasItems(inputs)
