import type { OperatorWorkflow } from '@pohf/protocol'
import { useState } from 'preact/hooks'
import { useAction } from '../../shared/api/use-action.ts'
import type { Api } from '../../shared/api/client.ts'
import { formatUsd } from '../../shared/orders/messages.ts'
import { ActionResult, ConfirmButton } from '../../shared/design/components.tsx'
import { hrefOf } from '../../shared/shell/router.ts'
import { TextAreaField, NumberField, TextField, CheckboxField } from '../fields.tsx'
import { AnswerEditor, InputEditor } from '../form-editor.tsx'
import { draftOf, newDraft, termsOf, type Draft } from './draft.ts'
import { examples } from './examples.ts'
import { KnownAnswersEditor } from './known-answers.tsx'
import { ProduceForm } from './produce.tsx'

type DraftProps = { readonly draft: Draft; readonly set: (part: Partial<Draft>) => void }

const DescriptionFields = ({ draft, set, isNew }: DraftProps & { isNew: boolean }) => (
  <>
    <div class="pairs">
      <TextField
        id="title"
        label="Title"
        maxLength={200}
        value={draft.title}
        onValue={(title) => set({ title })}
      />
      <TextField
        id="workflow-id"
        label="Id"
        hint={isNew ? 'wf_ and small letters; cannot be changed later' : 'cannot be changed'}
        pattern="wf_[a-z0-9_]{1,64}"
        maxLength={67}
        readOnly={!isNew}
        value={draft.workflowId}
        onValue={(workflowId) => set({ workflowId })}
      />
    </div>
    <TextAreaField
      id="description"
      label="Description"
      hint="for buyers"
      maxLength={2_000}
      value={draft.description}
      onValue={(description) => set({ description })}
    />
    <TextAreaField
      id="steps"
      label="Steps"
      hint="for workers, one on each line"
      rows={4}
      value={draft.steps}
      onValue={(steps) => set({ steps })}
    />
  </>
)

const PriceFields = ({ draft, set }: DraftProps) => {
  const share = (Number(draft.rewardStars) / 100 / Number(draft.priceUsd)) * 100
  return (
    <>
      <div class="pairs three">
        <NumberField
          id="price"
          label="Price"
          hint="USD a unit"
          min={0.01}
          max={100_000}
          step={0.01}
          value={draft.priceUsd}
          onValue={(priceUsd) => set({ priceUsd })}
        />
        <NumberField
          id="reward"
          label="Reward"
          hint="Stars a unit"
          min={0}
          max={1_000_000}
          value={draft.rewardStars}
          onValue={(rewardStars) => set({ rewardStars })}
        />
        <NumberField
          id="minutes"
          label="Minutes"
          hint="expected"
          min={1}
          max={10_000}
          value={draft.estMinutes}
          onValue={(estMinutes) => set({ estMinutes })}
        />
      </div>
      <p class="small muted">
        {Number.isFinite(share)
          ? `A worker gets ${formatUsd(Number(draft.rewardStars) / 100)} of ${formatUsd(Number(draft.priceUsd))}, ${Math.round(share)} %; that is ${formatUsd((Number(draft.rewardStars) / 100 / Math.max(1, Number(draft.estMinutes))) * 60)} an hour.`
          : 'One Star is one cent.'}
      </p>
    </>
  )
}

const TermsForm = (props: DraftProps & { isNew: boolean }) => {
  const { draft, set } = props
  return (
    <section class="card pad" aria-labelledby="terms">
      <h2 class="h3" id="terms">
        What is offered
      </h2>
      <div class="parts">
        <DescriptionFields {...props} />
        <PriceFields {...props} />
        <div class="pairs three">
          <TextField
            id="category"
            label="Category"
            hint="small letters"
            pattern="[a-z][a-z0-9_]{0,39}"
            maxLength={40}
            value={draft.category}
            onValue={(category) => set({ category })}
          />
          <NumberField
            id="webcam"
            label="Webcam bonus"
            hint="Stars"
            min={0}
            max={1_000_000}
            value={draft.webcamBonus}
            onValue={(webcamBonus) => set({ webcamBonus })}
          />
          <CheckboxField
            id="dataset"
            label="Dataset opt-in"
            value={draft.datasetOptin}
            onValue={(datasetOptin) => set({ datasetOptin })}
          />
        </div>
      </div>
    </section>
  )
}

const namesOf = (fields: readonly { readonly name: string }[]): ReadonlySet<string> =>
  new Set(fields.map(({ name }) => name))

/** Names of fields are keys of an answer: two of the same name would lose one of them. */
const duplicateName = (fields: readonly { readonly name: string }[]): string | undefined =>
  fields.find(({ name }, index) => fields.findIndex((other) => other.name === name) < index)?.name

type EditorProps = {
  readonly api: Api
  readonly workflow: OperatorWorkflow | undefined
  readonly onChanged: () => void
}

const FormEditors = ({ draft, set, workflow }: DraftProps & Pick<EditorProps, 'workflow'>) => (
  <>
    <div class="two">
      <section class="card pad" aria-labelledby="shown">
        <h2 class="h3" id="shown">
          Input form
        </h2>
        <p class="muted gap">One field for each value of an item. Workers see these values.</p>
        <InputEditor
          id="in"
          fields={draft.inputForm}
          inUse={workflow && namesOf(workflow.inputForm)}
          onFields={(inputForm) => set({ inputForm })}
        />
      </section>
      <section class="card pad" aria-labelledby="asked">
        <h2 class="h3" id="asked">
          Answer form
        </h2>
        <p class="muted gap">One field for each value of an answer. The buyer gets these values.</p>
        <AnswerEditor
          id="out"
          fields={draft.answerForm}
          inUse={workflow && namesOf(workflow.answerForm)}
          onFields={(answerForm) => set({ answerForm })}
        />
      </section>
    </div>
    <section class="card pad" aria-labelledby="known-answers">
      <h2 class="h3" id="known-answers">
        Known-answer items
      </h2>
      <p class="muted gap">
        Their answer is known. They are mixed into the work to grade workers, and are paid like other units.
      </p>
      <KnownAnswersEditor
        inputs={draft.inputForm}
        answers={draft.answerForm}
        items={draft.gold}
        onItems={(gold) => set({ gold })}
      />
    </section>
  </>
)

/** Ready forms that fill the editor. */
const Examples = ({ onChoose }: { onChoose: (draft: Draft) => void }) => (
  <section class="card pad below" aria-labelledby="examples">
    <h2 class="h3" id="examples">
      Begin with an example
    </h2>
    <p class="muted gap">An example fills the form below. Change it as you like before you offer it.</p>
    <ul class="plainlist examples">
      {examples.map(({ name, purpose, draft }) => (
        <li key={name}>
          <h3>{name}</h3>
          <p class="small muted">{purpose}</p>
          <button type="button" class="btn" onClick={() => onChoose(draft)}>
            Use it<span class="hidden">: {name}</span>
          </button>
        </li>
      ))}
    </ul>
  </section>
)

/** One workflow: its terms, its forms, its known-answer items, and its actions. */
export const WorkflowEditor = (props: EditorProps) => {
  const { api, workflow } = props
  const [draft, setDraft] = useState<Draft>(() => (workflow ? draftOf(workflow) : newDraft))
  const set = (part: Partial<Draft>) => setDraft((now) => ({ ...now, ...part }))
  const action = useAction(props.onChanged)
  const path = `/operator/workflows/${encodeURIComponent(draft.workflowId)}`
  const duplicate = duplicateName(draft.inputForm) ?? duplicateName(draft.answerForm)
  const save = async () => {
    const done = await action.run('Saved. Existing orders keep their terms.', () =>
      api.call('POST', path, termsOf(draft)),
    )
    if (done && !workflow) location.hash = hrefOf(['workflows', draft.workflowId])
  }
  return (
    <>
      {workflow ? null : <Examples onChoose={setDraft} />}
      <form
        class="editor"
        onSubmit={(event) => {
          event.preventDefault()
          void save()
        }}
      >
        <TermsForm draft={draft} set={set} isNew={workflow === undefined} />
        <FormEditors draft={draft} set={set} workflow={workflow} />
        {duplicate === undefined ? null : (
          <p class="note stop" role="alert">
            Two fields have the key <code>{duplicate}</code>. Give one of them another.
          </p>
        )}
        <ActionResult message={action.message} error={action.error} />
        <div class="acts">
          <button
            class="btn main"
            type="submit"
            disabled={action.busy || duplicate !== undefined || draft.answerForm.length === 0}
          >
            {workflow?.active ? 'Save' : 'Offer it'}
          </button>
          {workflow?.active ? (
            <ConfirmButton
              label="Stop offering it"
              confirmLabel="Stop: existing orders are completed"
              disabled={action.busy}
              onConfirm={() =>
                void action.run('The workflow is retired.', () => api.call('POST', `${path}/retire`, {}))
              }
            />
          ) : null}
        </div>
      </form>
      {workflow?.active ? <ProduceForm api={api} workflow={workflow} onChanged={props.onChanged} /> : null}
    </>
  )
}
