import type { OperatorWorkflow } from '@pohf/protocol'
import type { Api } from '../../shared/api/client.ts'
import { useLoaded, type Loaded } from '../../shared/api/use-query.ts'
import { usdOf } from '../../shared/orders/messages.ts'
import { Bones, TroubleNote } from '../../shared/design/components.tsx'
import { hrefOf } from '../../shared/shell/router.ts'
import { counted } from '../../shared/design/time.ts'
import { Editor } from './editor.tsx'

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
        {counted(workflow.answerForm.length, 'question')} · {counted(workflow.gold.length, 'known item')}
      </p>
    </div>
    <dl class="facts">
      <div>
        <dt>A unit</dt>
        <dd class="num">{usdOf(workflow.priceUsd)}</dd>
      </div>
      <div>
        <dt>To a person</dt>
        <dd class="num">{counted(workflow.rewardStars, 'Star')}</dd>
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
  if (offered === 0) return 'Nothing is offered. Buyers can only order in their own words.'
  return `${counted(offered, 'workflow is', 'workflows are')} offered to every agent.`
}

const ListView = ({ loaded }: { loaded: Loaded<Workflows> }) => {
  const workflows = loaded.value?.workflows
  return (
    <>
      <h1>Workflows</h1>
      <p class="lead muted" role="status">
        {workflows ? headlineOf(workflows) : ' '}
      </p>
      {loaded.trouble ? <TroubleNote trouble={loaded.trouble} onRetry={loaded.again} /> : null}
      {workflows === undefined && loaded.slow ? <Bones /> : null}
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

const OneView = ({ api, loaded, id }: { api: Api; loaded: Loaded<Workflows>; id: string }) => {
  const workflow = loaded.value?.workflows.find(({ workflowId }) => workflowId === id)
  const isNew = id === 'new'
  return (
    <>
      <p class="small">
        <a href={hrefOf(['workflows'])}>All workflows</a>
      </p>
      {loaded.trouble ? <TroubleNote trouble={loaded.trouble} onRetry={loaded.again} /> : null}
      {!loaded.value && loaded.slow ? <Bones /> : null}
      {isNew || workflow ? (
        <>
          <h1>{workflow?.title ?? 'A new workflow'}</h1>
          <p class="lead muted">
            {workflow ? (
              <>
                <span class={`chip ${workflow.active ? 'ok' : ''}`}>
                  {workflow.active ? 'offered' : 'retired'}
                </span>{' '}
                What you change holds for orders from now on.
              </>
            ) : (
              'Say what people do, what they see and what they are asked.'
            )}
          </p>
          <Editor api={api} workflow={workflow} onChanged={loaded.again} />
        </>
      ) : null}
      {loaded.value && !isNew && !workflow ? <p class="lead">There is no workflow with this id.</p> : null}
    </>
  )
}

/** Page "Workflows": what is offered, or one of them to change. */
export const WorkflowsPage = ({ api, rest }: { api: Api; rest: readonly string[] }) => {
  const loaded = useLoaded(() => api.call<Workflows>('GET', '/operator/workflows'), 'workflows')
  return rest[0] === undefined ? (
    <ListView loaded={loaded} />
  ) : (
    <OneView key={rest[0]} api={api} loaded={loaded} id={rest[0]} />
  )
}
