import * as accounts from '../accounts/index.ts'
import * as credentials from '../credentials/index.ts'
import * as evidence from '../evidence/index.ts'
import * as issuers from '../issuers/index.ts'
import * as members from '../members/index.ts'
import * as operators from '../operators/index.ts'
import * as partners from '../partners/index.ts'
import * as payments from '../payments/index.ts'
import * as roots from '../roots/index.ts'
import * as sessions from '../sessions/index.ts'
import type { RestoreParts } from '../signing/index.ts'
import type { Services } from './services.ts'
import { settlersOf } from './settlement.ts'

/** The jobs of the worker that compare with the card provider. */
const cardJobNames: readonly string[] = ['apply missed card events', 'poll open card checkouts']

/** What a restore changes in each module. */
export const restorePartsOf = ({ ctx, chainSettlement, cardProvider }: Services): RestoreParts => {
  const cardJobs = payments
    .jobs(ctx, { provider: cardProvider, settlers: settlersOf(ctx) })
    .filter(({ name }) => cardJobNames.includes(name))
  return {
    ...credentials.makeRestoreParts(ctx),
    voidOpen: [
      {
        name: 'budgetHours',
        run: async (tx, span) =>
          roots.recordLosses(tx, span, await credentials.countLostByHour(tx, span.previousRestoreAt)),
      },
      { name: 'sessions', run: sessions.voidSessions },
      { name: 'nonces', run: evidence.voidNonces },
      { name: 'issuerRequests', run: issuers.voidRequests },
      { name: 'signIns', run: members.voidSignIns },
      { name: 'consoleSignIns', run: accounts.voidConsoleSignIns },
      { name: 'operatorSignIns', run: operators.voidSignIns },
      { name: 'payoutApprovals', run: partners.voidApprovals },
    ],
    reconcile: [
      ...(chainSettlement ? [{ name: 'gas accounts', run: chainSettlement.reconcileGasNonces }] : []),
      ...cardJobs.map(({ name, run }) => ({ name, run })),
    ],
  }
}
