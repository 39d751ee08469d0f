import { useState } from 'preact/hooks'
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

type StepProps = {
  readonly campaign: Campaign
  readonly busy: boolean
  readonly onStatus: (status: Campaign['status']) => void
}
/** What can be done with a campaign. The end is final, so it takes two clicks. */
const Steps = ({ campaign: { status }, busy, onStatus }: StepProps) =>
  status === 'ended' ? null : (
    <>
      <p class="actions">
        <button
          type="button"
          class="btn"
          disabled={busy}
          onClick={() => onStatus(status === 'active' ? 'paused' : 'active')}
        >
          {status === 'active' ? 'Pause' : 'Resume'}
        </button>
      </p>
      <details class="gap">
        <summary>End the campaign</summary>
        <p class="muted gap">An ended campaign cannot be resumed. What is left of the budget returns.</p>
        <p class="actions">
          <button type="button" class="btn" disabled={busy} onClick={() => onStatus('ended')}>
            End and return the budget
          </button>
        </p>
      </details>
    </>
  )

const pageQuestions = 100
/** The questions with their answers, a page at a time. */
const Questions = ({ api, campaign }: { api: Api; campaign: Campaign }) => {
  const [after, setAfter] = useState(0)
  const path = `/api/agents/campaigns/${campaign.campaignId}?limit=${pageQuestions}&after=${after}`
  const details = useQuery(() => api.call<CampaignDetails>('GET', path), path + campaign.changedAt)
  const { results = [], nextAfter = null } = details.value ?? {}
  const { total } = campaign.questions
  return (
    <>
      <h3>{total <= pageQuestions ? 'Questions' : `Questions from ${after + 1} on, of ${total}`}</h3>
      {details.error ? <ErrorNote error={details.error} onRetry={details.refetch} /> : null}
      <ul class="plainlist lines">
        {results.map((result) => (
          <ResultRow key={result.n} result={result} />
        ))}
      </ul>
      {total <= pageQuestions ? null : (
        <p class="actions">
          <button type="button" class="btn" disabled={after === 0} onClick={() => setAfter(0)}>
            First questions
          </button>
          <button
            type="button"
            class="btn"
            disabled={nextAfter === null}
            onClick={() => setAfter(nextAfter ?? 0)}
          >
            Next questions
          </button>
        </p>
      )}
    </>
  )
}

/** One campaign: its budget, its questions with their answers, and the next step. */
export const CampaignDrawer = (props: {
  api: Api
  campaign: Campaign
  action: Action
  onStatus: (status: Campaign['status']) => void
  onClose: () => void
}) => {
  const { api, campaign, action } = props
  const { word, tone } = campaignLabels[campaign.status]
  return (
    <Drawer
      title={
        <>
          {campaign.name} <span class={`chip ${tone}`}>{word}</span>
        </>
      }
      onClose={props.onClose}
    >
      {action.error ? <ErrorNote error={action.error} /> : null}
      <p>
        <CopyId value={campaign.campaignId} label="campaign" />
      </p>
      <p class="gap">
        {campaign.remainingStars} of {campaign.budgetStars} Stars left, {campaign.heldStars} held for answers
        that wait. {campaign.rewardStars} for each right answer; {campaign.agreement} people must agree.
      </p>
      <Steps campaign={campaign} busy={action.busy} onStatus={props.onStatus} />
      <Questions api={api} campaign={campaign} />
    </Drawer>
  )
}
