import type { Document } from './documents.ts'

export type Section = { readonly title: string; readonly paths: readonly string[] }

const inFolder = (folder: string, names: string): string[] =>
  names.split(' ').map((name) => `docs/${folder}/${name}.md`)

/** The hub: the ways in and the roles, without a menu beside them. */
export const hubPath = 'docs/README.md'

/** The menu, in the order of "previous" and "next": the ways in, what all of them share, and the roles. */
export const sections: readonly Section[] = [
  {
    title: 'Start',
    paths: [hubPath, ...inFolder('quickstart', 'README'), 'docs/glossary.md', 'docs/limits.md'],
  },
  {
    title: 'Guard a tool',
    paths: [
      ...inFolder('quickstart', 'guard-a-tool'),
      ...inFolder('guides', 'guard-a-tool approvals company-sign-in oversight'),
    ],
  },
  {
    title: 'Gate a form',
    paths: [
      ...inFolder('quickstart', 'site-owner'),
      ...inFolder(
        'guides',
        'check tag-check siteverify migrate-recaptcha migrate-hcaptcha migrate-turnstile devices',
      ),
    ],
  },
  {
    title: 'Count people',
    paths: [...inFolder('quickstart', 'member'), ...inFolder('guides', 'members wallets onchain presence')],
  },
  {
    title: 'Buy human work',
    paths: [
      ...inFolder('quickstart', 'buyer agent-builder'),
      ...inFolder(
        'guides',
        'ask-human work buy keyless-orders mcp discovery partners index-vhh index-methodology forwards',
      ),
    ],
  },
  {
    title: 'Prove attention',
    paths: inFolder('guides', 'sessions tracking visits attention tasks'),
  },
  {
    title: 'Verify credentials',
    paths: [
      ...inFolder('quickstart', 'relying-party'),
      ...inFolder('guides', 'verify verify-python-go forging bind'),
    ],
  },
  {
    title: 'Keys, credits and events',
    paths: inFolder('guides', 'sandbox keys accounts console credits lists webhooks'),
  },
  {
    title: 'Reference',
    paths: inFolder(
      'reference',
      'api endpoints errors/README events cli settings metrics telemetry status-lists forging words master-key',
    ),
  },
  {
    title: 'Operators',
    paths: [
      ...inFolder('quickstart', 'operator'),
      ...inFolder(
        'operate',
        'install operations checklist containers systemd high-availability scale clickhouse keys master-key backup restore upgrade release support branding issuers observability runbooks budgets faults',
      ),
    ],
  },
  {
    title: 'Auditors',
    paths: [
      ...inFolder('quickstart', 'auditor'),
      ...inFolder('operate', 'threat-model abuse-cases'),
      ...inFolder('evidence', 'scoring motion replay arena price approval-attacks'),
      'docs/guides/arena.md',
      'docs/reports',
    ],
  },
  {
    title: 'Workers and approvers',
    paths: [...inFolder('quickstart', 'worker'), ...inFolder('guides', 'workers approve-page')],
  },
  {
    title: 'Contributors',
    paths: [
      'CONTRIBUTING.md',
      'ARCHITECTURE.md',
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
