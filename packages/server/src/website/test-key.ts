import { freeSealsPerMonth } from '@pohf/protocol'
import { html, type Html } from '../platform/http/html.ts'
import { codeBlock } from './doors.ts'

const registerCode = (baseUrl: string): string => `curl ${baseUrl}/api/agents/register \\
  -H 'Content-Type: application/json' \\
  -d '{"name": "Corner Gazette",
       "contactEmail": "you@example.com",
       "mode": "test"}'`

/** The form for a test key. A script sends it and shows the key in place; the command does the same without a script. */
export const testKeySection = (baseUrl: string): Html =>
  html`<section class="card key" id="key" aria-labelledby="key-title">
    <div>
      <h2 id="key-title">Get a test key</h2>
      <p class="muted gap">
        It works at once. Test credentials are marked as such and prove nothing, so you can build without
        risk.
      </p>
      <form id="key-form" class="paste" hidden>
        <label for="key-name">Name of your site or agent</label>
        <input id="key-name" name="name" maxlength="200" autocomplete="organization" required />
        <label for="key-mail">Email for notices about your key</label>
        <input id="key-mail" name="contactEmail" type="email" maxlength="254" autocomplete="email" required />
        <p><button class="btn main">Create test key</button></p>
      </form>
      <div id="key-result" role="status"></div>
      <noscript><p class="gap">Without JavaScript, use the command.</p></noscript>
    </div>
    <div>
      <h3>The same from a terminal</h3>
      ${codeBlock('Command for a test key', registerCode(baseUrl))}
      <p class="muted gap">
        Live agents with a confirmed address have ${freeSealsPerMonth.toLocaleString('en')} free verifications
        a month, no card needed.
        <a href="/pricing">Pricing</a>
      </p>
    </div>
  </section>`
