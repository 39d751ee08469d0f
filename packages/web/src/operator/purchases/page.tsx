import { useState } from 'preact/hooks'
import type { Api } from '../../shared/api/client.ts'
import { useAction, type Action } from '../../shared/api/use-action.ts'
import { ActionResult, ErrorNote } from '../../shared/design/components.tsx'
import { CopyId } from '../../shared/design/copy-id.tsx'
import { Drawer, closeDrawer } from '../../shared/design/drawer.tsx'
import { Moment } from '../../shared/design/moment.tsx'
import { PageHead } from '../../shared/design/page-head.tsx'
import { pluralize } from '../../shared/design/time.ts'
import { filterValues, type Filter } from '../../shared/lists/filter.ts'
import { Filters } from '../../shared/lists/filters.tsx'
import { ListBody, Pager, stepThroughRows, useListPage } from '../../shared/lists/list-view.tsx'
import {
  formatTokenAmount,
  purchaseStatusLabels,
  purchaseStatusText,
} from '../../shared/purchases/messages.ts'
import type { PageProps } from '../../shared/shell/frame.tsx'
import { hrefOf } from '../../shared/shell/router.ts'
import { Facts } from '../facts.tsx'
import { TextField } from '../fields.tsx'
import { ReasonField } from '../reason-field.tsx'
import type { OperatorPurchase, PurchasePage } from '../wire.ts'

const filters: readonly Filter[] = [
  {
    name: 'status',
    label: 'Purchases',
    options: [
      ['', 'Refund due'],
      ['uncertain', 'Not known yet'],
      ['reserved', 'Reserved'],
      ['broadcast', 'Sent to the chain'],
      ['settled', 'Paid, not delivered'],
      ['delivered', 'Delivered'],
      ['refunded', 'Refunded'],
      ['void', 'Not charged'],
    ],
  },
]

const finding = ({ purchases, nextCursor }: PurchasePage, filter: string | undefined): string => {
  if (purchases.length === 0) return filter === undefined ? 'No purchase needs a refund' : 'No purchase here'
  const count = pluralize(purchases.length, 'purchase')
  const counted = nextCursor === null ? count : `More than ${count}`
  return filter === undefined ? `${counted} to refund` : counted
}

const PurchaseTable = (props: {
  purchases: readonly OperatorPurchase[]
  hrefOfPurchase: (purchaseId: string) => string
}) => {
  const now = Date.now()
  return (
    <section class="card pad" aria-label="Purchases">
      <table class="stacked">
        <thead>
          <tr>
            <th scope="col">Workflow</th>
            <th scope="col">State</th>
            <th scope="col" class="num">
              USDC
            </th>
            <th scope="col">Agent</th>
            <th scope="col">In this state since, UTC</th>
          </tr>
        </thead>
        <tbody onKeyDown={stepThroughRows}>
          {props.purchases.map((purchase) => (
            <tr key={purchase.purchaseId}>
              <th scope="row" class="address">
                <a href={props.hrefOfPurchase(purchase.purchaseId)}>{purchase.workflowId}</a>
              </th>
              <td>
                <span class={`chip ${purchaseStatusLabels[purchase.status].tone}`}>
                  {purchaseStatusLabels[purchase.status].word}
                </span>{' '}
                {purchase.mode === 'test' ? <span class="chip test">test</span> : null}
              </td>
              <td class="num" data-label="USDC">
                {formatTokenAmount(purchase.amount)}
              </td>
              <td data-label="Agent">
                <CopyId value={purchase.agentId} label="agent" />
              </td>
              <td>
                <Moment at={purchase.updatedAt} now={now} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  )
}

type DrawerProps = {
  readonly api: Api
  readonly purchase: OperatorPurchase
  readonly action: Action
  readonly back: string
}

const RefundForm = ({ api, purchase, action, back }: DrawerProps) => {
  const [transaction, setTransaction] = useState('')
  const [reason, setReason] = useState('')
  const record = async () => {
    const path = `/operator/purchases/${encodeURIComponent(purchase.purchaseId)}/refund`
    const body = { transaction: transaction.trim(), reason: reason.trim() }
    if (await action.run('The refund is recorded.', () => api.call('POST', path, body))) closeDrawer(back)
  }
  return (
    <section aria-labelledby="record">
      <h3 id="record">Record the refund</h3>
      <p class="muted">
        Send {formatTokenAmount(purchase.amount)} USDC on {purchase.network} from the account that was paid to{' '}
        <CopyId value={purchase.payer} label="payer" />. Then enter the transaction: the chain proves that it
        arrived.
      </p>
      <form
        class="parts"
        onSubmit={(event) => {
          event.preventDefault()
          void record()
        }}
      >
        <TextField
          id="refund-transaction"
          label="Transaction"
          placeholder="0x…"
          pattern="0x[0-9a-fA-F]{64}"
          maxLength={66}
          value={transaction}
          onValue={setTransaction}
        />
        <ReasonField id="purchase-reason" value={reason} onValue={setReason} />
        <p>
          <button class="btn main" type="submit" disabled={action.busy}>
            Record the refund
          </button>
        </p>
      </form>
    </section>
  )
}

const PurchaseDrawer = (props: DrawerProps) => {
  const { purchase, action, back } = props
  const now = Date.now()
  const { word, tone } = purchaseStatusLabels[purchase.status]
  return (
    <Drawer
      title={
        <>
          {purchase.workflowId} <span class={`chip ${tone}`}>{word}</span>
        </>
      }
      onClose={() => (location.hash = back)}
    >
      <p class="muted">{purchaseStatusText(purchase)}</p>
      {purchase.reason === null ? null : (
        <p class="note warn">
          Why: <code>{purchase.reason}</code>
        </p>
      )}
      {action.error ? <ErrorNote error={action.error} /> : null}
      <Facts
        rows={[
          [
            'Pays for',
            purchase.questionId === null ? 'a unit from stock' : `the question ${purchase.questionId}`,
          ],
          ['Amount', `${formatTokenAmount(purchase.amount)} USDC on ${purchase.network}`],
          ['Paid by', <CopyId value={purchase.payer} label="payer" />],
          [
            'Transaction',
            purchase.transaction === null ? (
              'none'
            ) : (
              <CopyId value={purchase.transaction} label="transaction" />
            ),
          ],
          [
            'Credential',
            purchase.credentialId === null ? (
              'none'
            ) : (
              <CopyId value={purchase.credentialId} label="credential" />
            ),
          ],
          ['Agent', <CopyId value={purchase.agentId} label="agent" />],
          ['Purchase', <CopyId value={purchase.purchaseId} label="purchase" />],
          ['Begun, UTC', <Moment at={purchase.createdAt} now={now} />],
          ['Last change, UTC', <Moment at={purchase.updatedAt} now={now} />],
        ]}
      />
      {purchase.status === 'refund_due' ? <RefundForm {...props} /> : null}
    </Drawer>
  )
}

/** Page "Purchases": what agents bought over HTTP 402, by state. */
export const OperatorPurchasesPage = ({ api, query }: PageProps) => {
  const values = filterValues(query, ['status'])
  const cursor = query.get('cursor')
  const chosen = query.get('purchase')
  const loaded = useListPage<PurchasePage>(api, '/operator/purchases', {
    limit: '50',
    status: values['status'],
    cursor: cursor ?? undefined,
  })
  const action = useAction(loaded.refetch)
  const page = loaded.value
  const here = { ...values, cursor: cursor ?? undefined }
  const purchase = page?.purchases.find(({ purchaseId }) => purchaseId === chosen)
  return (
    <>
      <PageHead name="Purchases" finding={page ? finding(page, values['status']) : undefined}>
        Purchases of all agents over HTTP 402, longest in their state first.
      </PageHead>
      <div class="listhead">
        <Filters path="purchases" query={query} filters={filters} />
      </div>
      <ActionResult message={action.message} error={undefined} />
      <ListBody
        loaded={loaded}
        count={page?.purchases.length}
        empty={
          <p class="card pad muted">
            A purchase is listed here when it is paid and cannot be delivered. Choose another state to see the
            others.
          </p>
        }
      >
        <PurchaseTable
          purchases={page?.purchases ?? []}
          hrefOfPurchase={(id) => hrefOf(['purchases'], { ...here, purchase: id })}
        />
      </ListBody>
      <Pager
        path="purchases"
        values={values}
        cursor={cursor}
        nextCursor={page?.nextCursor ?? null}
        isOldestFirst
      />
      {purchase ? (
        <PurchaseDrawer
          key={purchase.purchaseId}
          api={api}
          purchase={purchase}
          action={action}
          back={hrefOf(['purchases'], here)}
        />
      ) : null}
    </>
  )
}
