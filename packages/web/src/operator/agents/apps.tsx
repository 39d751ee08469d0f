import { useState } from 'preact/hooks'
import { SelectField, TextField } from '../fields.tsx'
import { ReasonField } from '../reason-field.tsx'
import type { AgentDetails } from '../wire.ts'
import { FoldedForm, type AgentFormProps } from './forms.tsx'

type App = AgentDetails['admittedApps'][number]

const kindNames: Readonly<Record<App['kind'], string>> = { app: 'App', rp_id: 'Relying party' }
const isSame = (a: App, b: App): boolean => a.kind === b.kind && a.name === b.name

/** What the agent named and what is admitted, each once. */
const appsOf = ({ declaredApps, admittedApps }: AgentDetails): readonly (App & { isAdmitted: boolean })[] => [
  ...admittedApps.map((app) => ({ ...app, isAdmitted: true })),
  ...declaredApps
    .filter((app) => !admittedApps.some((admitted) => isSame(admitted, app)))
    .map((app) => ({ ...app, isAdmitted: false })),
]

const AppList = ({ agent, onChoose }: { agent: AgentDetails; onChoose: (app: App) => void }) => {
  const apps = appsOf(agent)
  if (apps.length === 0)
    return <p class="muted">The agent names no app and no relying party in its settings.</p>
  return (
    <ul class="plainlist lines">
      {apps.map((app) => (
        <li key={`${app.kind} ${app.name}`} class="spread">
          <span class="address">
            {kindNames[app.kind]} <code>{app.name}</code>{' '}
            <span class={`chip ${app.isAdmitted ? 'ok' : ''}`}>
              {app.isAdmitted ? 'admitted' : 'named by the agent'}
            </span>
          </span>
          <button type="button" class="btn" onClick={() => onChoose(app)}>
            Choose<span class="hidden"> {app.name}</span>
          </button>
        </li>
      ))}
    </ul>
  )
}

/** The apps and relying parties whose verdicts raise credentials of the agent. */
export const AppsSection = ({ api, agent, action, path }: AgentFormProps) => {
  const [kind, setKind] = useState<App['kind']>('app')
  const [name, setName] = useState('')
  const [reason, setReason] = useState('')
  const isAdmitted = agent.admittedApps.some((app) => isSame(app, { kind, name: name.trim() }))
  const change = async () => {
    const body = { kind, name: name.trim(), admitted: !isAdmitted, reason: reason.trim() }
    const message = isAdmitted ? `${body.name} is no longer admitted.` : `${body.name} is admitted.`
    const isDone = await action.run(message, () => api.call('POST', `${path}/apps`, body))
    if (isDone) for (const clear of [setName, setReason]) clear('')
  }
  return (
    <FoldedForm
      title="Admit apps and relying parties"
      lead="The verdicts of an admitted app or relying party raise the credentials of this agent above low. Admit only what you have examined."
      button={isAdmitted ? 'Take the admission back' : 'Admit'}
      isStop={isAdmitted}
      disabled={action.busy}
      onSubmit={change}
    >
      <AppList
        agent={agent}
        onChoose={(app) => {
          setKind(app.kind)
          setName(app.name)
        }}
      />
      <SelectField
        id="app-kind"
        label="Kind"
        value={kind}
        options={[
          ['app', 'App: App ID or package name'],
          ['rp_id', 'Relying party of passkeys'],
        ]}
        onValue={(value) => setKind(value as App['kind'])}
      />
      <TextField id="app-name" label="Name" maxLength={256} value={name} onValue={setName} />
      <ReasonField id="app-reason" value={reason} onValue={setReason} />
    </FoldedForm>
  )
}
