import type { Api } from '../../shared/api/client.ts'
import type { Action } from '../../shared/api/use-action.ts'
import { ErrorNote } from '../../shared/design/components.tsx'
import { CopyId } from '../../shared/design/copy-id.tsx'
import { Drawer } from '../../shared/design/drawer.tsx'
import { Moment } from '../../shared/design/moment.tsx'
import { formatUtc, pluralize } from '../../shared/design/time.ts'
import { Facts } from '../facts.tsx'
import { operatorName, useOperators, useOverview } from '../use-operators.ts'
import type { Operators, Payout } from '../wire.ts'
import { payoutLabels, risksOf } from './messages.ts'
import { PayoutSteps } from './steps.tsx'

const RiskSection = ({ payout, now }: { payout: Payout; now: number }) => (
  <section aria-labelledby="risk">
    <h3 id="risk">Risk</h3>
    {payout.risk === null ? (
      <p class="muted">
        A user of a partner. The partner knows the user; the ledger has what the partner converted.
      </p>
    ) : null}
    <ul class="plainlist lines">
      {risksOf(payout, now).map(({ text, isBad }) => (
        <li key={text} class="spread">
          {text}
          {isBad ? <span class="chip stop">look</span> : null}
        </li>
      ))}
    </ul>
  </section>
)

const doneBy = (payout: Payout): readonly (readonly [step: string, operatorId: string | null])[] => [
  ['Reviewed by', payout.reviewedBy],
  ['Approved by', payout.approvedBy],
  ['Paid by', payout.paidBy],
  ['Rejected by', payout.rejectedBy],
]

const HistorySection = (props: { payout: Payout; operators: Operators['operators']; now: number }) => {
  const { payout, operators } = props
  return (
    <section aria-labelledby="history">
      <h3 id="history">History</h3>
      <Facts
        rows={[
          ['Requested, UTC', <Moment at={payout.createdAt} now={props.now} />],
          ...doneBy(payout).flatMap(([step, operatorId]) =>
            operatorId === null ? [] : [[step, operatorName(operators, operatorId)] as const],
          ),
          ...(payout.paymentRef === null
            ? []
            : [['Payment', <CopyId value={payout.paymentRef} label="payment reference" />] as const]),
          ...(payout.rejectReason === null ? [] : [['Reason', payout.rejectReason] as const]),
          ['Last change, UTC', <Moment at={payout.changedAt} now={props.now} />],
        ]}
      />
    </section>
  )
}

const accountText = ({ account }: Payout): string => {
  if (account === null) return 'The partner knows it'
  const end = account.end === null ? 'erased' : `ends with ${account.end}`
  return account.paidAt === null
    ? `${end}, never paid before`
    : `${end}, last paid ${formatUtc(account.paidAt)}`
}

/** One payout: its risk, its history, and the next step. */
export const PayoutDrawer = (props: { api: Api; payout: Payout; action: Action; back: string }) => {
  const { api, payout, action, back } = props
  const overview = useOverview(api).value
  const operators = useOperators(api)
  const now = Date.now()
  const { word, tone } = payoutLabels[payout.status]
  return (
    <Drawer
      title={
        <>
          {pluralize(payout.stars, 'Star')} <span class={`chip ${tone}`}>{word}</span>
        </>
      }
      onClose={() => (location.hash = back)}
    >
      {payout.simulated ? (
        <p class="note">A simulated request of a test key: no Stars are held, and nothing is paid.</p>
      ) : null}
      {action.error ? <ErrorNote error={action.error} /> : null}
      <Facts
        rows={[
          ['Request', <CopyId value={payout.requestId} label="request" />],
          ['User', <CopyId value={payout.userRef} label="user" />],
          ['Agent', <CopyId value={payout.agentId} label="agent" />],
          ['Account', accountText(payout)],
          ['Mode', payout.mode],
        ]}
      />
      <RiskSection payout={payout} now={now} />
      <HistorySection payout={payout} operators={operators} now={now} />
      {overview ? (
        <PayoutSteps api={api} payout={payout} action={action} back={back} overview={overview} />
      ) : null}
    </Drawer>
  )
}
