import type { Assurance, ForgingFile } from '@pohf/protocol'
import { rootTexts } from '@pohf/protocol/story'
import { html, type Html } from '../platform/http/html.ts'

type Cost = ForgingFile['entries'][number]['humans']

/** Three bars, the sign of assurance on every page. */
export const assuranceChip = (assurance: Assurance): Html => {
  const level = ['low', 'substantial', 'high'].indexOf(assurance) + 1
  return html`<span class="chip none"
    ><span class="lv l${level}" aria-hidden="true"><i></i><i></i><i></i></span>${assurance}</span
  >`
}

const classWords = {
  F0: 'under $1',
  F1: '$1 to 10',
  F2: '$10 to 100',
  F3: '$100 to 1,000',
  F4: '$1,000 or more',
} as const

/** A cost that a reader can compare with what they protect. */
const costWords = (cost: Cost): string => (cost === 'named' ? 'no market price' : classWords[cost.class])

type RootRow = {
  readonly name: string
  readonly level: string
  readonly acts: string
  readonly actsOneADay: string
  readonly humans: string
  readonly use: string
}

/** The kind of credential that most readers get. The table of the evidence has the others. */
const shownKind = 'view'

type PricedRoots = {
  readonly entries: ForgingFile['entries']
  readonly inputs: Pick<ForgingFile['inputs'], 'roots'>
}

/** One row for each root of the story, with the prices of the table that the service signs. */
export const rootRows = ({ entries, inputs }: PricedRoots): readonly RootRow[] =>
  rootTexts.flatMap((text) => {
    const entry = entries.find(({ kind, root }) => kind === shownKind && root === text.kind)
    // An operator may serve a table with fewer roots.
    if (!entry) return []
    const { level, actsB, acts1, humans } = entry
    const isCounted = inputs.roots[entry.root]?.counted === true
    return {
      name: 'isPlanned' in text ? `${text.name} (not built)` : text.name,
      level: level === 'named' ? 'low' : level,
      acts: costWords(actsB),
      // A limit for each person needs a root that counts people.
      actsOneADay: isCounted ? costWords(acts1) : 'not counted',
      humans: isCounted ? costWords(humans) : 'not counted',
      use: text.use,
    }
  })

export const rootHeads = [
  'What stands behind it',
  'Level',
  '1,000 acts',
  'Same, one a day each',
  '1,000 people',
  'Require it to',
] as const

/** What a forgery costs today, in acts and in people, by root. */
export const rootTable = (forging: PricedRoots): Html =>
  html`<div class="scroll" tabindex="0" role="region" aria-label="Costs of forgeries by root">
    <table class="roots">
      <thead>
        <tr>
          ${rootHeads.map((head) => html`<th scope="col">${head}</th>`)}
        </tr>
      </thead>
      <tbody>
        ${rootRows(forging).map(
          ({ name, level, acts, actsOneADay, humans, use }) =>
            html`<tr>
              <th scope="row">${name}</th>
              <td>${level}</td>
              <td class="num">${acts}</td>
              <td class="num">${actsOneADay}</td>
              <td class="num">${humans}</td>
              <td>${use}</td>
            </tr>`,
        )}
      </tbody>
    </table>
  </div>`
