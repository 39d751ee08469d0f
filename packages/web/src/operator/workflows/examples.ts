import { newDraft, type Draft } from './draft.ts'

type Example = { readonly name: string; readonly purpose: string; readonly draft: Draft }

/** Ready forms to begin with. Each can be offered as it is, and is better with known-answer items of your own. */
export const examples: readonly Example[] = [
  {
    name: 'Label a picture',
    purpose: 'One choice and a note for each picture. For training data and moderation.',
    draft: {
      ...newDraft,
      workflowId: 'wf_label_picture',
      title: 'Say what a picture shows',
      description: 'A person looks at a picture and chooses the label that fits best.',
      category: 'labelling',
      steps: 'Look at the whole picture.\nChoose the label that fits best.\nSay so if no label fits.',
      estMinutes: '1',
      rewardStars: '12',
      priceUsd: '0.25',
      inputForm: [{ name: 'picture', label: 'Picture', type: 'image', required: true }],
      answerForm: [
        {
          name: 'label',
          label: 'What does the picture show?',
          type: 'choice',
          required: true,
          options: ['A person', 'An animal', 'A thing', 'A place', 'Nothing of these'],
        },
        { name: 'note', label: 'Anything unusual?', type: 'line', required: false, maxLength: 200 },
      ],
    },
  },
  {
    name: 'Compare two answers',
    purpose: 'Which of two texts is better, and why. For the evaluation of language models.',
    draft: {
      ...newDraft,
      workflowId: 'wf_compare_answers',
      title: 'Compare two answers to a question',
      description:
        'A person reads a question and two answers, chooses the better one and explains the choice.',
      category: 'evaluation',
      steps:
        'Read the question.\nRead both answers to the end.\nChoose the better one and say why in a sentence.',
      estMinutes: '4',
      rewardStars: '60',
      priceUsd: '1.20',
      inputForm: [
        { name: 'question', label: 'Question', type: 'text', required: true },
        { name: 'first', label: 'First answer', type: 'text', required: true },
        { name: 'second', label: 'Second answer', type: 'text', required: true },
      ],
      answerForm: [
        {
          name: 'better',
          label: 'Which answer is better?',
          type: 'choice',
          required: true,
          options: ['The first', 'The second', 'Both are equally good', 'Both are useless'],
        },
        {
          name: 'quality',
          label: 'How good is the better one?',
          type: 'scale',
          required: true,
          steps: 5,
          ends: ['useless', 'excellent'],
        },
        { name: 'why', label: 'Why?', type: 'paragraph', required: true, maxLength: 1_000 },
      ],
    },
  },
  {
    name: 'Check a web page',
    purpose: 'Somebody opens a page and reports what works. For monitoring and usability.',
    draft: {
      ...newDraft,
      workflowId: 'wf_check_page',
      title: 'Open a web page and report what you see',
      description:
        'A person opens a page in a browser and reports whether it loads, is readable and does its task.',
      category: 'testing',
      steps: 'Open the page.\nWait until it has loaded.\nTry to do what the page is for.',
      estMinutes: '3',
      rewardStars: '45',
      priceUsd: '0.90',
      inputForm: [
        { name: 'page', label: 'Page', type: 'link', required: true },
        { name: 'task', label: 'What to try', type: 'text', required: false },
      ],
      answerForm: [
        { name: 'loads', label: 'Did the page load?', type: 'yes_no', required: true },
        {
          name: 'problems',
          label: 'Which problems did you see?',
          type: 'many',
          required: false,
          options: [
            'Slow',
            'Broken layout',
            'Text hard to read',
            'Something did not work',
            'Pop-ups in the way',
          ],
        },
        { name: 'report', label: 'What happened?', type: 'paragraph', required: true, maxLength: 1_000 },
      ],
    },
  },
  {
    name: 'Transcribe a document',
    purpose: 'Text and fields from a picture of a document. For receipts, forms and signs.',
    draft: {
      ...newDraft,
      workflowId: 'wf_transcribe',
      title: 'Copy the text of a document',
      description: 'A person reads a picture of a document and types what it says.',
      category: 'transcription',
      steps:
        'Read the document.\nType the text as it is, with its mistakes.\nWrite [?] for what you cannot read.',
      estMinutes: '5',
      rewardStars: '75',
      priceUsd: '1.50',
      inputForm: [{ name: 'document', label: 'Document', type: 'image', required: true }],
      answerForm: [
        { name: 'text', label: 'Text', type: 'paragraph', required: true, maxLength: 5_000 },
        { name: 'total', label: 'Total amount, if it has one', type: 'line', required: false, maxLength: 40 },
        { name: 'readable', label: 'Could you read everything?', type: 'yes_no', required: true },
      ],
    },
  },
]
