import type { Tx } from '../../platform/db/db.ts'
import type { SignedPayment } from './check.ts'
import type { Chain, Fees } from './chain.ts'
import { simulateContractCall, type CheckResult, type ContractCall } from './contract-payers.ts'
import type { GasPool } from './gas.ts'
import type { NewPayment, GasTransaction } from './store.ts'
import { transferData, type Receipt } from './token.ts'

/** What is read from the chain before the transaction that claims a payment: no network call happens inside it. */
type SubmissionInputs = { readonly fromBlock: bigint; readonly fees: Fees | undefined }
/** The inputs of a payment that was checked; `contract` is undefined for a payer without code. */
export type CheckedInputs = SubmissionInputs & { readonly contract: ContractCall | undefined }
/** The stored transaction to send; undefined where a facilitator signs and pays the gas. */
export type StoredSubmission = Pick<GasTransaction, 'raw' | 'hash'> | undefined
export type PreparedSubmission =
  | { readonly kind: 'prepared'; readonly submission: StoredSubmission }
  /** No gas account has gas and room for one more pending transaction. */
  | { readonly kind: 'exhausted' }

/** Submits payments to the chain: our own gas accounts, or a facilitator. Only the token's logs are trusted. */
export type Submitter = {
  readonly readInputs: (payment: SignedPayment) => Promise<SubmissionInputs>
  /** Why the payment would fail; for a payer with code, how it is sent. */
  readonly check: (payment: SignedPayment, inputs: SubmissionInputs) => Promise<CheckResult>
  readonly prepare: (
    tx: Tx,
    order: SignedPayment & { readonly reference: string },
    prepared: CheckedInputs,
  ) => Promise<PreparedSubmission>
  /** The receipt, or undefined while there is none. Throws where it is not known whether anything was sent. */
  readonly submit: (payment: NewPayment, submission: StoredSubmission) => Promise<Receipt | undefined>
  readonly resubmit: (payment: NewPayment) => Promise<Receipt | undefined>
}

type Parts = { readonly chain: Chain; readonly pool: GasPool; readonly marginBlocks: bigint }

/**
 * Our own accounts. A purchase takes three calls to the node: two at once, to simulate and to look for code of the payer,
 * and one to send and wait.
 */
export const makeSubmitter = ({ chain, pool, marginBlocks }: Parts): Submitter => ({
  readInputs: async () => {
    await pool.ensureAccounts()
    const { number } = await chain.head()
    return { fromBlock: number > marginBlocks ? number - marginBlocks : 0n, fees: await pool.fees() }
  },
  check: async ({ authorization, signature, form }, { fees }) => {
    const data = transferData(authorization, signature, form)
    const simulateWithCode = async () =>
      simulateContractCall(chain, data, { sender: await pool.chooseSender(), fees })
    if (form === 'contract') return simulateWithCode()
    const [reason, hasCode] = await Promise.all([chain.simulate(data), chain.hasCode(authorization.from)])
    if (hasCode) return simulateWithCode()
    return reason === undefined ? { reason, contract: undefined } : { reason }
  },
  prepare: async (tx, order, { fees, contract }) => {
    if (!fees) throw new Error(`no fees read for payment ${order.reference} while preparing its transaction`)
    const transaction = await pool.prepare(
      tx,
      { ...order, gasLimit: contract?.gasLimit ?? null },
      { fee: fees, sender: contract?.sender },
    )
    if (!transaction) return { kind: 'exhausted' }
    const { raw, hash } = transaction
    return { kind: 'prepared', submission: { raw, hash } }
  },
  submit: async (payment, submission) => {
    if (!submission)
      throw new Error(`no transaction stored for payment ${payment.reference} while submitting it`)
    return pool.send(submission)
  },
  resubmit: (payment) => pool.resubmit(payment),
})
