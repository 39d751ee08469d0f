import { useState } from 'preact/hooks'
import { createKeysOfCalls } from '../../shared/api/keys-of-calls.ts'
import { questionsOf } from './messages.ts'

type NewCampaign = {
  readonly name: string
  readonly questions: readonly object[]
  readonly rewardStars: number
  readonly agreement: number
  readonly budgetStars: number
}

const numbers = [
  { name: 'rewardStars', label: 'Stars for a right answer', max: 100 },
  { name: 'agreement', label: 'People who must agree', min: 2, max: 5 },
  { name: 'budgetStars', label: 'Budget in Stars', max: 1_000_000 },
] as const

type Values = Readonly<Record<(typeof numbers)[number]['name'], number>>
const NumberFields = (props: { values: Values; onChange: (values: Values) => void }) => (
  <>
    {numbers.map(({ name, label, max, ...more }) => (
      <label key={name}>
        {label}
        <input
          type="number"
          required
          min={'min' in more ? more.min : 0}
          max={max}
          value={props.values[name]}
          onInput={(event) => props.onChange({ ...props.values, [name]: event.currentTarget.valueAsNumber })}
        />
      </label>
    ))}
  </>
)

const FormHead = () => (
  <>
    <h2 class="h3" id="new-campaign">
      New campaign
    </h2>
    <p class="muted gap">
      The budget is taken from your conversion limit. Members who are signed in on your page are paid when
      people agree with them.
    </p>
  </>
)

const QuestionsField = (props: { lines: string; fault: string; onInput: (lines: string) => void }) => (
  <>
    <label for="campaign-lines">
      Questions{' '}
      <span class="faint">one for each line, answers divided by |, a star before a known answer</span>
    </label>
    <textarea
      id="campaign-lines"
      required
      rows={5}
      placeholder={
        'Does this picture fit the word shoe? | fits | does not fit\nWhich is a fruit? | *apple | hammer'
      }
      value={props.lines}
      aria-invalid={props.fault !== ''}
      onInput={(event) => props.onInput(event.currentTarget.value)}
    />
    {props.fault === '' ? null : (
      <p class="note" role="alert">
        {props.fault}
      </p>
    )}
  </>
)

/** The form that creates a campaign. */
export const CampaignForm = (props: {
  busy: boolean
  /** The key is another one for another campaign, so that one whose answer was lost is not funded twice. */
  onCreate: (campaign: NewCampaign, key: string) => Promise<boolean>
}) => {
  const [name, setName] = useState('')
  const [lines, setLines] = useState('')
  const [values, setValues] = useState<Values>({ rewardStars: 1, agreement: 3, budgetStars: 100 })
  const [fault, setFault] = useState('')
  const [keys] = useState(createKeysOfCalls)
  const submit = async (event: Event) => {
    event.preventDefault()
    const questions = questionsOf(lines)
    if (typeof questions === 'string') return setFault(questions)
    setFault('')
    const campaign = { name: name.trim(), questions, ...values }
    if (!(await props.onCreate(campaign, keys.keyOf(JSON.stringify(campaign))))) return
    setLines('')
    keys.forgetAll()
  }
  return (
    <section class="card pad" aria-labelledby="new-campaign">
      <FormHead />
      <form class="paste" onSubmit={(event) => void submit(event)}>
        <label for="campaign-name">Name</label>
        <input
          id="campaign-name"
          required
          maxLength={200}
          autocomplete="off"
          value={name}
          onInput={(event) => setName(event.currentTarget.value)}
        />
        <QuestionsField lines={lines} fault={fault} onInput={setLines} />
        <NumberFields values={values} onChange={setValues} />
        <p>
          <button class="btn main" type="submit" disabled={props.busy}>
            Create and fund
          </button>
        </p>
      </form>
    </section>
  )
}
