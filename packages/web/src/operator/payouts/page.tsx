import { useAction } from '../../shared/api/use-action.ts'
import { ActionResult } from '../../shared/design/components.tsx'
import { CopyId } from '../../shared/design/copy-id.tsx'
import { Moment } from '../../shared/design/moment.tsx'
import { PageHead } from '../../shared/design/page-head.tsx'
import { filterValues } from '../../shared/lists/filter.ts'
import { Filters } from '../../shared/lists/filters.tsx'
import { ListBody, Pager, stepThroughRows, useListPage } from '../../shared/lists/list-view.tsx'
import { formatCount } from '../../shared/plots/scale.ts'
import type { PageProps } from '../../shared/shell/frame.tsx'
import { hrefOf } from '../../shared/shell/router.ts'
import type { Payout, PayoutPage } from '../wire.ts'
import { payoutFilter, payoutLabels, payoutsFinding, risksOf, statusOf } from './messages.ts'
import { PayoutDrawer } from './payout.tsx'

const filters = [payoutFilter]

const RiskCell = ({ payout, now }: { payout: Payout; now: number }) => {
  if (payout.risk === null) return <>user of a partner</>
  const bad = risksOf(payout, now).filter(({ isBad }) => isBad).length
  return bad === 0 ? <span class="chip ok">no sign</span> : <span class="chip stop">{bad} to look at</span>
}

const PayoutTable = (props: { payouts: readonly Payout[]; hrefOfPayout: (requestId: string) => string }) => {
  const now = Date.now()
  return (
    <section class="card pad" aria-label="Payouts">
      <table class="stacked">
        <thead>
          <tr>
            <th scope="col">Request</th>
            <th scope="col" class="num">
              Stars
            </th>
            <th scope="col">State</th>
            <th scope="col">Risk</th>
            <th scope="col">Agent</th>
            <th scope="col">Requested, UTC</th>
          </tr>
        </thead>
        <tbody onKeyDown={stepThroughRows}>
          {props.payouts.map((payout) => (
            <tr key={payout.requestId}>
              <th scope="row">
                <a class="id" href={props.hrefOfPayout(payout.requestId)} title={payout.requestId}>
                  {`${payout.requestId.slice(0, 10)}…${payout.requestId.slice(-4)}`}
                </a>
              </th>
              <td class="num" data-label="Stars">
                {formatCount(payout.stars)}
              </td>
              <td>
                <span class={`chip ${payoutLabels[payout.status].tone}`}>
                  {payoutLabels[payout.status].word}
                </span>{' '}
                {payout.mode === 'test' ? <span class="chip test">test</span> : null}
              </td>
              <td>
                <RiskCell payout={payout} now={now} />
              </td>
              <td>
                <CopyId value={payout.agentId} label="agent" />
              </td>
              <td>
                <Moment at={payout.createdAt} now={now} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  )
}

/** Page "Payouts": Stars that leave the ledger after two operators agreed. */
export const PayoutsPage = ({ api, query }: PageProps) => {
  const values = filterValues(query, ['status'])
  const cursor = query.get('cursor')
  const chosen = query.get('payout')
  const loaded = useListPage<PayoutPage>(api, '/operator/payouts', {
    limit: '50',
    status: statusOf(values['status']),
    after: cursor ?? undefined,
  })
  const action = useAction(loaded.refetch)
  const page = loaded.value
  const here = { ...values, cursor: cursor ?? undefined }
  const payout = page?.payouts.find(({ requestId }) => requestId === chosen)
  return (
    <>
      <PageHead name="Payouts" finding={page ? payoutsFinding(page, values['status']) : undefined}>
        One operator reviews a payout, and another approves it. Then you pay outside the program and record it
        here.
      </PageHead>
      <div class="listhead">
        <Filters path="payouts" query={query} filters={filters} />
      </div>
      <ActionResult message={action.message} error={undefined} />
      <ListBody
        loaded={loaded}
        count={page?.payouts.length}
        empty={
          <section class="card pad">
            <p class="muted">
              Workers request payouts on their page of earnings, partners by{' '}
              <code>POST /api/partner/payout/request</code>. Requests are listed here, oldest first.
            </p>
          </section>
        }
      >
        <PayoutTable
          payouts={page?.payouts ?? []}
          hrefOfPayout={(requestId) => hrefOf(['payouts'], { ...here, payout: requestId })}
        />
      </ListBody>
      <Pager
        path="payouts"
        values={values}
        cursor={cursor}
        nextCursor={page?.nextCursor ?? null}
        isOldestFirst
      />
      {payout ? (
        <PayoutDrawer
          key={payout.requestId}
          api={api}
          payout={payout}
          action={action}
          back={hrefOf(['payouts'], here)}
        />
      ) : null}
    </>
  )
}
