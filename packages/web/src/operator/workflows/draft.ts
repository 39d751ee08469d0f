import type { OperatorWorkflow, WorkflowTerms } from '@pohf/protocol'
import { nonEmptyLines, normalizeField } from '../forms.ts'

/** A workflow as it is being written: figures are text until they are sent. */
export type Draft = Pick<
  WorkflowTerms,
  'title' | 'description' | 'category' | 'datasetOptin' | 'inputForm' | 'answerForm' | 'gold'
> & {
  readonly workflowId: string
  readonly steps: string
  readonly estMinutes: string
  readonly rewardStars: string
  readonly webcamBonus: string
  readonly priceUsd: string
}

export const newDraft: Draft = {
  workflowId: 'wf_',
  title: '',
  description: '',
  category: '',
  datasetOptin: false,
  steps: '',
  estMinutes: '2',
  rewardStars: '25',
  webcamBonus: '0',
  priceUsd: '0.50',
  inputForm: [],
  answerForm: [{ name: 'answer', label: 'Answer', type: 'line', required: true, maxLength: 200 }],
  gold: [],
}

export const draftOf = (workflow: OperatorWorkflow): Draft => ({
  ...workflow,
  steps: workflow.steps.join('\n'),
  estMinutes: String(workflow.estMinutes),
  rewardStars: String(workflow.rewardStars),
  webcamBonus: String(workflow.webcamBonus),
  priceUsd: String(workflow.priceUsd),
})

/** The values whose fields still exist. */
const pickFormValues = (values: unknown, fields: readonly { readonly name: string }[]): unknown => {
  if (typeof values !== 'object' || values === null || Array.isArray(values)) return values
  const names = new Set(fields.map(({ name }) => name))
  return Object.fromEntries(Object.entries(values).filter(([name]) => names.has(name)))
}

export const termsOf = (draft: Draft): WorkflowTerms => ({
  title: draft.title.trim(),
  description: draft.description.trim(),
  steps: nonEmptyLines(draft.steps),
  estMinutes: Number(draft.estMinutes),
  rewardStars: Number(draft.rewardStars),
  webcamBonus: Number(draft.webcamBonus),
  datasetOptin: draft.datasetOptin,
  category: draft.category.trim(),
  priceUsd: Number(draft.priceUsd),
  inputForm: draft.inputForm,
  answerForm: draft.answerForm.map(normalizeField),
  gold: draft.gold.map(({ input, answer }) => ({
    input: pickFormValues(input, draft.inputForm),
    answer: pickFormValues(answer, draft.answerForm),
  })),
})
