import type { Tx } from '../../platform/db/db.ts'
import type { SignedPayment } from './check.ts'
import type { Chain } from './chain.ts'
import type { Fees, GasPool } from './gas.ts'
import type { NewPayment, GasTransaction } from './store.ts'
import { transferData, type Receipt } from './token.ts'

/** What was learned before the transaction in which a payment is claimed: no network is asked inside it. */
export type SubmissionInputs = { readonly fromBlock: bigint; readonly fees: Fees | undefined }
/** What was written down to be sent; nothing where somebody else signs and pays the gas. */
type Submission = Pick<GasTransaction, 'raw' | 'hash'> | undefined

/** Who brings payments to the chain: our own gas accounts, or a facilitator. Neither is believed; the logs are. */
export type Submitter = {
  readonly readInputs: (payment: SignedPayment) => Promise<SubmissionInputs>
  /** Why the payment would not go through, or undefined. */
  readonly check: (payment: SignedPayment) => Promise<string | undefined>
  readonly prepare: (
    tx: Tx,
    order: SignedPayment & { readonly reference: string },
    prepared: SubmissionInputs,
  ) => Promise<Submission>
  /** The receipt, or undefined while there is none. Throws where it is not known whether anything was sent. */
  readonly submit: (payment: NewPayment, submission: Submission) => Promise<Receipt | undefined>
  readonly resubmit: (payment: NewPayment) => Promise<Receipt | undefined>
}

type Parts = { readonly chain: Chain; readonly pool: GasPool; readonly marginBlocks: bigint }

/** Our own accounts: two questions to the node for a purchase, one call that tries and one that sends and waits. */
export const makeSubmitter = ({ chain, pool, marginBlocks }: Parts): Submitter => ({
  readInputs: async () => {
    await pool.ensureAccounts()
    const { number } = await chain.head()
    return { fromBlock: number > marginBlocks ? number - marginBlocks : 0n, fees: await pool.fees() }
  },
  check: ({ authorization, signature, form }) => chain.simulate(transferData(authorization, signature, form)),
  prepare: async (tx, order, { fees }) => {
    if (!fees) throw new Error('fees are asked for before the transaction')
    const { raw, hash } = await pool.prepare(tx, order, fees)
    return { raw, hash }
  },
  submit: async (_payment, submission) => {
    if (!submission) throw new Error('nothing was written down to be sent')
    return pool.send(submission)
  },
  resubmit: (payment) => pool.resubmit(payment),
})
