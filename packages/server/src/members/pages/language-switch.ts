import { html, type Html } from '../../platform/http/html.ts'
import { languages, messagesOf, type Language } from './messages.ts'

/** Links to the same page in the other languages. */
export const languageSwitch = (here: Language): Html =>
  html`<nav class="languages" aria-label="Language / Sprache">
    ${languages.map((language) =>
      language === here
        ? html`<span aria-current="true" lang="${language}">${messagesOf(language).name}</span>`
        : html`<a href="?lang=${language}" lang="${language}" hreflang="${language}"
            >${messagesOf(language).name}</a
          >`,
    )}
  </nav>`
