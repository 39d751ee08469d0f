import type { PageResponse } from '../../platform/http/call.ts'
import { html, renderPage, type Html } from '../../platform/http/html.ts'
import { memberSessionsMax } from '../../sessions/index.ts'
import { issuerMessages, issuerText } from './issuer-messages.ts'
import { issuerPart } from './issuer-part.ts'
import { languageSwitch } from './language-switch.ts'
import type { PersonData } from '../people/me.ts'
import { fillPlaceholders, type Language, type Messages } from './messages.ts'

type Membership = PersonData['memberships'][number]
type SessionSummary = Membership['sessions'][number]

/** Minutes in UTC: the same for everybody, and readable without a script. */
const timeOf = (instant: string): Html =>
  html`<time datetime="${instant}"
    ><span>${instant.slice(0, 10)}</span> <span>${instant.slice(11, 16)} UTC</span></time
  >`

const minuteOf = (instant: string): string => `${instant.slice(0, 16).replace('T', ' ')} UTC`

const scriptMessages = (messages: Messages): string => {
  const { wait, waitDevice, failed, me } = messages
  const { sureFirst, erased, copied } = me
  return JSON.stringify({ wait, waitDevice, failed, sureFirst, erased, copied })
}

const frame = (messages: Messages, language: Language, content: Html): PageResponse =>
  renderPage(
    messages.me.title,
    html`${languageSwitch(language)}
      <h1>${messages.me.title}</h1>
      <div id="me" class="flow" data-language="${language}" data-words="${scriptMessages(messages)}">
        ${content}
        <p class="result" role="status" tabindex="-1"></p>
      </div>
      <noscript><p>${messages.needsScript}</p></noscript>
      <script src="/assets/me.js" type="module"></script>`,
    200,
    language,
  )

export const signInPage = (messages: Messages, language: Language): PageResponse =>
  frame(
    messages,
    language,
    html`<p class="muted">${messages.me.signInLead}</p>
      <form data-act="sign-in"><button class="btn main" type="submit">${messages.me.signIn}</button></form>
      <h2>${messages.me.lostTitle}</h2>
      <form data-act="recover" class="paste">
        <label for="code">${messages.me.code}</label>
        <input id="code" name="code" autocomplete="off" maxlength="64" required />
        <p><button class="btn" type="submit">${messages.me.recover}</button></p>
      </form>`,
  )

/** Two decimals in the format of the language. */
const figureOf = ({ language }: Messages, figure: number): string =>
  figure.toLocaleString(language, { minimumFractionDigits: 2, maximumFractionDigits: 2 })

const outcomeOf = (messages: Messages, session: SessionSummary): Html => {
  if (session.verified === null) return html`${messages.me.open}`
  const quality = session.quality === null ? '' : figureOf(messages, session.quality)
  return html`${session.verified ? messages.me.human : messages.me.notHuman}
    <span class="num">${quality}</span>`
}

/** Finished browser recordings can be replayed. */
const isRecorded = ({ kind, status }: SessionSummary): boolean =>
  kind !== 'presence' && status !== 'open' && status !== 'expired'

const replayLink = ({ me, language }: Messages, session: SessionSummary): Html =>
  html`<a class="replay" href="/me/recording?id=${session.sessionId}&lang=${language}"
    >${me.replay}<span class="hidden"
      >: ${fillPlaceholders(me.replayOf, { when: session.at.slice(0, 16).replace('T', ' ') })}</span
    ></a
  >`

const sessionTable = (messages: Messages, acts: readonly SessionSummary[]): Html =>
  acts.length === 0
    ? html`<p>${messages.me.noActs}</p>`
    : html`<table>
        <thead>
          <tr>
            <th scope="col">${messages.me.when}</th>
            <th scope="col">${messages.me.what}</th>
            <th scope="col">${messages.me.outcome}</th>
          </tr>
        </thead>
        <tbody>
          ${acts.map(
            (session) =>
              html`<tr>
                <td>${timeOf(session.at)}</td>
                <td>${messages.me.kinds[session.kind]}</td>
                <td>
                  <div>${outcomeOf(messages, session)}</div>
                  ${isRecorded(session) ? replayLink(messages, session) : ''}
                </td>
              </tr>`,
          )}
        </tbody>
      </table>`

/** An id, shortened: the whole of it is copied, and is in the title. */
const copyId = ({ me }: Messages, id: string): Html =>
  html`<button type="button" class="copy id" title="${id}" data-copy="${id}">
    <span class="hidden">${me.copy}: </span><span>${`${id.slice(0, 8)}…${id.slice(-4)}`}</span>
  </button>`

const statusClasses = { enrolled: 'ok', consented: 'warn', invited: 'warn', withdrawn: 'stop' } as const

const membershipCard = (messages: Messages, member: Membership): Html => {
  const { me } = messages
  return html`<article class="card pad flow">
    <h3>
      ${member.agentName ?? me.unnamed}
      <span class="chip ${statusClasses[member.status]}">${me.status[member.status]}</span>
      ${member.mode === 'test' ? html`<span class="chip test">${me.testMode}</span>` : ''}
    </h3>
    <dl class="facts">
      <div>
        <dt>${me.knownAs}</dt>
        <dd>${copyId(messages, member.memberId)}</dd>
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
              <dd>${timeOf(member.checkedAt)}, ${me.quality} ${figureOf(messages, member.quality ?? 0)}</dd>
            </div>`
      }
      ${member.consents.map(
        (consent) =>
          html`<div>
            <dt>${me.consents}</dt>
            <dd>
              ${consent.act === 'given' ? me.consentGiven : me.consentWithdrawn}, ${timeOf(consent.at)}
              (${fillPlaceholders(me.consentText, { version: consent.version })})
            </dd>
          </div>`,
      )}
    </dl>
    <h4>${me.acts}</h4>
    ${sessionTable(messages, member.sessions)}
    ${member.sessions.length < memberSessionsMax ? '' : html`<p class="muted">${me.olderActs}</p>`}
    ${
      member.status === 'withdrawn'
        ? ''
        : html`<form data-act="withdraw" data-member="${member.memberId}">
            <button class="btn" type="submit">${me.withdraw}</button>
          </form>`
    }
  </article>`
}

const passkeysPart = (messages: Messages, person: PersonData): Html => {
  const { me } = messages
  return html`<h2>${me.passkeys}</h2>
    ${person.passkeys.map(
      (passkey) =>
        html`<dl class="card pad facts">
          <div>
            <dt>${me.passkeyCreated}</dt>
            <dd>${timeOf(passkey.createdAt)}</dd>
          </div>
          <div>
            <dt>${me.passkeyUsed}</dt>
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
    <p>${fillPlaceholders(me.codesLeft, { count: String(person.recoveryCodesLeft) })}</p>
    <form data-act="renew-codes"><button class="btn" type="submit">${me.renewCodes}</button></form>
    <section id="new-codes" class="card pad flow" hidden>
      <h3 tabindex="-1">${messages.codesTitle}</h3>
      <p>${me.renewed} ${messages.codesLead}</p>
      <pre class="codes"></pre>
      <p><button class="btn main" type="button">${messages.codesKept}</button></p>
    </section>`
}

const proofText = (messages: Messages, proof: PersonData['proofs'][number]): string => {
  const texts = issuerMessages[messages.language]
  const issuer = issuerText(proof.issuerId)
  if (proof.withdrawn) return fillPlaceholders(texts.withdrawn, { issuer })
  const times = { at: minuteOf(proof.checkedAt), until: minuteOf(proof.expiresAt) }
  return fillPlaceholders(proof.countsNow ? texts.held : texts.over, times)
}

const proofsPart = (messages: Messages, { proofs, issuers }: PersonData): Html => {
  const texts = issuerMessages[messages.language]
  if (proofs.length === 0 && issuers.length === 0) return html``
  return html`<h2>${texts.proofs}</h2>
    ${proofs.length === 0 ? html`<p>${texts.proofsNone}</p>` : ''}
    ${proofs.map(
      (proof) =>
        html`<dl class="card pad facts">
          <div>
            <dt>${issuerText(proof.issuerId)}</dt>
            <dd>${proofText(messages, proof)}</dd>
          </div>
        </dl>`,
    )}
    ${issuers.map((issuer) =>
      issuerPart(messages.language, { issuer, isRequired: false, back: `/me?lang=${messages.language}` }),
    )}`
}

const erasePart = (messages: Messages, tombstoneDays: number): Html => {
  const { me, language } = messages
  const stays = fillPlaceholders(issuerMessages[language].stays, { days: String(tombstoneDays) })
  return html`<h2>${me.eraseTitle}</h2>
    <p>${me.erasedAtOnce}</p>
    <p>${me.retained}</p>
    ${tombstoneDays === 0 ? '' : html`<p>${stays}</p>`}
    <p>${me.agentsNotified}</p>
    <form data-act="erase" class="card pad flow">
      <label class="agree"><input type="checkbox" name="sure" /><span>${me.sure}</span></label>
      <p><button class="btn stop" type="submit">${me.erase}</button></p>
    </form>`
}

const leadOf = ({ me }: Messages, count: number): string => {
  if (count === 0) return me.leadNone
  return count === 1 ? me.leadOne : fillPlaceholders(me.lead, { count: String(count) })
}

export const mePage = (messages: Messages, person: PersonData, tombstoneDays: number): PageResponse =>
  frame(
    messages,
    messages.language,
    html`<p class="muted">${leadOf(messages, person.memberships.length)}</p>
      <div class="actions">
        <a class="btn main" href="/api/members/me/export" download>${messages.me.download}</a>
        <a class="btn" href="/work">${messages.toWork}</a>
        <form data-act="sign-out"><button class="btn" type="submit">${messages.me.signOut}</button></form>
      </div>
      <h2>${messages.me.applications}</h2>
      ${person.memberships.map((member) => membershipCard(messages, member))}
      ${passkeysPart(messages, person)} ${proofsPart(messages, person)} ${erasePart(messages, tombstoneDays)}`,
  )
