import { isId } from '@pohf/protocol'
import type { Page } from '../../platform/http/call.ts'
import type { Ctx } from '../../platform/ops/context.ts'
import { inTransaction } from '../../platform/db/db.ts'
import { html, renderPage, type Html } from '../../platform/http/html.ts'
import { checkoutTextOf, formatUsd } from '../rules.ts'
import { findCheckout } from '../store.ts'

const unknown = () =>
  renderPage(
    'Unknown checkout',
    html`<h1>There is no such checkout.</h1>
      <p>Its address may be cut or mistyped. <a href="/buy">Packs and prices</a></p>`,
    404,
  )

const nextStep = (next: 'pay' | 'wait' | undefined, url: string | null): Html => {
  if (next === 'pay' && url !== null)
    return html`<p><a class="btn main" href="${url}" rel="noreferrer">Go on to the payment</a></p>`
  return next === 'wait' ? html`<script src="/assets/checkout-page.js" defer></script>` : html``
}

const fact = (name: string, value: string | Html): Html =>
  html`<div>
    <dt>${name}</dt>
    <dd class="num">${value}</dd>
  </div>`

/** The page of a checkout: the provider returns people here; without a provider it is the only page. */
export const pages = (ctx: Ctx): Page[] => [
  {
    path: '/checkout/:checkoutId',
    handler: async ({ params, query }) => {
      const checkoutId = params['checkoutId'] ?? ''
      if (!isId('chk_', checkoutId)) return unknown()
      const row = await inTransaction(ctx, 'system', (tx) => findCheckout(tx, checkoutId))
      if (!row) return unknown()
      const { state } = row
      const text = checkoutTextOf({
        mode: row.mode,
        state,
        purpose: row.purpose,
        isPastExpiry: row.is_past_expiry,
        payable: row.provider_url !== null,
        returned: query['returned'] === 'paid',
        amountUsdCents: row.amount_usd_cents,
        reversedUsdCents: row.taken_usd_cents,
      })
      const open = state === 'created' && !row.is_past_expiry
      return renderPage(
        'Checkout',
        html`<div class="checkout" data-state="${state}" role="status" aria-live="polite">
            <p><span class="chip ${text.chip}">${text.label}</span></p>
            <h1>${text.title}</h1>
            <p>${text.text}</p>
            <dl class="facts">
              ${fact('For', row.description)} ${fact('Amount', formatUsd(row.amount_usd_cents))}
              ${open ? fact('Open until', `${row.expires_at.toISOString().slice(0, 16).replace('T', ' ')} UTC`) : html``}
              ${fact('Checkout', html`<span class="id">${checkoutId}</span>`)}
            </dl>
          </div>
          ${nextStep(text.next, row.provider_url)}
          <p class="muted small"><a href="/buy">Packs and prices</a></p>`,
      )
    },
  },
]
