import type { OutsideIssuer } from '../../issuers/index.ts'
import { html, type Html } from '../../platform/http/html.ts'
import { issuerMessages, issuerText } from './issuer-messages.ts'
import { fillPlaceholders, type Language } from './messages.ts'

/** An issuer as a page offers it; `memberId` is the membership that it serves. */
export type OfferedIssuer = Pick<OutsideIssuer, 'name' | 'issuerId' | 'lifeDays'> & {
  readonly memberId: string | undefined
}
type Offer = {
  readonly issuer: OfferedIssuer
  readonly isRequired: boolean
  /** Where the person goes on after the sign-in. */
  readonly back: string
}

/** What an issuer learns, what is kept and how long it takes, and the button that begins the sign-in. */
export const issuerPart = (language: Language, { issuer, isRequired, back }: Offer): Html => {
  const messages = issuerMessages[language]
  const fill = (text: string): string =>
    fillPlaceholders(text, {
      issuer: issuerText(issuer.issuerId),
      hours: String(Math.round(issuer.lifeDays * 24)),
    })
  return html`<p>${fill(isRequired ? messages.required : messages.optional)}</p>
    <ul class="plain">
      ${messages.facts.map((text) => html`<li>${fill(text)}</li>`)}
    </ul>
    <p>
      <button
        class="${isRequired ? 'btn main' : 'btn'}"
        type="button"
        data-issuer="${issuer.name}"
        data-member="${issuer.memberId ?? ''}"
        data-back="${back}"
      >
        ${fill(messages.button)}
      </button>
    </p>`
}
