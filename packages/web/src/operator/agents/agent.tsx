import type { Api } from '../../shared/api/client.ts'
import { useAction } from '../../shared/api/use-action.ts'
import { useQuery } from '../../shared/api/use-query.ts'
import { ActionResult, ErrorNote, Skeleton } from '../../shared/design/components.tsx'
import { CopyId } from '../../shared/design/copy-id.tsx'
import { Drawer } from '../../shared/design/drawer.tsx'
import { Moment } from '../../shared/design/moment.tsx'
import { pluralize } from '../../shared/design/time.ts'
import { formatCount } from '../../shared/plots/scale.ts'
import { hrefOf } from '../../shared/shell/router.ts'
import { Facts } from '../facts.tsx'
import type { AgentDetails } from '../wire.ts'
import { AppsSection } from './apps.tsx'
import { BudgetForm, ConfirmForm, CreditsForm, LimitForm, type AgentFormProps } from './forms.tsx'
import { SuspendForm } from './suspend-form.tsx'

const AgentFacts = ({ agent, now }: { agent: AgentDetails; now: number }) => (
  <Facts
    rows={[
      ['Agent', <CopyId value={agent.agentId} label="agent" />],
      ['Mail address', <CopyId value={agent.contactEmail} label="mail address" />],
      ['Address confirmed', agent.emailConfirmed ? 'yes' : 'no'],
      ['Registered, UTC', <Moment at={agent.createdAt} now={now} />],
      ...(agent.suspendedAt === null
        ? []
        : [['Suspended, UTC', <Moment at={agent.suspendedAt} now={now} />] as const]),
      ['Credits', <span class="num">{formatCount(agent.credits)}</span>],
      [
        'May still convert',
        agent.limitStars === null ? 'no limit in test mode' : pluralize(agent.limitStars, 'Star'),
      ],
      [
        'Network budget',
        agent.networkFactor === null
          ? 'the default, shared with other sites'
          : `its own, ${agent.networkFactor} times the default`,
      ],
    ]}
  />
)

/** What an operator can do with an agent. Each form is folded, so that the facts stay in view. */
const AgentActions = (props: AgentFormProps) => (
  <>
    <CreditsForm {...props} />
    {props.agent.mode === 'live' ? <LimitForm {...props} /> : null}
    <BudgetForm {...props} />
    <AppsSection {...props} />
    {props.agent.emailConfirmed ? null : <ConfirmForm {...props} />}
    <SuspendForm key={String(props.agent.suspended)} {...props} />
  </>
)

/** One agent: its facts and what operators decide about it. */
export const AgentDrawer = (props: { api: Api; agentId: string; onClose: () => void }) => {
  const { api, agentId } = props
  const path = `/operator/agents/${encodeURIComponent(agentId)}`
  const loaded = useQuery(() => api.call<AgentDetails>('GET', path), path, 10_000)
  const action = useAction(loaded.refetch)
  const agent = loaded.value
  return (
    <Drawer
      title={
        <>
          {agent?.name ?? 'Agent'}
          {agent ? <span class={`chip ${agent.mode === 'test' ? 'test' : ''}`}>{agent.mode}</span> : null}
          {agent?.suspended ? <span class="chip stop">suspended</span> : null}
        </>
      }
      onClose={props.onClose}
    >
      {loaded.error ? <ErrorNote error={loaded.error} onRetry={loaded.refetch} /> : null}
      {agent === undefined && loaded.slow ? <Skeleton /> : null}
      <ActionResult message={action.message} error={action.error} />
      {agent ? (
        <>
          <AgentFacts agent={agent} now={Date.now()} />
          <AgentActions api={api} agent={agent} action={action} path={path} />
          <p>
            <a href={hrefOf(['audit'], { target: agent.agentId })}>What operators did with this agent</a>
          </p>
        </>
      ) : null}
    </Drawer>
  )
}
