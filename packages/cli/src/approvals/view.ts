import type { Approval } from '@pohf/protocol'
import {
  approvalView,
  readEnvelope,
  visibleText,
  type ApprovalView,
  type Envelope,
  type ShownField,
} from '@pohf/verify/approvals'

const notes = {
  not_permitted: 'has a character that no value may have: it is shown by its code point',
  hidden_characters: 'has characters that show nothing',
  mixed_scripts: 'mixes letters of scripts that look alike',
  look_alikes: 'has characters that look like other letters, digits or separators',
  other_digits: 'has digits or numbers other than 0 to 9',
  right_to_left: 'has letters that are written from right to left',
  outer_spaces: 'begins or ends with a space',
}

const fieldLines = ({ label, kind, text, notes: found }: ShownField): string[] => [
  `  ${label}: ${kind === 'text' ? text.replaceAll('\n', '\n    ') : `${text} (${kind})`}`,
  ...found.map((note) => `    ! ${notes[note]}`),
]

/** What the approver's page shows, as lines of text. Every character that shows nothing is replaced, also those of a terminal. */
export const viewLines = (view: ApprovalView): string[] => [
  view.title ?? `An action of the type ${view.type}, which nobody registered`,
  ...view.critical.flatMap(fieldLines),
  ...(view.fields.length === 0 ? [] : ['Also:', ...view.fields.flatMap(fieldLines)]),
  'For:',
  `  executed by ${view.audience}, request ${view.requestId}`,
  `  decide by ${view.decideBy}, use by ${view.consumeBy}`,
  `  ${view.policy.quorum} of ${view.approvers.length} must approve: ${view.approvers.join(', ')}`,
  ...(view.words.title.text === '' && view.words.summary.text === ''
    ? []
    : ['In the words of the agent:', ...fieldLines(view.words.title), ...fieldLines(view.words.summary)]),
]

export const viewOf = ({
  envelope,
  definition,
}: Pick<Approval, 'envelope' | 'definition'>): ApprovalView | undefined => {
  const read: Envelope | undefined = readEnvelope(envelope)
  return read && approvalView(read, definition ?? undefined)
}

export const decisionLines = ({ decisions }: Pick<Approval, 'decisions'>): string[] =>
  decisions.map(
    ({ approver, name, decision, words, decidedAt }) =>
      `  ${decidedAt}  ${visibleText(name)} (${approver}): ${decision}${words === null ? '' : `, "${visibleText(words)}"`}`,
  )
