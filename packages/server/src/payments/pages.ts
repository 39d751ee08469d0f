import { isId } from '@pohf/protocol'
import type { Page } from '../platform/call.ts'
import type { Ctx } from '../platform/context.ts'
import { inTransaction } from '../platform/db.ts'
import { html, pageOf } from '../platform/html.ts'
import { checkoutWords, writeUsd, type CheckoutState } from './rules.ts'
import { findCheckout } from './store.ts'

const unknown = () =>
  pageOf(
    'Unknown checkout',
    html`<h1>There is no such checkout.</h1>
      <p><a href="/buy">Packs and prices</a></p>`,
    404,
  )

export const pages = (ctx: Ctx): Page[] => [
  {
    path: '/checkout/:checkoutId',
    handler: async ({ params }) => {
      const checkoutId = params['checkoutId'] ?? ''
      if (!isId('chk_', checkoutId)) return unknown()
      const row = await inTransaction(ctx, 'system', (tx) => findCheckout(tx, checkoutId))
      if (!row) return unknown()
      const mode = row.mode === 'live' ? 'live' : 'test'
      const words = checkoutWords({ mode, state: row.state as CheckoutState, outlived: row.outlived })
      return pageOf(
        'Checkout',
        html`<p><span class="chip ${words.chip}">${words.label}</span></p>
          <h1>${row.description}</h1>
          <p class="num">${writeUsd(row.amount_usd_cents)}</p>
          <p>${words.text}</p>
          <p class="muted">
            Opens until ${row.expires_at.toISOString()}. <a href="/buy">Packs and prices</a>
          </p>`,
      )
    },
  },
]
