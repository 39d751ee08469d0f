import { CopyId } from '../../shared/design/copy-id.tsx'
import { Commands } from '../../shared/design/components.tsx'
import { Moment } from '../../shared/design/moment.tsx'
import { PageHead } from '../../shared/design/page-head.tsx'
import { pluralize } from '../../shared/design/time.ts'
import { filterValues, type Filter } from '../../shared/lists/filter.ts'
import { Filters } from '../../shared/lists/filters.tsx'
import { FindForm } from '../../shared/lists/find-form.tsx'
import { ListBody, NoMatch, Pager, stepThroughRows, useListPage } from '../../shared/lists/list-view.tsx'
import type { PageProps } from '../../shared/shell/frame.tsx'
import { hrefOf } from '../../shared/shell/router.ts'
import type { AgentPage, ListedAgent } from '../wire.ts'
import { AgentDrawer } from './agent.tsx'

const filters: readonly Filter[] = [
  {
    name: 'mode',
    label: 'Mode',
    options: [
      ['', 'Any mode'],
      ['live', 'Live'],
      ['test', 'Test'],
    ],
  },
  {
    name: 'state',
    label: 'State',
    options: [
      ['', 'Any state'],
      ['suspended', 'Suspended'],
      ['unconfirmed', 'Address not confirmed'],
    ],
  },
]
const filterNames = ['search', ...filters.map(({ name }) => name)]

const StateChip = ({ agent }: { agent: ListedAgent }) =>
  agent.suspended ? (
    <span class="chip stop">suspended</span>
  ) : agent.emailConfirmed ? (
    <span class="chip ok">active</span>
  ) : (
    <span class="chip warn">address not confirmed</span>
  )

const AgentTable = (props: { agents: readonly ListedAgent[]; hrefOfAgent: (agentId: string) => string }) => {
  const now = Date.now()
  return (
    <section class="card pad" aria-label="Agents">
      <table class="stacked">
        <thead>
          <tr>
            <th scope="col">Agent</th>
            <th scope="col">Id</th>
            <th scope="col">Mode</th>
            <th scope="col">State</th>
            <th scope="col">Registered, UTC</th>
          </tr>
        </thead>
        <tbody onKeyDown={stepThroughRows}>
          {props.agents.map((agent) => (
            <tr key={agent.agentId}>
              <th scope="row" class="address">
                <a href={props.hrefOfAgent(agent.agentId)}>{agent.name}</a>
              </th>
              <td>
                <CopyId value={agent.agentId} label="agent" />
              </td>
              <td>
                <span class={`chip ${agent.mode === 'test' ? 'test' : ''}`}>{agent.mode}</span>
              </td>
              <td>
                <StateChip agent={agent} />
              </td>
              <td>
                <Moment at={agent.createdAt} now={now} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  )
}

const NoAgents = () => (
  <section class="card pad">
    <p class="muted">No agent has registered yet. This command registers one for a test:</p>
    <Commands
      text={`curl -s BASE_URL/api/agents/register \\
  -H 'Content-Type: application/json' \\
  -d '{"name":"me","mode":"test","contactEmail":"me@example.com"}'`.replace(
        'BASE_URL',
        document.querySelector<HTMLMetaElement>('meta[name="pohf-issuer"]')?.content ?? '',
      )}
      label="Command that registers an agent"
    />
  </section>
)

const finding = ({ agents, nextCursor }: AgentPage, search: string | undefined, isFiltered: boolean) => {
  const count = `${nextCursor === null ? '' : 'More than '}${pluralize(agents.length, 'agent')}`
  if (search !== undefined) return agents.length === 0 ? 'No agent found' : `${count} found`
  if (isFiltered) return agents.length === 0 ? 'No agent matches' : `${count} on this page`
  return agents.length === 0 ? 'No agent yet' : 'Agents, newest first'
}

/** Page "Agents": find an agent, and decide about it. */
export const AgentsPage = ({ api, query }: PageProps) => {
  const values = filterValues(query, filterNames)
  const cursor = query.get('cursor')
  const chosen = query.get('agent')
  const loaded = useListPage<AgentPage>(api, '/operator/agents', {
    limit: '50',
    order: 'newest',
    ...values,
    after: cursor ?? undefined,
  })
  const page = loaded.value
  const isFiltered = Object.values(values).some((value) => value !== undefined) || cursor !== null
  const here = { ...values, cursor: cursor ?? undefined }
  return (
    <>
      <PageHead name="Agents" finding={page ? finding(page, values['search'], isFiltered) : undefined}>
        Search by the beginning of a name, a whole mail address or an agent id.
      </PageHead>
      <div class="listhead">
        <Filters path="agents" query={query} filters={filters} also={['search']} />
        <FindForm
          key={values['search'] ?? ''}
          label="Name, mail address or id"
          placeholder="agt_…"
          initial={values['search'] ?? ''}
          onFind={(search) =>
            (location.hash = hrefOf(['agents'], { ...values, search: search === '' ? undefined : search }))
          }
        />
      </div>
      <ListBody
        loaded={loaded}
        count={page?.agents.length}
        empty={
          isFiltered ? (
            <NoMatch what="agents" hasMore={page !== undefined && page.nextCursor !== null} />
          ) : (
            <NoAgents />
          )
        }
      >
        <AgentTable
          agents={page?.agents ?? []}
          hrefOfAgent={(agent) => hrefOf(['agents'], { ...here, agent })}
        />
      </ListBody>
      <Pager path="agents" values={values} cursor={cursor} nextCursor={page?.nextCursor ?? null} />
      {chosen === null ? null : (
        <AgentDrawer
          key={chosen}
          api={api}
          agentId={chosen}
          onClose={() => (location.hash = hrefOf(['agents'], here))}
        />
      )}
    </>
  )
}
