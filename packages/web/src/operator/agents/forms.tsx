import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import type { Api } from '../../shared/api/client.ts'
import type { Action } from '../../shared/api/use-action.ts'
import { pluralize } from '../../shared/design/time.ts'
import { NumberField, TextField } from '../fields.tsx'
import { ReasonField } from '../reason-field.tsx'
import type { AgentDetails } from '../wire.ts'

export type AgentFormProps = {
  readonly api: Api
  readonly agent: AgentDetails
  readonly action: Action
  /** The path of the agent on the operators' listener. */
  readonly path: string
}

/** A folded form of an agent. */
export const FoldedForm = (props: {
  title: string
  lead: ComponentChildren
  button: string
  isStop?: boolean
  disabled: boolean
  onSubmit: () => Promise<void>
  children: ComponentChildren
}) => (
  <details>
    <summary>{props.title}</summary>
    <p class="muted">{props.lead}</p>
    <form
      class="parts"
      onSubmit={(event) => {
        event.preventDefault()
        void props.onSubmit()
      }}
    >
      {props.children}
      <p>
        <button class={`btn ${props.isStop ? 'stop' : 'main'}`} type="submit" disabled={props.disabled}>
          {props.button}
        </button>
      </p>
    </form>
  </details>
)

/** A reference makes a repeated grant harmless. */
const ReferenceField = (props: { id: string; value: string; onValue: (value: string) => void }) => (
  <TextField
    id={props.id}
    label="Reference"
    hint="your ticket or contract; each is granted once"
    maxLength={200}
    value={props.value}
    onValue={props.onValue}
  />
)

export const CreditsForm = ({ api, agent, action, path }: AgentFormProps) => {
  const [credits, setCredits] = useState('')
  const [reference, setReference] = useState('')
  const [reason, setReason] = useState('')
  const grant = async () => {
    const count = Number(credits)
    const body = { credits: count, reference: reference.trim(), reason: reason.trim() }
    const isDone = await action.run(`${pluralize(count, 'credit was', 'credits were')} granted.`, () =>
      api.call('POST', `${path}/credits`, body),
    )
    if (isDone) for (const clear of [setCredits, setReference, setReason]) clear('')
  }
  return (
    <FoldedForm
      title="Grant credits"
      lead={`Credits without a payment. The balance is ${agent.credits.toLocaleString('en')} now.`}
      button="Grant the credits"
      disabled={action.busy}
      onSubmit={grant}
    >
      <NumberField
        id="credits"
        label="Credits"
        min={1}
        max={10_000_000}
        value={credits}
        onValue={setCredits}
      />
      <ReferenceField id="credits-reference" value={reference} onValue={setReference} />
      <ReasonField id="credits-reason" value={reason} onValue={setReason} />
    </FoldedForm>
  )
}

export const LimitForm = ({ api, action, path }: AgentFormProps) => {
  const [stars, setStars] = useState('')
  const [reference, setReference] = useState('')
  const [reason, setReason] = useState('')
  const grant = async () => {
    const body = { stars: Number(stars), reference: reference.trim(), reason: reason.trim() }
    const isDone = await action.run('The points limit was changed.', () =>
      api.call('POST', `${path}/points-limit`, body),
    )
    if (isDone) for (const clear of [setStars, setReference, setReason]) clear('')
  }
  return (
    <FoldedForm
      title="Change the points limit"
      lead="How many Stars more this partner may convert from points. A negative number takes back what is not converted yet."
      button="Change the limit"
      disabled={action.busy}
      onSubmit={grant}
    >
      <NumberField
        id="limit-stars"
        label="Stars"
        min={-1_000_000_000}
        max={1_000_000_000}
        value={stars}
        onValue={setStars}
      />
      <ReferenceField id="limit-reference" value={reference} onValue={setReference} />
      <ReasonField id="limit-reason" value={reason} onValue={setReason} />
    </FoldedForm>
  )
}

export const BudgetForm = ({ api, agent, action, path }: AgentFormProps) => {
  const [factor, setFactor] = useState(agent.networkFactor === null ? '' : String(agent.networkFactor))
  const [reason, setReason] = useState('')
  const change = async () => {
    const body = { factor: factor === '' ? null : Number(factor), reason: reason.trim() }
    const isDone = await action.run('The network budget was changed.', () =>
      api.call('POST', `${path}/network-budget`, body),
    )
    if (isDone) setReason('')
  }
  return (
    <FoldedForm
      title="Change the network budget"
      lead="A site whose visitors share few networks, such as a school, can have a budget of its own in every network. Leave the factor empty to share the default budget."
      button="Change the budget"
      disabled={action.busy}
      onSubmit={change}
    >
      <NumberField
        id="budget-factor"
        label="Factor"
        hint="times the default budget"
        required={false}
        min={1}
        max={1_000}
        value={factor}
        onValue={setFactor}
      />
      <ReasonField id="budget-reason" value={reason} onValue={setReason} />
    </FoldedForm>
  )
}

export const ConfirmForm = ({ api, agent, action, path }: AgentFormProps) => {
  const [reason, setReason] = useState('')
  const confirm = async () => {
    await action.run('The mail address is confirmed.', () =>
      api.call('POST', `${path}/email/confirm`, { reason: reason.trim() }),
    )
  }
  return (
    <FoldedForm
      title="Confirm the mail address"
      lead={`Only where mail cannot reach ${agent.contactEmail} and you know its owner: whoever reads mail at this address can recover the keys of the agent.`}
      button="Confirm the address"
      disabled={action.busy}
      onSubmit={confirm}
    >
      <ReasonField id="confirm-reason" value={reason} onValue={setReason} />
    </FoldedForm>
  )
}
