import { useAction } from '../../shared/api/use-action.ts'
import { ActionResult, Commands } from '../../shared/design/components.tsx'
import { Moment } from '../../shared/design/moment.tsx'
import { PageHead } from '../../shared/design/page-head.tsx'
import { ListBody, Pager, useListPage } from '../../shared/lists/list-view.tsx'
import type { PageProps } from '../../shared/shell/frame.tsx'
import { hrefOf } from '../../shared/shell/router.ts'
import { useProfile } from '../profile.ts'
import type { Campaign, Campaigns } from '../wire.ts'
import { CampaignDrawer } from './campaign.tsx'
import { CampaignForm } from './create-form.tsx'
import { campaignLabels, campaignsFinding, progressOf } from './messages.ts'

const snippet = (origin: string, agentId: string): string =>
  `<script async src="${origin}/task.js"></script>
<pohf-task site="${agentId}" visitor="TOKEN_OF_THE_MEMBER"></pohf-task>`
const visitorCommands = (origin: string): string => `curl -s ${origin}/api/agents/tasks/visitor \\
  -H "Authorization: Bearer $POHF_KEY" \\
  -H 'Content-Type: application/json' \\
  -d '{"memberId":"MEMBER_WHO_IS_SIGNED_IN"}'`

const CampaignRow = ({ campaign, href, now }: { campaign: Campaign; href: string; now: number }) => {
  const { word, tone } = campaignLabels[campaign.status]
  return (
    <tr>
      <th scope="row">
        <a href={href}>{campaign.name}</a>
      </th>
      <td>
        <span class={`chip ${tone}`}>{campaign.exhausted ? 'out of budget' : word}</span>
      </td>
      <td data-label="Questions">{progressOf(campaign)}</td>
      <td class="num wide-only">{campaign.answers}</td>
      <td class="num" data-label="Stars left">
        {campaign.remainingStars} of {campaign.budgetStars}
      </td>
      <td class="wide-only">
        <Moment at={campaign.createdAt} now={now} />
      </td>
    </tr>
  )
}

const CampaignTable = (props: {
  campaigns: readonly Campaign[]
  hrefOfCampaign: (campaignId: string) => string
}) => {
  const now = Date.now()
  return (
    <section class="card pad" aria-label="Campaigns">
      <table class="stacked">
        <thead>
          <tr>
            <th scope="col">Campaign</th>
            <th scope="col">State</th>
            <th scope="col">Questions</th>
            <th scope="col" class="num wide-only">
              Answers
            </th>
            <th scope="col" class="num">
              Stars left
            </th>
            <th scope="col" class="wide-only">
              Since, UTC
            </th>
          </tr>
        </thead>
        <tbody>
          {props.campaigns.map((campaign) => (
            <CampaignRow
              key={campaign.campaignId}
              campaign={campaign}
              href={props.hrefOfCampaign(campaign.campaignId)}
              now={now}
            />
          ))}
        </tbody>
      </table>
    </section>
  )
}

const SnippetCard = ({ agentId }: { agentId: string }) => (
  <section class="card pad" aria-labelledby="task-snippet">
    <h2 class="h3" id="task-snippet">
      Put tasks into your page
    </h2>
    <p class="muted gap">Without a visitor anybody can answer, and nobody is paid.</p>
    <Commands text={snippet(location.origin, agentId)} label="Snippet for your page" />
    <p class="muted gap">Your server asks for the visitor when a member of yours is signed in:</p>
    <Commands text={visitorCommands(location.origin)} label="Command that names a visitor" />
  </section>
)

/** Page "Tasks": campaigns of micro-tasks, their budgets and answers, and the snippet. */
export const TasksPage = ({ api, query, rest }: PageProps) => {
  const cursor = query.get('cursor')
  const here = { cursor: cursor ?? undefined }
  const loaded = useListPage<Campaigns>(api, '/api/agents/campaigns', {
    limit: '25',
    ...here,
  })
  const profile = useProfile(api)
  const action = useAction(loaded.refetch)
  const page = loaded.value
  const shown = page?.campaigns.find(({ campaignId }) => campaignId === rest[0])
  const change = (campaignId: string, status: Campaign['status']) =>
    action.run('The campaign was changed.', () =>
      api.call('PATCH', `/api/agents/campaigns/${campaignId}`, { status }),
    )
  return (
    <>
      <PageHead
        name="Tasks"
        finding={page ? campaignsFinding(page.campaigns, { cursor, nextCursor: page.nextCursor }) : undefined}
      >
        Small questions for the visitors of your page. Known answers and agreement between people decide which
        answers count.
      </PageHead>
      <ActionResult message={action.message} error={shown ? undefined : action.error} />
      <ListBody loaded={loaded} count={page?.campaigns.length} empty={null}>
        <CampaignTable
          campaigns={page?.campaigns ?? []}
          hrefOfCampaign={(campaignId) => hrefOf(['tasks', campaignId], here)}
        />
        <Pager path="tasks" values={{}} cursor={cursor} nextCursor={page?.nextCursor ?? null} />
      </ListBody>
      {page && profile.value ? (
        <div class="two">
          <CampaignForm
            busy={action.busy}
            onCreate={(campaign, key) =>
              action.run('The campaign is active.', () =>
                api.call('POST', '/api/agents/campaigns', campaign, key),
              )
            }
          />
          <SnippetCard agentId={profile.value.agentId} />
        </div>
      ) : null}
      {shown ? (
        <CampaignDrawer
          api={api}
          campaign={shown}
          action={action}
          onStatus={(status) => void change(shown.campaignId, status)}
          onClose={() => (location.hash = hrefOf(['tasks'], here))}
        />
      ) : null}
    </>
  )
}
