import type { Api } from '../../shared/api/client.ts'
import { useAction, type Action } from '../../shared/api/use-action.ts'
import { ActionResult } from '../../shared/design/components.tsx'
import { CopyId } from '../../shared/design/copy-id.tsx'
import { Moment } from '../../shared/design/moment.tsx'
import { PageHead } from '../../shared/design/page-head.tsx'
import { pluralize } from '../../shared/design/time.ts'
import { ListBody, Pager, useListPage } from '../../shared/lists/list-view.tsx'
import type { PageProps } from '../../shared/shell/frame.tsx'
import { hrefOf } from '../../shared/shell/router.ts'
import { ReasonAction } from '../reason-action.tsx'
import type { Sites, SuspendedRoot, SuspendedRoots } from '../wire.ts'
import { rootKindText } from './kinds.ts'
import { SuspendForm } from './suspend-form.tsx'

const ReinstateForm = ({ api, root, action }: { api: Api; root: SuspendedRoot; action: Action }) => {
  const { kind, name } = root
  return (
    <ReasonAction
      id={`reinstate-${kind}-${name}`}
      label="Reinstate"
      name={name}
      look="main"
      busy={action.busy}
      onSubmit={(reason) =>
        void action.run(`${name} is reinstated. Its credentials stay as they are.`, () =>
          api.call('POST', '/operator/roots/reinstate', { kind, name, reason }),
        )
      }
    />
  )
}

const SuspendedTable = (props: { api: Api; roots: readonly SuspendedRoot[]; action: Action }) => {
  const now = Date.now()
  return (
    <table class="stacked">
      <thead>
        <tr>
          <th scope="col">Root</th>
          <th scope="col">Reason</th>
          <th scope="col">Suspended, UTC</th>
          <th scope="col">
            <span class="hidden">Action</span>
          </th>
        </tr>
      </thead>
      <tbody>
        {props.roots.map((root) => (
          <tr key={`${root.kind} ${root.name}`}>
            <th scope="row" class="address">
              {rootKindText(root.kind)} <CopyId value={root.name} label="root" />
            </th>
            <td class="cut">{root.reason}</td>
            <td>
              <Moment at={root.suspendedAt} now={now} />
              {root.from === null ? null : (
                <div class="small muted">
                  what was checked before <Moment at={root.from} now={now} /> stays
                </div>
              )}
            </td>
            <td>
              <ReinstateForm api={props.api} root={root} action={props.action} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}

const SitesCard = ({ api, query }: { api: Api; query: URLSearchParams }) => {
  const after = query.get('sites') ?? undefined
  const loaded = useListPage<Sites>(api, '/operator/roots/sites', { limit: '50', after })
  const now = Date.now()
  const page = loaded.value
  return (
    <section class="card pad" aria-labelledby="sites">
      <h2 class="h3" id="sites">
        Sites with a network budget of their own
      </h2>
      <ListBody
        loaded={loaded}
        count={page?.sites.length}
        empty={
          <p class="muted gap">
            All sites share the default budget of each network. To give one its own, open it under{' '}
            <a href="#/agents">Agents</a> and choose “Change the network budget”.
          </p>
        }
      >
        <table class="stacked">
          <thead>
            <tr>
              <th scope="col">Site</th>
              <th scope="col" class="num">
                Factor
              </th>
              <th scope="col">Changed, UTC</th>
            </tr>
          </thead>
          <tbody>
            {page?.sites.map((site) => (
              <tr key={site.agentId}>
                <th scope="row">
                  <a class="id" href={hrefOf(['agents'], { agent: site.agentId })}>
                    {site.agentId}
                  </a>
                </th>
                <td class="num" data-label="Factor">
                  {site.factor}
                </td>
                <td>
                  <Moment at={site.changedAt} now={now} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </ListBody>
      {page && page.nextCursor !== null ? (
        <p class="gap">
          <a class="btn" href={hrefOf(['roots'], { sites: page.nextCursor })}>
            Show more sites
          </a>
        </p>
      ) : null}
    </section>
  )
}

const finding = ({ suspended, nextCursor }: SuspendedRoots): string =>
  suspended.length === 0
    ? 'No root is suspended'
    : `${nextCursor === null ? '' : 'More than '}${pluralize(suspended.length, 'root is', 'roots are')} suspended`

/** Page "Limits and roots": what no credential may rest on, and who has a budget of its own. */
export const RootsPage = ({ api, query }: PageProps) => {
  const cursor = query.get('cursor')
  const loaded = useListPage<SuspendedRoots>(api, '/operator/roots/suspended', {
    limit: '50',
    after: cursor ?? undefined,
  })
  const action = useAction(loaded.refetch)
  const page = loaded.value
  return (
    <>
      <PageHead name="Limits and roots" finding={page ? finding(page) : undefined}>
        A root is what a credential above low rests on: a model of authenticator, an app, a payout account or
        an issuer. No new credential rests on a suspended root.
      </PageHead>
      <ActionResult message={action.message} error={action.error} />
      <ListBody
        loaded={loaded}
        count={page?.suspended.length}
        empty={
          <p class="card pad muted">
            Suspend a root below when its model, app or issuer is known to be broken or abused.
          </p>
        }
      >
        <section class="card pad" aria-label="Suspended roots">
          <SuspendedTable api={api} roots={page?.suspended ?? []} action={action} />
        </section>
      </ListBody>
      <Pager path="roots" values={{}} cursor={cursor} nextCursor={page?.nextCursor ?? null} isOldestFirst />
      <div class="two">
        <SuspendForm api={api} action={action} />
        <SitesCard api={api} query={query} />
      </div>
    </>
  )
}
