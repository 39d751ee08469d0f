import { pageAddressOf, documentTitleOf, type Document } from './documents.ts'
import { sections } from './menu.ts'

const linkTo = (document: Document, base: string): string =>
  `- [${documentTitleOf(document)}](${document.path.slice(base.length + 1)})`

const reportsPage = (documents: readonly Document[]): string => {
  const reports = documents.filter(({ path }) => path.startsWith('docs/reports/')).toReversed()
  return `# Reports

Dated reports of benchmarks and batteries, the newest first. Each names the command that made it. A report is not changed later, so
names and figures in it are those of its day.

${reports.map((report) => linkTo(report, 'docs/reports')).join('\n')}
`
}

/** A list of a folder's pages, in the order of the menu. */
const folderPage = (folder: string, title: string, documents: readonly Document[]): string => {
  const byPath = new Map(documents.map((document) => [document.path, document]))
  const lists = sections.flatMap((section) => {
    const found = section.paths.flatMap((path) => byPath.get(path) ?? [])
    const own = found.filter(({ path }) => path.startsWith(`docs/${folder}/`))
    return own.length === 0
      ? []
      : [`## ${section.title}\n\n${own.map((document) => linkTo(document, `docs/${folder}`)).join('\n')}`]
  })
  return `# ${title}\n\n${lists.join('\n\n')}\n`
}

const folders = {
  guides: 'Guides',
  operate: 'Operate a deployment',
  reference: 'Reference',
  evidence: 'Evidence',
}

/** Pages for the folders of docs that have no README. */
export const folderDocuments = (documents: readonly Document[]): Document[] => [
  { path: 'docs/reports', address: pageAddressOf('docs/reports'), markdown: reportsPage(documents) },
  ...Object.entries(folders).map(([folder, title]) => ({
    path: `docs/${folder}`,
    address: pageAddressOf(`docs/${folder}`),
    markdown: folderPage(folder, title, documents),
  })),
]
