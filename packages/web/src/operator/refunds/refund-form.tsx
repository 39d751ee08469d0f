import { useState } from 'preact/hooks'
import type { Api } from '../../shared/api/client.ts'
import type { Action } from '../../shared/api/use-action.ts'
import { NumberField, TextField } from '../fields.tsx'
import { ReasonField } from '../reason-field.tsx'

type Fields = { readonly checkoutId: string; readonly usd: string; readonly reason: string }
/** The key belongs to what the fields say: the same refund is made once, also where its answer was lost. */
type Draft = Fields & { readonly key: string }
const draftOf = (fields: Fields): Draft => ({ ...fields, key: crypto.randomUUID() })
const noFields: Fields = { checkoutId: '', usd: '', reason: '' }

const RefundFields = ({ draft, set }: { draft: Draft; set: (part: Partial<Fields>) => void }) => (
  <>
    <div class="pairs">
      <TextField
        id="refund-checkout"
        label="Checkout"
        placeholder="chk_…"
        maxLength={64}
        value={draft.checkoutId}
        onValue={(checkoutId) => set({ checkoutId })}
      />
      <NumberField
        id="refund-amount"
        label="Amount, USD"
        hint="empty: all that can be refunded"
        required={false}
        min={0.01}
        max={1_000_000}
        step={0.01}
        value={draft.usd}
        onValue={(usd) => set({ usd })}
      />
    </div>
    <ReasonField id="refund-reason" value={draft.reason} onValue={(reason) => set({ reason })} />
  </>
)

/** Gives card money back that nothing depends on. */
export const RefundForm = ({ api, action }: { api: Api; action: Action }) => {
  const [draft, setDraft] = useState(() => draftOf(noFields))
  const refund = async () => {
    const body = {
      checkoutId: draft.checkoutId.trim(),
      ...(draft.usd === '' ? {} : { amountUsdCents: Math.round(Number(draft.usd) * 100) }),
      reason: draft.reason.trim(),
    }
    const isDone = await action.run('The refund is requested. The worker sends it within a minute.', () =>
      api.call('POST', '/operator/refunds', body, draft.key),
    )
    if (isDone) setDraft(draftOf(noFields))
  }
  return (
    <section class="card pad produce" aria-labelledby="refund">
      <h2 class="h3" id="refund">
        Refund a card payment
      </h2>
      <p class="muted gap">
        Only money that nothing depends on can be refunded: an unused pack, or the unused part of an order.
      </p>
      <form
        class="parts"
        onSubmit={(event) => {
          event.preventDefault()
          void refund()
        }}
      >
        <RefundFields draft={draft} set={(part) => setDraft((now) => draftOf({ ...now, ...part }))} />
        <p>
          <button class="btn main" type="submit" disabled={action.busy}>
            Refund
          </button>
        </p>
      </form>
    </section>
  )
}
