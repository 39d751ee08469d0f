import type { OperatorWorkflow } from '@pohf/protocol'
import type { Api } from '../../shared/api/client.ts'
import { useQuery, type QueryState } from '../../shared/api/use-query.ts'
import { formatUsd } from '../../shared/orders/messages.ts'
import { Skeleton, ErrorNote } from '../../shared/design/components.tsx'
import { hrefOf } from '../../shared/shell/router.ts'
import { pluralize } from '../../shared/design/time.ts'
import { WorkflowEditor } from './editor.tsx'

type Workflows = { readonly workflows: readonly OperatorWorkflow[] }

const Card = ({ workflow }: { workflow: OperatorWorkflow }) => (
  <li class="card pad endpoint">
    <div>
      <span class={`chip ${workflow.active ? 'ok' : ''}`}>{workflow.active ? 'offered' : 'retired'}</span>
      <h2 class="h3 address">
        <a href={hrefOf(['workflows', workflow.workflowId])}>{workflow.title}</a>
      </h2>
      <p class="muted">{workflow.description}</p>
      <p class="small faint">
        <code>{workflow.workflowId}</code> · {workflow.category} ·{' '}
        {pluralize(workflow.answerForm.length, 'question')} ·{' '}
        {pluralize(workflow.gold.length, 'known-answer item')}
      </p>
    </div>
    <dl class="facts">
      <div>
        <dt>Price of a unit</dt>
        <dd class="num">{formatUsd(workflow.priceUsd)}</dd>
      </div>
      <div>
        <dt>Reward</dt>
        <dd class="num">{pluralize(workflow.rewardStars, 'Star')}</dd>
      </div>
      <div>
        <dt>In stock</dt>
        <dd class="num">
          {workflow.stock.live ?? 0} live, {workflow.stock.test ?? 0} test
        </dd>
      </div>
    </dl>
  </li>
)

const headlineOf = (workflows: readonly OperatorWorkflow[]): string => {
  const offered = workflows.filter(({ active }) => active).length
  if (offered === 0) return 'No workflow is offered. Buyers can place only custom orders.'
  return `${pluralize(offered, 'workflow is', 'workflows are')} offered to every agent.`
}

const ListView = ({ loaded }: { loaded: QueryState<Workflows> }) => {
  const workflows = loaded.value?.workflows
  return (
    <>
      <h1>Workflows</h1>
      <p class="lead muted" role="status">
        {workflows ? headlineOf(workflows) : ' '}
      </p>
      {loaded.error ? <ErrorNote error={loaded.error} onRetry={loaded.refetch} /> : null}
      {workflows === undefined && loaded.slow ? <Skeleton /> : null}
      {workflows ? (
        <>
          <p class="acts below">
            <a class="btn main" href={hrefOf(['workflows', 'new'])}>
              Write a workflow
            </a>
          </p>
          <ul class="endpoints">
            {workflows.map((workflow) => (
              <Card key={workflow.workflowId} workflow={workflow} />
            ))}
          </ul>
        </>
      ) : null}
    </>
  )
}

const WorkflowView = ({ api, loaded, id }: { api: Api; loaded: QueryState<Workflows>; id: string }) => {
  const workflow = loaded.value?.workflows.find(({ workflowId }) => workflowId === id)
  const isNew = id === 'new'
  return (
    <>
      <p class="small">
        <a href={hrefOf(['workflows'])}>All workflows</a>
      </p>
      {loaded.error ? <ErrorNote error={loaded.error} onRetry={loaded.refetch} /> : null}
      {!loaded.value && loaded.slow ? <Skeleton /> : null}
      {isNew || workflow ? (
        <>
          <h1>{workflow?.title ?? 'New workflow'}</h1>
          <p class="lead muted">
            {workflow ? (
              <>
                <span class={`chip ${workflow.active ? 'ok' : ''}`}>
                  {workflow.active ? 'offered' : 'retired'}
                </span>{' '}
                Changes apply to new orders.
              </>
            ) : (
              'Describe the work, what workers see and what they answer.'
            )}
          </p>
          <WorkflowEditor api={api} workflow={workflow} onChanged={loaded.refetch} />
        </>
      ) : null}
      {loaded.value && !isNew && !workflow ? <p class="lead">There is no workflow with this id.</p> : null}
    </>
  )
}

/** Page "Workflows": what is offered, or one of them to change. */
export const WorkflowsPage = ({ api, rest }: { api: Api; rest: readonly string[] }) => {
  const loaded = useQuery(() => api.call<Workflows>('GET', '/operator/workflows'), 'workflows')
  return rest[0] === undefined ? (
    <ListView loaded={loaded} />
  ) : (
    <WorkflowView key={rest[0]} api={api} loaded={loaded} id={rest[0]} />
  )
}
