import type { runAfterRestore, BeforeLoss, runRunbook } from './battery.ts'
import type { Service } from './deployment.ts'

type Outcome = {
  readonly beforeLoss: BeforeLoss
  readonly pendingFaults: readonly string[]
  readonly runbook: Awaited<ReturnType<typeof runRunbook>>
  readonly present: Awaited<ReturnType<typeof runAfterRestore>>
}

/** The sum of answers other than these. */
const countOther = (answers: Readonly<Record<string, number>>, expected: readonly string[]): number =>
  Object.entries(answers).reduce((sum, [name, count]) => (expected.includes(name) ? sum : sum + count), 0)

/** What is known of purchases: of delivered ones by their act or by the chain, of others nothing but their payment. */
const purchaseChecks = (
  service: Service,
  { beforeLoss, present }: Outcome,
): readonly (readonly [boolean, string])[] => {
  const { paidAgain, paidOutside } = present
  const delivered = countOther(paidAgain, ['409 purchase_conflict'])
  const notDelivered = countOther(paidOutside, ['200'])
  return [
    [delivered === 0, `payments that had delivered were answered ${JSON.stringify(paidAgain)}`],
    [notDelivered === 0, `paid and not delivered, then answered ${JSON.stringify(paidOutside)}`],
    [
      present.unposted === beforeLoss.bought.length,
      `the chain has ${present.unposted} payments more than the ledger, expected ${beforeLoss.bought.length}`,
    ],
    [present.nonceFaults === 0, `${present.nonceFaults} gas accounts have a wrong next nonce`],
    [beforeLoss.bought.length === service.purchases, 'not every purchase before the loss was delivered'],
    [present.boughtAfter.length === service.purchases, 'not every purchase after the restore was delivered'],
  ]
}

/** What the battery holds against the service. */
export const findFaults = (service: Service, outcome: Outcome): string[] => {
  const { beforeLoss, pendingFaults, runbook, present } = outcome
  const { applied } = runbook
  const spentAgain = service.journal === 'kept' ? 0 : service.lost
  const expected = beforeLoss.balance - service.after + spentAgain
  const checks: readonly (readonly [boolean, string])[] = [
    [
      beforeLoss.before.length === service.before && beforeLoss.lost.length === service.lost,
      'not everything was minted before the loss',
    ],
    [
      beforeLoss.unpublished === 0,
      `${beforeLoss.unpublished} revocations were not published before the loss`,
    ],
    [runbook.plan['pending'] === true, 'the plan does not say that a restore is pending'],
    [
      applied['applied'] === true && applied['pending'] === false,
      `the restore was not completed: ${JSON.stringify(applied).slice(0, 300)}`,
    ],
    [
      applied['recorded'] === service.lost + service.purchases,
      `${String(applied['recorded'])} of ${service.lost + service.purchases} lost credentials were recorded`,
    ],
    ...purchaseChecks(service, outcome),
    [present.ledgerOk, 'the ledger does not balance at the end'],
    [runbook.after['pending'] === false, 'a restore is still pending afterwards'],
    [runbook.ledger['ok'] === true, 'the ledger does not balance'],
    [runbook.seconds <= 900, `the runbook took ${Math.round(runbook.seconds)} s`],
    [
      present.after.held.length === service.after,
      `${present.after.held.length} of ${service.after} were minted afterwards: ${JSON.stringify([...present.after.refusals])}`,
    ],
    [runbook.unrevoked === 0, `${runbook.unrevoked} revocations were taken back by the restore`],
    [runbook.listsBack === 0, `${runbook.listsBack} published lists went back to an older version`],
    [present.reused === 0, `${present.reused} indexes were given out again`],
    [present.inOldLists === 0, `${present.inOldLists} indexes are in lists of before the restore`],
    [present.again.held.length === 0, `${present.again.held.length} lost acts were minted twice`],
    [present.unrevokable === 0, `${present.unrevokable} lost credentials cannot be revoked`],
    [present.stillValid === 0, `${present.stillValid} revoked credentials are valid in the published lists`],
    [present.unverifiable === 0, `${present.unverifiable} credentials do not verify`],
    [present.balance === expected, `the balance is ${present.balance}, expected ${expected}`],
  ]
  return [...pendingFaults, ...checks.filter(([holds]) => !holds).map(([, fault]) => fault)]
}
