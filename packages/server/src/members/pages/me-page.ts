import type { PageAnswer } from '../../platform/http/call.ts'
import { html, pageOf, type Html } from '../../platform/http/html.ts'
import { ofMemberMax } from '../../sessions/index.ts'
import { languageSwitch } from './language-switch.ts'
import type { Held } from '../people/me.ts'
import { fill, type Language, type Words } from './messages.ts'

type Membership = Held['memberships'][number]
type Act = Membership['sessions'][number]

/** Minutes in UTC: the same for everybody, and no script is needed to read it. */
const timeOf = (instant: string): Html =>
  html`<time datetime="${instant}"
    ><span>${instant.slice(0, 10)}</span> <span>${instant.slice(11, 16)} UTC</span></time
  >`

const scriptWords = (words: Words): string => {
  const { wait, waitDevice, failed, me } = words
  return JSON.stringify({ wait, waitDevice, failed, sureFirst: me.sureFirst, erased: me.erased })
}

const frame = (words: Words, language: Language, content: Html): PageAnswer =>
  pageOf(
    words.me.title,
    html`${languageSwitch(language)}
      <h1>${words.me.title}</h1>
      <div id="me" class="flow" data-language="${language}" data-words="${scriptWords(words)}">
        ${content}
        <p class="result" role="status" tabindex="-1"></p>
      </div>
      <noscript><p>${words.needsScript}</p></noscript>
      <script src="/assets/me.js" type="module"></script>`,
    200,
    language,
  )

export const signInPage = (words: Words, language: Language): PageAnswer =>
  frame(
    words,
    language,
    html`<p class="muted">${words.me.signInLead}</p>
      <form data-act="sign-in"><button class="btn main" type="submit">${words.me.signIn}</button></form>
      <h2>${words.me.lostTitle}</h2>
      <form data-act="recover" class="paste">
        <label for="code">${words.me.code}</label>
        <input id="code" name="code" autocomplete="off" maxlength="64" required />
        <p><button class="btn" type="submit">${words.me.recover}</button></p>
      </form>`,
  )

/** Two digits, as the language writes them. */
const figureOf = ({ language }: Words, figure: number): string =>
  figure.toLocaleString(language, { minimumFractionDigits: 2, maximumFractionDigits: 2 })

const outcomeOf = (words: Words, act: Act): Html => {
  if (act.verified === null) return html`${words.me.open}`
  const quality = act.quality === null ? '' : figureOf(words, act.quality)
  return html`${act.verified ? words.me.human : words.me.notHuman} <span class="num">${quality}</span>`
}

/** What was recorded in a browser and to its end can be looked at. */
const isRecorded = ({ kind, status }: Act): boolean =>
  kind !== 'presence' && status !== 'open' && status !== 'expired'

const replayLink = ({ me, language }: Words, act: Act): Html =>
  html`<a href="/me/recording?id=${act.sessionId}&lang=${language}"
    >${me.replay}<span class="hidden"
      >: ${fill(me.replayOf, { when: act.at.slice(0, 16).replace('T', ' ') })}</span
    ></a
  >`

const actsOf = (words: Words, acts: readonly Act[]): Html =>
  acts.length === 0
    ? html`<p>${words.me.noActs}</p>`
    : html`<table>
        <thead>
          <tr>
            <th scope="col">${words.me.when}</th>
            <th scope="col">${words.me.what}</th>
            <th scope="col">${words.me.outcome}</th>
            <td></td>
          </tr>
        </thead>
        <tbody>
          ${acts.map(
            (act) =>
              html`<tr>
                <td>${timeOf(act.at)}</td>
                <td>${words.me.kinds[act.kind]}</td>
                <td>${outcomeOf(words, act)}</td>
                <td>${isRecorded(act) ? replayLink(words, act) : ''}</td>
              </tr>`,
          )}
        </tbody>
      </table>`

const chips = { enrolled: 'ok', consented: 'warn', invited: 'warn', withdrawn: 'stop' } as const

const membershipCard = (words: Words, member: Membership): Html => {
  const { me } = words
  return html`<article class="card pad flow">
    <h3>
      ${member.agentName ?? member.agentId}
      <span class="chip ${chips[member.status]}">${me.status[member.status]}</span>
      ${member.mode === 'test' ? html`<span class="chip test">${me.testMode}</span>` : ''}
    </h3>
    <dl class="facts">
      <div>
        <dt>${me.knownAs}</dt>
        <dd class="id">${member.memberId}</dd>
      </div>
      ${
        member.externalRef === null
          ? ''
          : html`<div>
              <dt>${me.reference}</dt>
              <dd>${member.externalRef}</dd>
            </div>`
      }
      ${
        member.checkedAt === null
          ? ''
          : html`<div>
              <dt>${me.checked}</dt>
              <dd>${timeOf(member.checkedAt)}, ${me.quality} ${figureOf(words, member.quality ?? 0)}</dd>
            </div>`
      }
      ${member.consents.map(
        (consent) =>
          html`<div>
            <dt>${me.consents}</dt>
            <dd>
              ${consent.act === 'given' ? me.given : me.taken}, ${timeOf(consent.at)} (${consent.version})
            </dd>
          </div>`,
      )}
    </dl>
    <h4>${me.acts}</h4>
    ${actsOf(words, member.sessions)}
    ${member.sessions.length < ofMemberMax ? '' : html`<p class="muted">${me.olderActs}</p>`}
    ${
      member.status === 'withdrawn'
        ? ''
        : html`<form data-act="withdraw" data-member="${member.memberId}">
            <button class="btn" type="submit">${me.withdraw}</button>
          </form>`
    }
  </article>`
}

const passkeysPart = (words: Words, held: Held): Html => {
  const { me } = words
  return html`<h2>${me.passkeys}</h2>
    ${held.passkeys.map(
      (passkey) =>
        html`<dl class="card pad facts">
          <div>
            <dt>${me.made}</dt>
            <dd>${timeOf(passkey.createdAt)}</dd>
          </div>
          <div>
            <dt>${me.used}</dt>
            <dd>${timeOf(passkey.usedAt)}</dd>
          </div>
          <div>
            <dt>${me.copies}</dt>
            <dd>${passkey.synced ? me.synced : me.bound}</dd>
          </div>
        </dl>`,
    )}
    <form data-act="add-passkey"><button class="btn" type="submit">${me.addPasskey}</button></form>
    <h2>${me.codes}</h2>
    <p>${fill(me.codesLeft, { count: String(held.recoveryCodesLeft) })}</p>
    <form data-act="renew-codes"><button class="btn" type="submit">${me.renewCodes}</button></form>
    <section id="new-codes" class="card pad flow" hidden>
      <h3 tabindex="-1">${words.codesTitle}</h3>
      <p>${me.renewed} ${words.codesLead}</p>
      <pre class="codes"></pre>
      <p><button class="btn main" type="button">${words.codesKept}</button></p>
    </section>`
}

const erasePart = ({ me }: Words): Html =>
  html`<h2>${me.eraseTitle}</h2>
    <p>${me.goes}</p>
    <p>${me.stays}</p>
    <p>${me.told}</p>
    <form data-act="erase" class="card pad flow">
      <label class="agree"><input type="checkbox" name="sure" /><span>${me.sure}</span></label>
      <p><button class="btn stop" type="submit">${me.erase}</button></p>
    </form>`

const leadOf = ({ me }: Words, count: number): string => {
  if (count === 0) return me.leadNone
  return count === 1 ? me.leadOne : fill(me.lead, { count: String(count) })
}

export const mePage = (words: Words, language: Language, held: Held): PageAnswer =>
  frame(
    words,
    language,
    html`<p class="muted">${leadOf(words, held.memberships.length)}</p>
      <div class="actions">
        <a class="btn main" href="/api/members/me/export" download>${words.me.download}</a>
        <a class="btn" href="/work">${words.toWork}</a>
        <form data-act="sign-out"><button class="btn" type="submit">${words.me.signOut}</button></form>
      </div>
      <h2>${words.me.applications}</h2>
      ${held.memberships.map((member) => membershipCard(words, member))} ${passkeysPart(words, held)}
      ${erasePart(words)}`,
  )
