import { useState } from 'preact/hooks'
import type { Api } from '../../shared/api/client.ts'
import type { Action } from '../../shared/api/use-action.ts'
import { closeDrawer } from '../../shared/design/drawer.tsx'
import { TextField } from '../fields.tsx'
import type { Overview, Payout } from '../wire.ts'

type StepProps = {
  readonly api: Api
  readonly payout: Payout
  readonly action: Action
  /** The list, which shows the result. */
  readonly back: string
  readonly overview: Overview
}

const stepRunner =
  ({ api, payout, action, back }: StepProps) =>
  async (step: string, message: string, body: object) => {
    const path = `/operator/payouts/${encodeURIComponent(payout.requestId)}/${step}`
    if (await action.run(message, () => api.call('POST', path, body))) closeDrawer(back)
  }

/** Why this operator cannot do the next step; the server refuses it for the same reasons. */
const refusalOf = ({ payout, overview }: StepProps): string | undefined => {
  const { operator } = overview
  if (payout.status === 'approved') return undefined
  if (!operator.decidesPayouts)
    return 'Another operator created your key over the listener. Payouts are reviewed and approved by operators that were created on the machine: npx pohf operator create NAME'
  if (payout.status !== 'in_review') return undefined
  if (payout.reviewedBy === operator.operatorId)
    return 'You reviewed this payout. Another operator must approve it.'
  return overview.payoutApproval
    ? undefined
    : 'Approval of payouts is off on this deployment. Set PAYOUT_APPROVAL=on and restart to turn it on.'
}

const PayForm = (props: StepProps) => {
  const [paymentRef, setPaymentRef] = useState('')
  const [account, setAccount] = useState('')
  const run = stepRunner(props)
  const { payout } = props
  const pay = () =>
    run('pay', 'The payment is recorded.', {
      paymentRef: paymentRef.trim(),
      ...(payout.account === null ? {} : { account: account.trim() }),
    })
  return (
    <form
      class="parts"
      onSubmit={(event) => {
        event.preventDefault()
        void pay()
      }}
    >
      <p class="muted">
        Pay outside the program first. Then record the payment: nothing is transferred here.
      </p>
      <TextField
        id="payment-reference"
        label="Reference of your payment"
        maxLength={256}
        value={paymentRef}
        onValue={setPaymentRef}
      />
      {payout.account === null ? null : (
        <TextField
          id="payment-account"
          label="Account that you paid"
          hint="must be the one that the worker named"
          maxLength={100}
          value={account}
          onValue={setAccount}
        />
      )}
      <p>
        <button class="btn main" type="submit" disabled={props.action.busy}>
          Record the payment
        </button>
      </p>
    </form>
  )
}

const NextStep = (props: StepProps) => {
  const { payout, action } = props
  const run = stepRunner(props)
  const refusal = refusalOf(props)
  if (refusal !== undefined) return <p class="note warn">{refusal}</p>
  if (payout.status === 'approved') return <PayForm {...props} />
  return payout.status === 'queued' ? (
    <p>
      <button
        type="button"
        class="btn main"
        disabled={action.busy}
        onClick={() =>
          void run('review', 'You reviewed the payout. It waits for another operator to approve it.', {})
        }
      >
        Reviewed: pass it on for approval
      </button>
    </p>
  ) : (
    <p>
      <button
        type="button"
        class="btn main"
        disabled={action.busy}
        onClick={() => void run('approve', 'The payout is approved. It can be paid now.', {})}
      >
        Approve the payout
      </button>
    </p>
  )
}

const RejectForm = (props: StepProps) => {
  const [reason, setReason] = useState('')
  const run = stepRunner(props)
  return (
    <details>
      <summary>Reject the payout</summary>
      <form
        class="parts"
        onSubmit={(event) => {
          event.preventDefault()
          void run('reject', 'The payout is rejected, and the Stars are back with the user.', {
            reason: reason.trim(),
          })
        }}
      >
        <TextField
          id="reject-reason"
          label="Reason"
          hint="the webhook of the agent carries it"
          maxLength={500}
          value={reason}
          onValue={setReason}
        />
        <p>
          <button class="btn stop" type="submit" disabled={props.action.busy}>
            Reject and return the Stars
          </button>
        </p>
      </form>
    </details>
  )
}

/** What can be done with a payout now. */
export const PayoutSteps = (props: StepProps) =>
  props.payout.status === 'paid' || props.payout.status === 'rejected' ? null : (
    <section aria-labelledby="next">
      <h3 id="next">Next step</h3>
      <NextStep {...props} />
      <RejectForm {...props} />
    </section>
  )
