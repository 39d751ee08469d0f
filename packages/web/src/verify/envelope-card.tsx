import type { Claims } from '@pohf/verify'
import { compareEnvelope, jsonTextFault, type ApprovalView, type ShownField } from '@pohf/verify/approvals'
import { useState } from 'preact/hooks'
import { CheckList } from '../shared/credential/check-list.tsx'
import type { CheckLine } from '../shared/credential/outcome.ts'

type ApprovalClaim = NonNullable<Claims['approval']>
type EnvelopeCheck = { readonly lines: readonly CheckLine[]; readonly view: ApprovalView | undefined }

/** An answer of the service has an envelope of at most 32 kB, the definition, and credentials. */
const charsMax = 200_000

const refused = (text: string): EnvelopeCheck => ({ lines: [{ sign: '✗', text }], view: undefined })

const compareText = async (text: string, approval: ApprovalClaim): Promise<EnvelopeCheck> => {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return refused('This is not JSON.')
  }
  // Of two equal keys the parser keeps the last; another reader may keep the first.
  const fault = jsonTextFault(text)
  if (fault) return refused(`This ${fault.message}.`)
  const compared = await compareEnvelope(approval, value)
  if (!compared.ok) return refused(compared.message)
  const lines: CheckLine[] = [
    { sign: '✓', text: 'This is the envelope of the credential: its hash is the signed one.' },
    compared.view
      ? { sign: '✓', text: 'What is shown below is what the approver was shown: its hash is the signed one.' }
      : { sign: '–', text: 'What the approver was shown is not known without the definition of the type.' },
  ]
  return { lines, view: compared.view }
}

const noteTexts = {
  not_permitted: 'has a character that no value may have: it is shown by its code point',
  hidden_characters: 'has characters that show nothing',
  mixed_scripts: 'mixes letters that look alike',
  look_alikes: 'has characters that look like other letters, digits or separators',
  other_digits: 'has digits or numbers other than 0 to 9',
  right_to_left: 'has letters that are written from right to left',
  outer_spaces: 'begins or ends with a space',
}

/** What stands beside or in place of a value that is no text. */
const kindText = ({ kind, text }: ShownField): string => {
  if (kind === 'absent') return 'not in this request'
  return kind === 'text' ? (text === '' ? 'empty' : '') : kind
}

const Fields = ({ fields }: { fields: readonly ShownField[] }) => (
  <dl class="facts">
    {fields.map((field) => (
      <div key={field.path}>
        <dt>
          <bdo dir="ltr">{field.label}</bdo>
        </dt>
        <dd class="num">
          <bdo dir="ltr">{field.text}</bdo>
          {kindText(field) === '' ? null : <span class="faint"> {kindText(field)}</span>}
          {field.notes.map((note) => (
            <span key={note} class="chip warn">
              {noteTexts[note]}
            </span>
          ))}
        </dd>
      </div>
    ))}
  </dl>
)

const Shown = ({ view }: { view: ApprovalView }) => {
  const words = [view.words.title, view.words.summary].filter(({ text }) => text !== '')
  return (
    <div class="gap" id="shown-action">
      <h3>{view.title ?? `An action of the type ${view.type}, which nobody registered`}</h3>
      <Fields fields={[...view.critical, ...view.fields]} />
      <p class="small">
        For {view.audience}, request {view.requestId}. {view.policy.quorum} of {view.approvers.length} must
        approve.
      </p>
      {words.length === 0 ? null : (
        <>
          <h3 class="gap">In the words of the agent</h3>
          <Fields fields={words} />
        </>
      )}
    </div>
  )
}

/** Compares an envelope with the credential in the browser, and shows the action by the rules of the approver's page. */
export const EnvelopeCard = ({ approval }: { approval: ApprovalClaim }) => {
  const [text, setText] = useState('')
  const [compared, setCompared] = useState<EnvelopeCheck>({ lines: [], view: undefined })
  const run = async () => {
    setCompared(text.trim() === '' ? refused('Paste the envelope first.') : await compareText(text, approval))
  }
  return (
    <section class="card pad wide" aria-labelledby="action">
      <h2 class="h3" id="action">
        The action
      </h2>
      <p class="muted gap">
        The credential has only the hash of the action. Paste the envelope, or the whole answer of{' '}
        <code>GET /api/agents/approvals/{'{approvalId}'}</code>, and this page computes the hashes again. It
        is not sent anywhere. The credential permits nothing by itself: the executor consumes the approval,
        once.
      </p>
      <form
        class="paste"
        onSubmit={(event) => {
          event.preventDefault()
          void run()
        }}
      >
        <label for="envelope">Envelope</label>
        <textarea
          id="envelope"
          rows={3}
          maxLength={charsMax}
          spellcheck={false}
          autocomplete="off"
          autocapitalize="off"
          placeholder='{"audience":"agt_…","requestId":"…","action":{…},…}'
          value={text}
          onInput={(event) => setText(event.currentTarget.value)}
        />
        <p>
          <button class="btn" type="submit">
            Compare it
          </button>
        </p>
      </form>
      <div role="status">
        <CheckList lines={compared.lines} />
      </div>
      {compared.view ? <Shown view={compared.view} /> : null}
    </section>
  )
}
