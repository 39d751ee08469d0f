import type { Api } from '../../shared/api/client.ts'

/** The most views of one answer, and of one file: a page of the console holds them in memory while it makes the file. */
const pageMax = 10_000
export const fileMax = 200_000

/** The views since this time in one file, oldest first, page by page. Returns whether it is all of them. */
export const downloadViews = async (
  api: Pick<Api, 'page'>,
  since: string,
  onProgress: (pages: number) => void,
): Promise<boolean> => {
  const parts: string[] = []
  let cursor: string | undefined
  let pages = 0
  do {
    const query = new URLSearchParams({ since, format: 'csv', limit: String(pageMax) })
    if (cursor !== undefined) query.set('cursor', cursor)
    const { text, nextCursor } = await api.page(`/api/agents/metrics?${query.toString()}`)
    // Every page has the header row; the file has it once.
    parts.push(cursor === undefined ? text : text.slice(text.indexOf('\n') + 1))
    pages += 1
    onProgress(pages)
    cursor = nextCursor
  } while (cursor !== undefined && pages * pageMax < fileMax)
  const url = URL.createObjectURL(new Blob(parts, { type: 'text/csv' }))
  const link = document.createElement('a')
  link.href = url
  link.download = 'views.csv'
  link.click()
  URL.revokeObjectURL(url)
  return cursor === undefined
}
