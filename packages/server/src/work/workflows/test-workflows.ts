import type { Workflow } from '@pohf/protocol'
import { builtInWorkflows } from './built-in.ts'
import type { WorkflowTerms } from '../store.ts'

/** The rehearsal: always in stock on a test network, whatever the tables hold. 1 cent is below every stock client's cap. */
const rehearsal: Workflow = {
  id: 'wf_test_ok',
  title: 'Rehearsal',
  description: 'A unit that is always in stock on a test network. It proves nothing and is marked as a test.',
  steps: ['Ask for the challenge', 'Sign the authorization', 'Call again with the payment'],
  estMinutes: 1,
  rewardStars: 0,
  webcamBonus: 0,
  datasetOptin: false,
  category: 'sandbox',
  priceUsd: 0.01,
  inputForm: [],
  answerForm: [{ name: 'ok', label: 'Did you see this?', type: 'yes_no', required: true }],
}

/** What a deployment on loopback offers, so that a first try finds something. */
export const seeds: readonly WorkflowTerms[] = [{ ...rehearsal, gold: [] }, ...builtInWorkflows]

type Ending = 'settles' | 'times_out' | 'fails'
const endings: Readonly<Record<string, Ending>> = {
  wf_test_ok: 'settles',
  wf_test_settle_timeout: 'times_out',
  wf_test_settle_fail: 'fails',
}

/** The unit behind a magic id and how its settlement shall end; undefined for every other id. */
export const findRehearsal = (workflowId: string): { workflow: Workflow; ending: Ending } | undefined => {
  const ending = Object.hasOwn(endings, workflowId) ? endings[workflowId] : undefined
  return ending && { workflow: { ...rehearsal, id: workflowId }, ending }
}

/** The names of rehearsals: no main network sells anything under them. */
export const isRehearsalId = (workflowId: string): boolean => workflowId.startsWith('wf_test_')
