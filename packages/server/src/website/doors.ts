import { doors, type Door } from '@pohf/protocol/story'
import { html, type Html } from '../platform/http/html.ts'
import { doorPicture } from './door-pictures.ts'

/** Code that readers copy. It scrolls by itself, so it can have the focus. */
export const codeBlock = (label: string, code: string): Html =>
  html`<pre tabindex="0" role="region" aria-label="${label}"><code>${code}</code></pre>`

/** A page of the built documentation; without it, the text for models. */
export const documentPath = (docsPath: string, page: string): string =>
  docsPath === '/docs' ? `/docs/${page.replace(/\/README$/, '')}` : docsPath

/** A text of the story with its code marked. */
export const withCode = (text: string): Html[] =>
  text.split('`').map((part, index) => (index % 2 === 1 ? html`<code>${part}</code>` : html`${part}`))

const doorBlock = (door: Door, docsPath: string): Html => {
  const { name, title, forWhom, value, restsOn, notFor, price, start, guide, example, prints } = door
  const facts = [
    ['For', `${forWhom}.`],
    ['Rests on', restsOn],
    ['Not for', notFor],
    ['Price', price],
  ] as const
  return html`<div class="who" id="${name}">
    <div>
      <h3>${title}</h3>
      <p class="gap">${value}</p>
      <dl class="door-facts small">
        ${facts.map(
          ([label, text]) =>
            html`<dt>${label}</dt>
              <dd>${withCode(text)}</dd>`,
        )}
      </dl>
      <p class="linkrow">
        <a href="${documentPath(docsPath, start)}" aria-label="Quick start: ${title}">Quick start</a>
        <a href="${documentPath(docsPath, guide)}" aria-label="Guide: ${title}">Guide</a>
      </p>
    </div>
    <div>
      ${doorPicture(name)} ${codeBlock(`Example: ${title}`, example)}
      <pre
        class="prints"
        tabindex="0"
        role="region"
        aria-label="What it prints: ${title}"
      ><samp>${prints}</samp></pre>
    </div>
  </div>`
}

/** What the service is used for: five ways in, each with its picture, its limit, its price and an example. */
export const doorsSection = (docsPath: string): Html =>
  html`<section aria-labelledby="doors">
    <h2 id="doors">Five ways in</h2>
    <p class="muted measure">
      The examples run in a clone of the sources after <code>npm ci</code>, with the three variables that come
      with <a href="#key">a test key</a>. People are simulated there, and nobody pays.
    </p>
    ${doors.map((door) => doorBlock(door, docsPath))}
  </section>`
