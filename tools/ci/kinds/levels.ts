import { readFileSync } from 'node:fs'
import { assurances, credentialKinds, type Assurance, type CredentialKind } from '@pohf/verify'

const guide = new URL('../../../docs/guides/verify.md', import.meta.url)
const heading = '## Levels'

export type Levels = { readonly anybody: Assurance; readonly withMore: Assurance }

const assuranceIn = (cell: string | undefined): Assurance | undefined =>
  assurances.find((assurance) => cell?.trim() === `\`${assurance}\``)

/** What docs/guides/verify.md says of each kind: the level that anybody gets, and the level with more. */
export const readLevels = (): ReadonlyMap<CredentialKind, Levels> => {
  const [, section = ''] = readFileSync(guide, 'utf8').split(`\n${heading}\n`)
  const rows = (section.split('\n## ')[0] ?? '').split('\n').map((line) => line.split('|').slice(1))
  const levels = new Map<CredentialKind, Levels>()
  for (const kind of credentialKinds) {
    const cells = rows.find(([name]) => name?.trim() === `\`${kind}\``)
    const [anybody, withMore] = [assuranceIn(cells?.[1]), assuranceIn(cells?.[2])]
    if (!anybody || !withMore) throw new Error(`docs/guides/verify.md, ${heading}: no levels of ${kind}`)
    levels.set(kind, { anybody, withMore })
  }
  return levels
}
