import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { apiDocuments } from './api/pages.ts'
import {
  listFiles,
  readDocuments,
  readText,
  repositoryRoot,
  documentTitleOf,
  type Document,
} from './documents.ts'
import { folderDocuments } from './folders.ts'
import { pageOf, type Site } from './layout.ts'
import { renderMarkdown, type RenderedPage, type Resolve } from './markdown.ts'
import { checkMenu, menuPathOf, neighboursOf, sections } from './menu.ts'
import { searchIndexOf } from './search-index.ts'

/** Decisions and reports are found by their titles and headings. */
const briefPath = /^docs\/(decisions|reports)\/|^CHANGELOG/

const sectionOf = (path: string): string =>
  sections.find(({ paths }) => paths.includes(menuPathOf(path) ?? ''))?.title ?? 'Documentation'

/** The first paragraph, shortened, for lists of search engines. */
const descriptionOf = ({ parts }: RenderedPage): string => {
  const text = parts.map((part) => part.text).find((part) => part.trim() !== '') ?? ''
  return text.length <= 160 ? text.trim() : `${text.slice(0, 157).replace(/\s+\S*$/, '')} …`
}

/** Links to the OpenAPI document lead to the one that the service serves. */
const makeResolve = (documents: readonly Document[], files: readonly string[]): Resolve => {
  const addresses = new Map(documents.map(({ path, address }) => [path, address]))
  for (const { path, address } of documents)
    if (path.endsWith('/README.md')) addresses.set(path.slice(0, -'/README.md'.length), address)
  for (const file of files) addresses.set(file, `/${file}`)
  addresses.set('docs/openapi.json', '/openapi.json')
  return (path) => {
    if (path.startsWith('..') || !existsSync(join(repositoryRoot, path)))
      return addresses.get(path) ?? addresses.get(path.replace(/\.md$/, ''))
    return addresses.get(path)
  }
}

export type BuiltFile = { readonly name: string; readonly text: string }

/** The name of the file of a page: `/docs` is index.html. */
const fileNameOf = (address: string): string =>
  address === '/docs' ? 'index.html' : `${address.slice('/docs/'.length)}.html`

const hashOf = (text: string): string => createHash('sha256').update(text).digest('base64url').slice(0, 8)

/** Every document of the site, written and generated. */
const allDocuments = (): Document[] => {
  const written = readDocuments()
  const introduction = written.find(({ path }) => path === 'docs/reference/api.md')
  if (!introduction) throw new Error('docs/reference/api.md is not there')
  const documents = [
    ...written.filter((document) => document !== introduction),
    ...apiDocuments(introduction),
  ]
  return [...documents, ...folderDocuments(documents)]
}

/** The pages that the service offers to programs, as they are written: HTML would cost a model several times the tokens. */
const programPages = (documents: readonly Document[]): string =>
  JSON.stringify(
    documents
      .filter(({ path }) => /^docs\/(guides|quickstart)\/.+\.md$/.test(path))
      .map((document) => ({
        path: document.address.slice('/docs/'.length),
        title: documentTitleOf(document),
        text: document.markdown,
      })),
  )

/** Every page and file of the site except scripts and styles, whose addresses the pages need. */
export const buildSite = (assets: Pick<Site, 'script' | 'style'>): BuiltFile[] => {
  const documents = allDocuments()
  checkMenu(documents)
  const files = listFiles()
  const resolve = makeResolve(documents, files)
  const titles = new Map(documents.map((document) => [document.path, documentTitleOf(document)]))
  const pages = documents.map((document) => ({
    ...document,
    title: documentTitleOf(document),
    rendered: renderMarkdown(document.markdown, document.path, resolve),
  }))
  const index = searchIndexOf(
    pages.map(({ path, address, title, rendered }) => ({
      address,
      title,
      rendered,
      section: sectionOf(path),
      isBrief: briefPath.test(path),
    })),
  )
  const indexName = `assets/search-${hashOf(index)}.json`
  const site: Site = { ...assets, titles, index: `/docs/${indexName}` }
  return [
    { name: indexName, text: index },
    { name: 'pages.json', text: programPages(documents) },
    ...files.map((file) => ({ name: file.slice('docs/'.length), text: readText(file) })),
    ...pages.map(({ path, address, title, rendered }) => ({
      name: fileNameOf(address),
      text: pageOf(
        {
          path,
          title: path === 'docs/README.md' ? 'Documentation' : title,
          description: descriptionOf(rendered),
          html: rendered.html,
          headings: rendered.headings,
          neighbours: neighboursOf(path, documents),
        },
        site,
      ),
    })),
  ]
}
