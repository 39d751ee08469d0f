import { agentCall, agentFetch, type AgentRemote } from '../command/agent.ts'
import { UsageError } from '../command/errors.ts'
import { readText } from '../command/files.ts'
import { printAnswer } from '../command/output.ts'
import { refusalOf } from '../command/requests.ts'

type Campaign = {
  readonly campaignId: string
  readonly name: string
  readonly status: string
  readonly remainingStars: number
  readonly budgetStars: number
  readonly answers: number
  readonly questions: { readonly total: number; readonly agreed: number }
}
const pathOf = (campaignId: string) => `/api/agents/campaigns/${encodeURIComponent(campaignId)}`
const lineOf = ({ campaignId, status, name, questions, ...campaign }: Campaign): string =>
  `${campaignId}  ${status}  ${questions.agreed} of ${questions.total} agreed  ${campaign.answers} answers  ${campaign.remainingStars} of ${campaign.budgetStars} Stars left  ${name}`

/** `pohf tasks list`. */
export const list = async (remote: AgentRemote): Promise<void> => {
  const answer = await agentCall<{ campaigns: Campaign[] }>(remote, 'GET', '/api/agents/campaigns?limit=100')
  printAnswer(remote, answer, () => {
    if (answer.campaigns.length === 0)
      console.log('No campaign. Create one: pohf tasks create questions.json')
    for (const campaign of answer.campaigns) console.log(lineOf(campaign))
  })
}

type CreateOptions = AgentRemote & {
  readonly name: string
  readonly rewardStars?: string
  readonly agreement?: string
  readonly budgetStars?: string
  readonly idempotencyKey?: string
}
const readQuestions = (file: string): unknown => {
  try {
    return JSON.parse(readText(file))
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error
    throw new UsageError(`${file} is not JSON.`, 'Write an array of {"prompt", "options", "answer"}.')
  }
}
/** `pohf tasks create`. */
export const create = async (file: string, options: CreateOptions): Promise<void> => {
  const numbers = {
    rewardStars: options.rewardStars,
    agreement: options.agreement,
    budgetStars: options.budgetStars,
  }
  const body = {
    name: options.name,
    questions: readQuestions(file),
    ...Object.fromEntries(
      Object.entries(numbers).flatMap(([name, text]) => (text === undefined ? [] : [[name, Number(text)]])),
    ),
  }
  const { idempotencyKey } = options
  const campaign = await agentCall<Campaign>(options, 'POST', '/api/agents/campaigns', {
    body,
    idempotencyKey,
  })
  printAnswer(options, campaign, () => console.log(lineOf(campaign)))
}

/** `pohf tasks show`. */
export const show = async (campaignId: string, remote: AgentRemote): Promise<void> => {
  const answer = await agentCall<Campaign>(remote, 'GET', `${pathOf(campaignId)}?limit=100`)
  printAnswer(remote, answer, () => console.log(JSON.stringify(answer, null, 2)))
}

/** `pohf tasks pause`, `resume` and `end`. */
export const change = async (campaignId: string, status: string, remote: AgentRemote): Promise<void> => {
  const campaign = await agentCall<Campaign>(remote, 'PATCH', pathOf(campaignId), { body: { status } })
  printAnswer(remote, campaign, () => console.log(lineOf(campaign)))
}

/** `pohf partner statement`: the CSV as it comes. */
export const statement = async (
  remote: AgentRemote & { readonly since: string; readonly until: string },
): Promise<void> => {
  const query = new URLSearchParams({ since: remote.since, until: remote.until })
  const response = await agentFetch(remote, `/api/partner/statement?${query.toString()}`)
  const text = await response.text()
  if (!response.ok) throw await refusalOf(response, text)
  process.stdout.write(text)
}
