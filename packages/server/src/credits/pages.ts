import { freeSealsPerMonth, packNames, packs } from '@pohf/protocol'
import type { Page } from '../platform/http/call.ts'
import type { Ctx } from '../platform/ops/context.ts'
import type { Payments } from '../payments/index.ts'
import { html, renderPage, type Html } from '../platform/http/html.ts'

const lead = (acceptsCards: boolean): Html =>
  acceptsCards
    ? html`<p>
        Open a checkout with your API key, and pay on the card provider’s page. The credits are posted as soon
        as the provider says that the payment has arrived. Packs bought with a test key are posted at once and
        cost nothing.
      </p>`
    : html`<p><span class="chip warn">No card provider</span></p>
        <p>
          No card provider is configured on this deployment. A live checkout can be opened, but it cannot be
          paid: nothing is charged and no credits are posted. Packs bought with a test key are posted at once
          and cost nothing.
        </p>`

export const pages = (ctx: Pick<Ctx, 'config'>, payments: Pick<Payments, 'acceptsCards'>): Page[] => [
  {
    path: '/buy',
    handler: async () =>
      renderPage(
        'Buy credits',
        html`<h1>One verification costs one credit.</h1>
          ${lead(payments.acceptsCards)}
          <table>
            <thead>
              <tr>
                <th scope="col">Pack</th>
                <th scope="col" class="num">Credits</th>
                <th scope="col" class="num">Price, USD</th>
              </tr>
            </thead>
            <tbody>
              ${packNames.map(
                (pack) =>
                  html`<tr>
                    <td><code>${pack}</code></td>
                    <td class="num">${packs[pack].credits.toLocaleString('en')}</td>
                    <td class="num">${packs[pack].priceUsd.toLocaleString('en')}</td>
                  </tr>`,
              )}
            </tbody>
          </table>
          <h2>Open a checkout</h2>
          <pre tabindex="0"><code>curl -X POST ${ctx.config.BASE_URL}/api/agents/credits/buy \\
  -H "Authorization: Bearer $API_KEY" \\
  -H "Content-Type: application/json" \\
  -d '{"pack":"starter"}'</code></pre>
          <h2>Free plan</h2>
          <p>
            A live agent with a confirmed contact address has ${freeSealsPerMonth.toLocaleString('en')} free
            verifications in each calendar month (UTC), spent before credits. The number of free plans per
            mail domain and network is capped. No card is needed.
          </p>`,
      ),
  },
]
