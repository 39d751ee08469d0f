import type { Document } from './documents.ts'

export type Section = { readonly title: string; readonly paths: readonly string[] }

const inFolder = (folder: string, names: string): string[] =>
  names.split(' ').map((name) => `docs/${folder}/${name}.md`)

/** The menu, in the order of "previous" and "next". */
export const sections: readonly Section[] = [
  { title: 'Start', paths: ['docs/README.md', 'docs/glossary.md', 'docs/limits.md'] },
  {
    title: 'Quick starts',
    paths: inFolder(
      'quickstart',
      'README site-owner relying-party agent-builder guard-a-tool buyer worker member operator auditor',
    ),
  },
  {
    title: 'Check visitors',
    paths: inFolder(
      'guides',
      'check tag-check siteverify migrate-recaptcha migrate-hcaptcha migrate-turnstile sessions tracking visits attention tasks devices presence',
    ),
  },
  {
    title: 'Verify credentials',
    paths: inFolder('guides', 'verify verify-python-go forging bind wallets onchain'),
  },
  {
    title: 'Keys, credits and events',
    paths: inFolder('guides', 'sandbox keys accounts console credits lists webhooks'),
  },
  {
    title: 'People and work',
    paths: inFolder(
      'guides',
      'members work ask-human approvals keyless-orders workers buy mcp discovery partners index-vhh index-methodology forwards',
    ),
  },
  {
    title: 'Approvals of actions',
    paths: inFolder('guides', 'approvals guard-a-tool approve-page oversight'),
  },
  {
    title: 'Reference',
    paths: [
      ...inFolder(
        'reference',
        'api endpoints errors/README events cli settings metrics telemetry status-lists forging words master-key',
      ),
    ],
  },
  {
    title: 'Operate',
    paths: inFolder(
      'operate',
      'install operations checklist containers systemd high-availability scale clickhouse keys master-key backup restore upgrade release support branding observability runbooks budgets faults threat-model abuse-cases',
    ),
  },
  {
    title: 'Evidence',
    paths: [
      ...inFolder('evidence', 'scoring motion replay arena price approval-attacks'),
      'docs/guides/arena.md',
      'docs/reports',
    ],
  },
  {
    title: 'Project',
    paths: [
      'ARCHITECTURE.md',
      'CONTRIBUTING.md',
      'docs/decisions/README.md',
      'conformance/README.md',
      'SECURITY.md',
      'CODE_OF_CONDUCT.md',
      'CHANGELOG.md',
    ],
  },
]

/** Pages that are reached from a list and are not in the menu; "previous" and "next" follow the order of their names. */
const listedPages: readonly { readonly below: string; readonly list: string }[] = [
  { below: 'docs/decisions/', list: 'docs/decisions/README.md' },
  { below: 'docs/reports/', list: 'docs/reports' },
  { below: 'docs/reference/errors/', list: 'docs/reference/errors/README.md' },
  { below: 'docs/reference/api/', list: 'docs/reference/api.md' },
  { below: 'packages/', list: 'ARCHITECTURE.md' },
]
/** The lists of folders are reached from links alone. */
const folderPath = /^docs\/(guides|operate|reference|evidence)$/

const inMenu = new Set(sections.flatMap(({ paths }) => paths))

/** The page in the menu to which a document belongs. */
export const menuPathOf = (path: string): string | undefined =>
  inMenu.has(path) ? path : listedPages.find(({ below }) => path.startsWith(below))?.list

/** Fails where the menu names what does not exist, or a document is neither in the menu nor in a list. */
export const checkMenu = (documents: readonly Document[]): void => {
  const known = new Set(documents.map(({ path }) => path))
  const missing = [...inMenu].filter((path) => !known.has(path))
  const unlisted = [...known].filter((path) => menuPathOf(path) === undefined && !folderPath.test(path))
  if (missing.length > 0) throw new Error(`the menu names pages that do not exist: ${missing.join(', ')}`)
  if (unlisted.length > 0) throw new Error(`no place in packages/docs/src/menu.ts: ${unlisted.join(', ')}`)
}

/** The pages before and after a page. */
export const neighboursOf = (
  path: string,
  documents: readonly Document[],
): readonly [previous: string | undefined, next: string | undefined] => {
  const menu = sections.flatMap(({ paths }) => paths)
  const group = listedPages.find(({ below }) => path.startsWith(below))?.below
  const order =
    inMenu.has(path) || group === undefined
      ? menu
      : documents
          .map((document) => document.path)
          .filter((other) => other.startsWith(group) && !inMenu.has(other))
  const index = order.indexOf(path)
  return index === -1 ? [undefined, undefined] : [order[index - 1], order[index + 1]]
}
