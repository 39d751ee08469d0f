import type { Api } from '../../shared/api/client.ts'
import type { Action } from '../../shared/api/use-action.ts'
import { ConfirmButton } from '../../shared/design/components.tsx'
import { CopyId } from '../../shared/design/copy-id.tsx'
import { Moment } from '../../shared/design/moment.tsx'
import { pluralize } from '../../shared/design/time.ts'
import { formatUsd } from '../../shared/orders/messages.ts'
import type { Refund } from '../wire.ts'

const labels: Readonly<Record<Refund['state'], readonly [word: string, tone: string]>> = {
  wanted: ['not sent yet', ''],
  sent: ['sent', ''],
  done: ['done', 'ok'],
  failed: ['failed', 'stop'],
}

type RowProps = { readonly refund: Refund; readonly api: Api; readonly action: Action; readonly now: number }

const RefundRow = ({ refund, api, action, now }: RowProps) => {
  const [word, tone] = labels[refund.state]
  const path = `/operator/refunds/${encodeURIComponent(refund.refundId)}/retry`
  return (
    <tr>
      <th scope="row">
        <CopyId value={refund.refundId} label="refund" />
      </th>
      <td class="num" data-label="Amount">
        {formatUsd(refund.amountUsd)}
      </td>
      <td>
        <span class={`chip ${tone}`}>{word}</span>{' '}
        {refund.mode === 'test' ? <span class="chip test">test</span> : null}
        <span class="small muted block cut">
          {refund.reason}
          {refund.fault === null ? '' : `: ${refund.fault}, ${pluralize(refund.attempts, 'attempt')}`}
        </span>
      </td>
      <td data-label="Checkout">
        <CopyId value={refund.checkoutId} label="checkout" />
      </td>
      <td data-label="Agent">
        <CopyId value={refund.agentId} label="agent" />
      </td>
      <td>
        <Moment at={refund.createdAt} now={now} />
      </td>
      <td>
        {refund.state === 'failed' ? (
          <ConfirmButton
            label="Try again"
            confirmLabel="Send it again"
            disabled={action.busy}
            onConfirm={() =>
              void action.run('The refund is sent again within a minute.', () => api.call('POST', path, {}))
            }
          />
        ) : null}
      </td>
    </tr>
  )
}

/** Card refunds, oldest first. */
export const RefundTable = (props: { refunds: readonly Refund[]; api: Api; action: Action }) => {
  const now = Date.now()
  return (
    <section class="card pad" aria-label="Card refunds">
      <table class="stacked">
        <thead>
          <tr>
            <th scope="col">Refund</th>
            <th scope="col" class="num">
              Amount
            </th>
            <th scope="col">State</th>
            <th scope="col">Checkout</th>
            <th scope="col">Agent</th>
            <th scope="col">Requested, UTC</th>
            <th scope="col">
              <span class="hidden">Action</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {props.refunds.map((refund) => (
            <RefundRow
              key={refund.refundId}
              refund={refund}
              api={props.api}
              action={props.action}
              now={now}
            />
          ))}
        </tbody>
      </table>
    </section>
  )
}
