import type { Workflow } from '@pohf/protocol'

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
}

/** What a deployment on loopback offers, so that a first try finds something. At most 1 USD a unit. */
export const seeds: readonly Workflow[] = [
  rehearsal,
  {
    id: 'wf_photo_label',
    title: 'Name what a photo shows',
    description: 'A person looks at one photo and names its main subject in up to five words.',
    steps: ['Open the photo', 'Look for at least five seconds', 'Write what it shows'],
    estMinutes: 1,
    rewardStars: 25,
    webcamBonus: 10,
    datasetOptin: false,
    category: 'labeling',
    priceUsd: 0.5,
  },
  {
    id: 'wf_text_review',
    title: 'Judge a short text',
    description: 'A person reads a text of up to 200 words and says if it is clear, correct and polite.',
    steps: [
      'Read the text once',
      'Read it again',
      'Answer the three questions',
      'Give one sentence of reason',
    ],
    estMinutes: 2,
    rewardStars: 50,
    webcamBonus: 20,
    datasetOptin: false,
    category: 'review',
    priceUsd: 1,
  },
]

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
