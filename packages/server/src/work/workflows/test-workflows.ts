import type { Workflow } from '@pohf/protocol'
import { builtInWorkflows } from './built-in.ts'
import type { WorkflowTerms } from './store.ts'

/** Always in stock on a test network, without rows. 1 cent is below the default spending limit of x402 clients. */
const testWorkflow: Workflow = {
  id: 'wf_test_ok',
  title: 'Test purchase',
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

/** What a deployment on loopback offers from the start. */
export const seedWorkflowTerms: readonly WorkflowTerms[] = [
  { ...testWorkflow, gold: [] },
  ...builtInWorkflows,
]

type TestOutcome = 'settles' | 'times_out' | 'fails'
const testOutcomes: Readonly<Record<string, TestOutcome>> = {
  wf_test_ok: 'settles',
  wf_test_settle_timeout: 'times_out',
  wf_test_settle_fail: 'fails',
}

/** The test workflow with this id and the outcome of its settlement; undefined for every other id. */
export const findTestWorkflow = (
  workflowId: string,
): { workflow: Workflow; outcome: TestOutcome } | undefined => {
  const outcome = Object.hasOwn(testOutcomes, workflowId) ? testOutcomes[workflowId] : undefined
  return outcome && { workflow: { ...testWorkflow, id: workflowId }, outcome }
}

/** Ids of test workflows: no main network sells under them. */
export const isTestWorkflowId = (workflowId: string): boolean => workflowId.startsWith('wf_test_')
