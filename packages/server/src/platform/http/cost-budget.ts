import { setTimeout } from 'node:timers/promises'
import type { Clock } from '../ops/clock.ts'
import type { Logger } from '../ops/log.ts'
import type { ClientAddress } from './client-address.ts'
import { Refusal } from './errors.ts'
import { makeRefusalDelay } from './rate-limiter.ts'

// Every call without a key spends what it costs, in milliseconds of CPU, from a budget of the client's narrow network and
// one of its wide network. No caller chooses the key of a budget.

/** What a network may spend for ever, and what it may save up. */
const narrow = { perSecondMs: 100, savedMs: 1_000 }
/** A /24 or /48 belongs to more than one client, and one client can hold all of it. */
const wide = { perSecondMs: 200, savedMs: 2_000 }
/**
 * The calls of a wide network that has spent a part of its savings start so far apart, as a multiple of their cost: a client
 * with many connections never takes more than a quarter of the process for long.
 */
const spacing = 4
/** With this share of its savings a network waits for nothing: a person opens a page, which makes up to fifty calls. */
const unspacedShare = 0.75
const startWaitMaxMs = 1_000
/** Waiting calls in the process. Each holds its connection and a few kilobytes. */
const waitingMax = 2_000
/** Networks per process; the one that spent longest ago is dropped first. */
const networksMax = 50_000

/** A delay of the event loop above which calls are shed. */
const lagMaxMs = 25
/** A network that has spent at most this share of its savings is never shed. */
const reservedShare = 0.1
const shedStepUp = 0.25
const shedStepDown = 0.05
/** While calls are shed: until the event loop has been measured a few times. */
const shedRetrySeconds = 2

type Account = { availableMs: number; at: number }
type Budget = typeof narrow

/** The savings of networks, up to date when they are read. */
const makeAccounts = (now: () => number) => {
  const accounts = new Map<string, Account>()
  /** The account, as the newest of all. */
  const open = (key: string, budget: Budget): Account => {
    const at = now()
    const known = accounts.get(key)
    accounts.delete(key)
    if (accounts.size >= networksMax) {
      const oldest = accounts.keys().next().value
      if (oldest !== undefined) accounts.delete(oldest)
    }
    // A clock that was set back gives nothing and takes nothing.
    const elapsedMs = known ? Math.max(0, at - known.at) : 0
    const earnedMs = (elapsedMs * budget.perSecondMs) / 1_000
    const availableMs = known ? Math.min(budget.savedMs, known.availableMs + earnedMs) : budget.savedMs
    const account = { availableMs, at }
    accounts.set(key, account)
    return account
  }
  return { open, size: () => accounts.size }
}

/** When the calls of each wide network start, by the clock of `performance.now()`. */
const makeStarts = () => {
  const nextStarts = new Map<string, number>()
  let waiting = 0
  const waitMsOf = ({ wide: key }: ClientAddress): number =>
    Math.max(0, (nextStarts.get(key) ?? 0) - performance.now())

  /** How long the next call of the network waits for its start. */
  const reserve = (client: ClientAddress, costMs: number): number => {
    const waitMs = Math.min(startWaitMaxMs, waitMsOf(client))
    nextStarts.delete(client.wide)
    nextStarts.set(client.wide, performance.now() + waitMs + costMs * spacing)
    const [oldest] = nextStarts.keys()
    if (nextStarts.size > networksMax && oldest !== undefined) nextStarts.delete(oldest)
    return waitMs
  }

  return {
    isFull: (client: ClientAddress): boolean => waitMsOf(client) > startWaitMaxMs,
    wait: async (client: ClientAddress, costMs: number): Promise<void> => {
      const waitMs = reserve(client, costMs)
      // A timer is not more exact than this.
      if (waitMs < 2 || waiting >= waitingMax) return
      waiting += 1
      await setTimeout(waitMs, undefined, { ref: false })
      waiting -= 1
    },
  }
}

/** While the event loop lags, networks are shed in the order of what they have spent: the costliest first. */
const makeShedding = (log: Pick<Logger, 'warn'>) => {
  /** Networks with a smaller share of their savings are shed; 0: none is. */
  let shedBelow = 0
  return {
    isShed: (share: number): boolean => share < shedBelow,
    /** Takes the delay of the event loop since the last time. */
    noteLag: (lagMs: number): void => {
      const isFirst = shedBelow === 0 && lagMs > lagMaxMs
      shedBelow =
        lagMs > lagMaxMs
          ? Math.min(1 - reservedShare, shedBelow + shedStepUp)
          : Math.max(0, shedBelow - shedStepDown)
      if (isFirst)
        log.warn({ lagMs: Math.round(lagMs) }, 'event loop lags; the costliest calls without a key are shed')
    },
  }
}

const refuse = (code: 'rate_limited' | 'overloaded', seconds: number, message?: string): Refusal =>
  new Refusal(code, {
    ...(message === undefined ? {} : { message }),
    headers: { 'retry-after': String(Math.max(1, Math.ceil(seconds))) },
  })

type CostBudgetOptions = {
  readonly clock: Clock
  readonly log: Pick<Logger, 'warn'>
  /** False where addresses are not limited: every call is admitted. */
  readonly isOn: boolean
}

/** The budgets of callers without a key. */
export const makeCostBudget = ({ clock, log, isOn }: CostBudgetOptions) => {
  const accounts = makeAccounts(() => clock.now().getTime())
  const starts = makeStarts()
  const { isShed, noteLag } = makeShedding(log)
  const delayRefusal = makeRefusalDelay()

  const budgetsOf = (client: ClientAddress): readonly { account: Account; budget: Budget }[] => [
    { account: accounts.open(client.wide, wide), budget: wide },
    // The client that is not known has one network.
    ...(client.narrow === client.wide
      ? []
      : [{ account: accounts.open(client.narrow, narrow), budget: narrow }]),
  ]

  const shareOf = (client: ClientAddress): number =>
    Math.min(...budgetsOf(client).map(({ account, budget }) => account.availableMs / budget.savedMs))

  /** The refusal of a call, where there is one. The last call may overdraw: a budget is refused at zero. */
  const refusalOf = (client: ClientAddress): Refusal | undefined => {
    const budgets = budgetsOf(client)
    const waitSeconds = Math.max(
      ...budgets.map(({ account, budget }) => -account.availableMs / budget.perSecondMs),
    )
    if (waitSeconds >= 0)
      return refuse('rate_limited', waitSeconds, 'This network used up what it may spend without a key.')
    if (starts.isFull(client))
      return refuse('rate_limited', 1, 'This network makes too many calls without a key at once.')
    return isShed(shareOf(client)) ? refuse('overloaded', shedRetrySeconds) : undefined
  }

  const charge = (client: ClientAddress, costMs: number): void => {
    if (isOn) for (const { account } of budgetsOf(client)) account.availableMs -= costMs
  }

  return {
    /** Spends the cost of a call, once it may start, or throws the refusal after a delay. */
    admit: async (client: ClientAddress, costMs: number): Promise<void> => {
      if (!isOn) return
      const refusal = refusalOf(client)
      if (refusal) {
        await delayRefusal()
        throw refusal
      }
      charge(client, costMs)
      if (shareOf(client) < unspacedShare) await starts.wait(client, costMs)
    },
    /** As `admit` for a call that is never refused, as of a load balancer: it only waits. */
    space: async (client: ClientAddress, costMs: number): Promise<void> => {
      if (isOn) await starts.wait(client, costMs)
    },
    /** Spends what only the answer told, such as its length. */
    charge,
    /** Takes the delay of the event loop since the last time. */
    noteLag: (lagMs: number): void => {
      if (isOn) noteLag(lagMs)
    },
    size: accounts.size,
  }
}
export type CostBudget = ReturnType<typeof makeCostBudget>
