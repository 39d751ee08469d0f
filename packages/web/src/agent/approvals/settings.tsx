import { useEffect, useState } from 'preact/hooks'
import type { Api } from '../../shared/api/client.ts'
import { useAction } from '../../shared/api/use-action.ts'
import { useQuery } from '../../shared/api/use-query.ts'
import { ActionResult, ErrorNote, Skeleton } from '../../shared/design/components.tsx'
import { PageHead } from '../../shared/design/page-head.tsx'
import { formatUtc } from '../../shared/design/time.ts'
import type { PageProps } from '../../shared/shell/frame.tsx'
import type { ApprovalSettings } from '../wire.ts'
import { Field, isOwner, OwnerHint, OwnerOnly } from './parts.tsx'

const address = '/api/agents/approval-settings'

type FormProps = {
  readonly api: Api
  readonly settings: ApprovalSettings
  readonly busy: boolean
  readonly onSave: (body: object) => Promise<boolean>
}
const SettingsForm = ({ api, settings, busy, onSave }: FormProps) => {
  const [perPerson, setPerPerson] = useState(settings.perPerson)
  const [perHour, setPerHour] = useState(settings.decisionsPerHour)
  useEffect(() => {
    setPerPerson(settings.perPerson)
    setPerHour(settings.decisionsPerHour)
  }, [settings.changedAt])
  return (
    <form
      class="paste card pad"
      onSubmit={(event) => {
        event.preventDefault()
        void onSave({ perPerson, decisionsPerHour: perHour })
      }}
    >
      <h2 class="h3">What is measured</h2>
      <OwnerHint api={api} />
      <label class="choice">
        <input
          type="checkbox"
          checked={perPerson}
          onChange={(event) => setPerPerson(event.currentTarget.checked)}
        />
        <span>
          <b>Name people in the report</b>
        </span>
      </label>
      <p class="small muted">
        Labour law may apply: in many countries a works council, an agreement or a notice is needed before the
        performance of people is measured. Ask before you turn it on. Approvers always see their own figures.
      </p>
      <Field
        id="per-hour"
        label="Approvals that a person may give in an hour"
        hint="a limit against fatigue; denials are not limited"
      >
        <input
          id="per-hour"
          type="number"
          required
          min={1}
          max={1_000}
          value={perHour}
          onInput={(event) => setPerHour(event.currentTarget.valueAsNumber)}
        />
      </Field>
      <p>
        <button class="btn main" type="submit" disabled={busy}>
          Save the settings
        </button>
      </p>
      <p class="small muted">
        {settings.changedAt === null
          ? 'Nobody changed them yet.'
          : `Changed on ${formatUtc(settings.changedAt)}.`}
      </p>
    </form>
  )
}

const OwnersSettings = ({ api }: { api: Api }) => {
  const loaded = useQuery(() => api.call<ApprovalSettings>('GET', address), address, 30_000)
  const action = useAction(loaded.refetch)
  return (
    <>
      <ActionResult message={action.message} error={action.error} />
      {loaded.error ? <ErrorNote error={loaded.error} onRetry={loaded.refetch} /> : null}
      {loaded.value === undefined && loaded.slow ? <Skeleton /> : null}
      {loaded.value ? (
        <SettingsForm
          api={api}
          settings={loaded.value}
          busy={action.busy}
          onSave={(body) => action.run('The settings are saved.', () => api.call('POST', address, body))}
        />
      ) : null}
    </>
  )
}

/** How approvals are measured and limited. */
export const SettingsPart = ({ api }: PageProps) => (
  <>
    <PageHead name="Settings" finding={undefined}>
      How decisions are measured, and how many a person may make.
    </PageHead>
    {isOwner(api) ? (
      <OwnersSettings api={api} />
    ) : (
      <OwnerOnly api={api} what="Settings">
        {null}
      </OwnerOnly>
    )}
  </>
)
