import { useState } from 'preact/hooks'
import { TextField } from '../fields.tsx'
import { ReasonField } from '../reason-field.tsx'
import { FoldedForm, type AgentFormProps } from './forms.tsx'

/** Suspends an agent after its name was typed, or lifts the suspension. */
export const SuspendForm = ({ api, agent, action, path }: AgentFormProps) => {
  const [typed, setTyped] = useState('')
  const [reason, setReason] = useState('')
  const change = async (suspended: boolean) => {
    const message = suspended
      ? 'The agent is suspended. Its keys are refused from the next call on.'
      : 'The suspension is lifted.'
    const isDone = await action.run(message, () =>
      api.call('POST', `${path}/suspend`, { suspended, reason: reason.trim() }),
    )
    if (isDone) for (const clear of [setTyped, setReason]) clear('')
  }
  if (agent.suspended)
    return (
      <FoldedForm
        title="Lift the suspension"
        lead="All keys of the agent work again at once."
        button="Lift the suspension"
        disabled={action.busy}
        onSubmit={() => change(false)}
      >
        <ReasonField id="reinstate-reason" value={reason} onValue={setReason} />
      </FoldedForm>
    )
  return (
    <FoldedForm
      title="Suspend this agent"
      lead={
        <>
          Every key of the agent is refused from the next call on. Credentials stay valid. To confirm, type
          the name of the agent: <b>{agent.name}</b>
        </>
      }
      button="Suspend the agent"
      isStop
      disabled={action.busy || typed.trim() !== agent.name.trim()}
      onSubmit={() => change(true)}
    >
      <TextField
        id="suspend-name"
        label="Name of the agent"
        maxLength={200}
        value={typed}
        onValue={setTyped}
      />
      <ReasonField id="suspend-reason" value={reason} onValue={setReason} />
    </FoldedForm>
  )
}
