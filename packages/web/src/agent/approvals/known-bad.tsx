import { useState } from 'preact/hooks'
import type { Api } from '../../shared/api/client.ts'
import { createKeysOfCalls } from '../../shared/api/keys-of-calls.ts'
import { useAction } from '../../shared/api/use-action.ts'
import { useQuery } from '../../shared/api/use-query.ts'
import { ActionResult } from '../../shared/design/components.tsx'
import { Moment } from '../../shared/design/moment.tsx'
import { PageHead } from '../../shared/design/page-head.tsx'
import { rowsText } from '../../shared/lists/count.ts'
import { ListBody, Pager, useListPage } from '../../shared/lists/list-view.tsx'
import type { PageProps } from '../../shared/shell/frame.tsx'
import { hrefOf } from '../../shared/shell/router.ts'
import type { ActionTypes, Approvers, KnownBadRequests } from '../wire.ts'
import { KnownBadForm } from './known-bad-form.tsx'
import { isOwner, OwnerOnly } from './parts.tsx'
import { sendKnownBad } from './send-known-bad.ts'

type Item = KnownBadRequests['items'][number]
const countOf = ({ outcomes }: Item, decision: 'approve' | 'deny'): number =>
  outcomes.find((outcome) => outcome.decision === decision)?.n ?? 0

const KnownBadTable = ({ items, names }: { items: readonly Item[]; names: ReadonlyMap<string, string> }) => {
  const now = Date.now()
  return (
    <section class="card pad" aria-label="Known-bad requests">
      <table class="stacked">
        <thead>
          <tr>
            <th scope="col">Why it should be denied</th>
            <th scope="col">To</th>
            <th scope="col" class="num">
              Denied
            </th>
            <th scope="col" class="num">
              Approved
            </th>
            <th scope="col" class="wide-only">
              Since, UTC
            </th>
          </tr>
        </thead>
        <tbody>
          {items.map((item) => (
            <tr key={item.approvalId}>
              <th scope="row" class="address">
                {item.reason}
                <code class="small block">{item.type}</code>
              </th>
              <td class="address">{item.approvers.map((id) => names.get(id) ?? id).join(', ')}</td>
              <td class="num" data-label="Denied">
                {countOf(item, 'deny')}
              </td>
              <td class={`num ${countOf(item, 'approve') > 0 ? 'bad' : ''}`} data-label="Approved">
                {countOf(item, 'approve')}
              </td>
              <td class="wide-only">
                <Moment at={item.createdAt} now={now} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  )
}

const finding = ({ items, nextCursor }: KnownBadRequests, cursor: string | null): string =>
  items.length === 0
    ? 'No known-bad request was sent yet'
    : rowsText(items.length, 'known-bad request', { cursor, nextCursor }).replace(/^the/, 'The')

/** What a known-bad request can be about, and to whom it can go. */
const useChoices = (api: Api) =>
  useQuery(
    async () => {
      const [types, approvers] = await Promise.all([
        api.call<ActionTypes>('GET', '/api/agents/approval-types'),
        api.call<Approvers>('GET', '/api/agents/approvers'),
      ])
      return { types: types.types, approvers: approvers.approvers }
    },
    'choices',
    30_000,
  )

const FirstStep = ({ hasTypes }: { hasTypes: boolean }) => (
  <section class="card pad below-list" aria-labelledby="known-bad-first">
    <h2 class="h3" id="known-bad-first">
      First
    </h2>
    <p class="muted gap">
      {hasTypes ? 'Nobody has enrolled: ' : 'A known-bad request needs a type: '}
      {hasTypes ? (
        <a href={hrefOf(['approvals', 'people'])}>invite the people who approve</a>
      ) : (
        <a href={hrefOf(['approvals', 'types'])}>register an action type</a>
      )}
      .
    </p>
  </section>
)

const OwnersKnownBad = ({ api, query }: PageProps) => {
  const cursor = query.get('cursor')
  const loaded = useListPage<KnownBadRequests>(api, '/api/agents/approval-known-bad', {
    limit: '25',
    cursor: cursor ?? undefined,
  })
  const choices = useChoices(api)
  const action = useAction(loaded.refetch)
  const [keys] = useState(createKeysOfCalls)
  const page = loaded.value
  const { types = [], approvers = [] } = choices.value ?? {}
  const people = approvers.filter(({ status }) => status === 'enrolled')
  const isReady = types.length > 0 && people.length > 0
  return (
    <>
      <PageHead name="Known-bad requests" finding={page ? finding(page, cursor) : undefined}>
        They look like any other request, should be denied, and can never be consumed. No key of the agent
        sees them.
      </PageHead>
      <ActionResult message={action.message} error={action.error} />
      <ListBody loaded={loaded} count={page?.items.length} empty={null}>
        <KnownBadTable
          items={page?.items ?? []}
          names={new Map(approvers.map(({ approver, name }) => [approver, name]))}
        />
        <Pager path="approvals/known-bad" values={{}} cursor={cursor} nextCursor={page?.nextCursor ?? null} />
      </ListBody>
      {choices.value && !isReady ? <FirstStep hasTypes={types.length > 0} /> : null}
      {isReady ? (
        <div class="below-list">
          <KnownBadForm
            api={api}
            types={types}
            people={people}
            busy={action.busy}
            onSend={(request) => action.run('It is on its way.', () => sendKnownBad(api, keys, request))}
          />
        </div>
      ) : null}
    </>
  )
}

/** Requests that should be denied, to measure whether they are. */
export const KnownBadPart = (props: PageProps) =>
  isOwner(props.api) ? (
    <OwnersKnownBad {...props} />
  ) : (
    <>
      <PageHead name="Known-bad requests" finding={undefined}>
        Requests that should be denied measure whether they are.
      </PageHead>
      <OwnerOnly api={props.api} what="Known-bad requests">
        {null}
      </OwnerOnly>
    </>
  )
