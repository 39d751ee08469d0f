import type { Api } from '../../shared/api/client.ts'
import type { Action } from '../../shared/api/use-action.ts'
import { useQuery } from '../../shared/api/use-query.ts'
import { ErrorNote } from '../../shared/design/components.tsx'
import { CopyId } from '../../shared/design/copy-id.tsx'
import { Drawer } from '../../shared/design/drawer.tsx'
import type { Campaign, CampaignDetails } from '../wire.ts'
import { campaignLabels } from './messages.ts'

const ResultRow = ({ result }: { result: CampaignDetails['results'][number] }) => (
  <li>
    <span class="block">{result.prompt}</span>
    <span class="small muted block">
      {result.options.map((option, index) => `${option}: ${result.counts[index] ?? 0}`).join(', ')}
    </span>
    {result.knownAnswer !== null ? (
      <span class="chip">known: {result.knownAnswer}</span>
    ) : result.state === 'agreed' ? (
      <span class="chip ok">agreed: {result.answer}</span>
    ) : result.state === 'disagreed' ? (
      <span class="chip warn">no agreement</span>
    ) : null}
  </li>
)

/** What can be done with a campaign in each state. */
const stepsOf: Readonly<Record<Campaign['status'], readonly (readonly [Campaign['status'], string])[]>> = {
  active: [
    ['paused', 'Pause'],
    ['ended', 'End and return the budget'],
  ],
  paused: [
    ['active', 'Resume'],
    ['ended', 'End and return the budget'],
  ],
  ended: [],
}

/** One campaign: its budget, its questions with their answers, and the next step. */
export const CampaignDrawer = (props: {
  api: Api
  campaign: Campaign
  action: Action
  onStatus: (status: Campaign['status']) => void
}) => {
  const { api, campaign, action } = props
  const path = `/api/agents/campaigns/${campaign.campaignId}?limit=100`
  const details = useQuery(() => api.call<CampaignDetails>('GET', path), path + campaign.changedAt)
  const { word, tone } = campaignLabels[campaign.status]
  return (
    <Drawer
      title={
        <>
          {campaign.name} <span class={`chip ${tone}`}>{word}</span>
        </>
      }
      onClose={() => (location.hash = '#/tasks')}
    >
      {action.error ? <ErrorNote error={action.error} /> : null}
      <p>
        <CopyId value={campaign.campaignId} label="campaign" />
      </p>
      <p class="gap">
        {campaign.remainingStars} of {campaign.budgetStars} Stars left, {campaign.heldStars} held for answers
        that wait. {campaign.rewardStars} for each right answer; {campaign.agreement} people must agree.
      </p>
      <p class="actions">
        {stepsOf[campaign.status].map(([status, label]) => (
          <button
            key={status}
            type="button"
            class="btn"
            disabled={action.busy}
            onClick={() => props.onStatus(status)}
          >
            {label}
          </button>
        ))}
      </p>
      <h3>Questions</h3>
      {details.error ? <ErrorNote error={details.error} onRetry={details.refetch} /> : null}
      <ul class="plainlist lines">
        {(details.value?.results ?? []).map((result) => (
          <ResultRow key={result.n} result={result} />
        ))}
      </ul>
    </Drawer>
  )
}
