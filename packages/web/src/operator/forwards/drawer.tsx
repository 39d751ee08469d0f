import { useState } from 'preact/hooks'
import type { Api } from '../../shared/api/client.ts'
import type { Action } from '../../shared/api/use-action.ts'
import { ErrorNote } from '../../shared/design/components.tsx'
import { CopyId } from '../../shared/design/copy-id.tsx'
import { Drawer, closeDrawer } from '../../shared/design/drawer.tsx'
import { Moment } from '../../shared/design/moment.tsx'
import { Facts } from '../facts.tsx'
import { NumberField, TextField } from '../fields.tsx'
import type { Forward } from '../wire.ts'
import { assessmentLabels, formatHours, formatUsd, nextSteps, statusLabels } from './messages.ts'

type DrawerProps = {
  readonly api: Api
  readonly forward: Forward
  readonly action: Action
  readonly back: string
}

type ValueProps = { readonly value: string; readonly onValue: (value: string) => void }

const PriceField = (props: ValueProps) => (
  <NumberField
    id="forward-usd"
    label="Price for all hours, USD"
    min={0.01}
    max={1_000_000_000}
    step={0.01}
    {...props}
  />
)
const InvoiceField = (props: ValueProps) => (
  <TextField id="forward-invoice" label="Number of the invoice" maxLength={200} {...props} />
)

const StepForm = ({ api, forward, action, back }: DrawerProps) => {
  const [usd, setUsd] = useState(String(forward.indicative.totalUsd ?? ''))
  const [invoice, setInvoice] = useState('')
  const [note, setNote] = useState('')
  const steps = nextSteps[forward.status]
  const [first] = steps
  const move = async (to: string) => {
    const path = `/operator/forwards/${encodeURIComponent(forward.orderId)}/move`
    const body = {
      status: to,
      ...(to === 'quoted' ? { quotedUsdCents: Math.round(Number(usd) * 100) } : {}),
      ...(to === 'invoiced' ? { invoiceRef: invoice.trim() } : {}),
      ...(note.trim() === '' ? {} : { note: note.trim() }),
    }
    if (await action.run(`The request is ${to}.`, () => api.call('POST', path, body))) closeDrawer(back)
  }
  if (!first) return null
  return (
    <section aria-labelledby="next-step">
      <h3 id="next-step">Next step</h3>
      <form
        class="parts"
        onSubmit={(event) => {
          event.preventDefault()
          void move(first.to)
        }}
      >
        {first.to === 'quoted' ? <PriceField value={usd} onValue={setUsd} /> : null}
        {first.to === 'invoiced' ? <InvoiceField value={invoice} onValue={setInvoice} /> : null}
        <TextField
          id="forward-note"
          label="Note"
          hint="optional, for operators"
          required={false}
          maxLength={1_000}
          value={note}
          onValue={setNote}
        />
        <p class="actions">
          <button class="btn main" type="submit" disabled={action.busy}>
            {first.words}
          </button>
          {steps.slice(1).map(({ to, words }) => (
            <button key={to} class="btn" type="button" disabled={action.busy} onClick={() => void move(to)}>
              {words}
            </button>
          ))}
        </p>
      </form>
    </section>
  )
}

export const ForwardDrawer = (props: DrawerProps) => {
  const { forward, action, back } = props
  const now = Date.now()
  const { word, tone } = statusLabels[forward.status]
  return (
    <Drawer
      title={
        <>
          {forward.company} <span class={`chip ${tone}`}>{word}</span>
        </>
      }
      onClose={() => (location.hash = back)}
    >
      {action.error ? <ErrorNote error={action.error} /> : null}
      <Facts
        rows={[
          ['From', `${forward.name}, ${forward.email}`],
          ['Hours', `${formatHours(forward.hours)} in ${forward.month}`],
          ['Category', forward.category ?? 'any'],
          [
            'Capacity then',
            `${formatHours(forward.capacity.hoursAvailable)} hours: ${assessmentLabels[forward.capacity.assessment].word}`,
          ],
          [
            'Indicative price',
            `${formatUsd(forward.indicative.totalUsd)}, premium ${forward.indicative.premiumPct} %, index of ${forward.indicative.epoch}`,
          ],
          ['Quoted', formatUsd(forward.quotedUsd)],
          ['Invoice', forward.invoiceRef ?? 'none'],
          ['Notes of the sender', forward.notes ?? 'none'],
          ['Note', forward.note ?? 'none'],
          ['Request', <CopyId value={forward.orderId} label="request" />],
          ['Came in, UTC', <Moment at={forward.receivedAt} now={now} />],
          ['Last change, UTC', <Moment at={forward.changedAt} now={now} />],
        ]}
      />
      <StepForm {...props} />
    </Drawer>
  )
}
