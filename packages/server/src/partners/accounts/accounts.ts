import type { NamedAccount } from '@pohf/protocol'
import type { Tx } from '../../platform/db/db.ts'
import { Refusal } from '../../platform/http/errors.ts'
import type { Ctx } from '../../platform/ops/context.ts'
import { payoutAccountOf, takenAccountsDays, takenAccountsMax, type PayoutAccount } from '../rules.ts'
import type { PayoutRow } from '../store.ts'
import {
  deleteUnusedAccount,
  findAccountForUpdate,
  findTakenLimitEnd,
  findUnpaidAccount,
  insertAccountRefusal,
  listNamedAccounts,
  lockAccount,
  updateAccountPaid,
  upsertAccount,
  type Worker,
} from './store.ts'

/** The schema of the request refuses the same texts. */
const requireAccount = ({ secrets }: Ctx, text: string): PayoutAccount => {
  const account = payoutAccountOf(secrets.derive('payout-account'), text)
  if (account) return account
  throw new Refusal('validation_failed', {
    details: [{ path: 'body.account', code: 'invalid', message: 'must be an account' }],
  })
}

/** Refuses a person who has named too many accounts of others: each such refusal tells that somebody uses the account. */
const requireFewTaken = async (tx: Tx, worker: Worker): Promise<void> => {
  const waitSeconds = await findTakenLimitEnd(tx, worker)
  if (waitSeconds !== undefined)
    throw new Refusal('rate_limited', {
      message: `You named ${takenAccountsMax} accounts of other people within ${takenAccountsDays} days. You can request a payout again later.`,
      headers: { 'retry-after': String(waitSeconds) },
    })
}

/** The account with its owner. Refuses a second new one, so that nobody can reserve the accounts of others by naming them. */
const claimAccount = async (tx: Tx, worker: Worker, account: PayoutAccount) => {
  const unpaid = await findUnpaidAccount(tx, worker)
  if (!unpaid || unpaid.equals(account.hash)) return upsertAccount(tx, worker, account)
  const known = await findAccountForUpdate(tx, worker.mode, account.hash)
  if (!known) throw new Refusal('payout_account_pending')
  return known
}

/**
 * Names the account of a payout. An account of another person is recorded for the reviewers, so the caller commits, and
 * throws the refusal afterwards. The caller has locked the person.
 */
export const nameAccount = async (
  tx: Tx,
  ctx: Ctx,
  worker: Worker,
  text: string,
): Promise<{ readonly accountNo: bigint; readonly end: string } | { readonly refusal: Refusal }> => {
  await requireFewTaken(tx, worker)
  const account = requireAccount(ctx, text)
  const { accountNo, owner } = await claimAccount(tx, worker, account)
  if (owner === worker.worker) return { accountNo, end: account.end }
  await insertAccountRefusal(tx, worker, accountNo)
  return { refusal: new Refusal('payout_account_taken') }
}

/** Records that the account of a payout was paid. Refuses one that the payout does not name. */
export const recordPaidAccount = async (
  tx: Tx,
  ctx: Ctx,
  payout: PayoutRow,
  text: string | undefined,
): Promise<void> => {
  const { account_no: accountNo } = payout
  if (accountNo === null && text === undefined) return
  const isNamed =
    accountNo !== null &&
    text !== undefined &&
    (await updateAccountPaid(tx, accountNo, requireAccount(ctx, text).hash))
  if (!isNamed) throw new Refusal('payout_account_mismatch')
}

/** After a rejection: an account to which nothing was paid may be named by another person again. */
export const releaseAccount = async (tx: Tx, { account_no: accountNo }: PayoutRow): Promise<void> => {
  if (accountNo === null) return
  await lockAccount(tx, accountNo)
  await deleteUnusedAccount(tx, accountNo)
}

/** What reviewers see of the accounts of these payouts, in their order; null where a payout names none. */
export const presentAccounts = async (
  tx: Tx,
  payouts: readonly Pick<PayoutRow, 'account_no' | 'mode' | 'user_ref'>[],
): Promise<readonly (NamedAccount | null)[]> => {
  const named = payouts.flatMap(({ account_no: accountNo, mode, user_ref: worker }) =>
    accountNo === null ? [] : [{ accountNo, mode, worker }],
  )
  const found = (await listNamedAccounts(tx, named)).values()
  return payouts.map(({ account_no: accountNo }) => {
    const account = accountNo === null ? undefined : found.next().value
    return account ? { ...account, paidAt: account.paidAt?.toISOString() ?? null } : null
  })
}
