import { freeSealsPerMonth, packNames, packs } from '@pohf/protocol'
import type { Page } from '../platform/call.ts'
import type { Ctx } from '../platform/context.ts'
import { html, pageOf } from '../platform/html.ts'

export const pages = (ctx: Pick<Ctx, 'config'>): Page[] => [
  {
    path: '/buy',
    handler: async () =>
      pageOf(
        'Buy credits',
        html`<p><span class="chip warn">No card provider</span></p>
          <h1>Buy credits</h1>
          <p>
            No card provider is configured on this deployment. A live checkout can be opened, but it cannot be
            paid: nothing is charged and no credits are posted. Packs bought with a test key are posted at
            once and cost nothing.
          </p>
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
          <p>One verification spends one credit. Open a checkout with your API key:</p>
          <pre><code>curl -X POST ${ctx.config.BASE_URL}/api/agents/credits/buy \\
  -H "Authorization: Bearer $API_KEY" \\
  -H "Content-Type: application/json" \\
  -d '{"pack":"starter"}'</code></pre>
          <h2>Free plan</h2>
          <p>
            A live agent with a confirmed contact address has ${freeSealsPerMonth} free verifications in each
            calendar month (UTC), spent before credits. The number of free plans per mail domain and network
            is capped. No card is needed.
          </p>`,
      ),
  },
]
