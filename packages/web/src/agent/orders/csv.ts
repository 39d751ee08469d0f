import type { Order } from '@pohf/protocol'
import type { Api } from '../../shared/api/client.ts'

/** The most units that one answer holds. */
const pageMax = 1_000

/** Every unit of an order in one file. Units are numbered from 1, so the pages are known beforehand. */
export const downloadCsv = async (api: Api, order: Order): Promise<void> => {
  const path = `/api/agents/orders/${encodeURIComponent(order.orderId)}/results`
  const pages: string[] = []
  for (let after = 0; after < order.quantity; after += pageMax) {
    const text = await api.text(`${path}?format=csv&limit=${pageMax}&after=${after}`)
    // Every page has the header row; the file has it once.
    pages.push(after === 0 ? text : text.slice(text.indexOf('\n') + 1))
  }
  const url = URL.createObjectURL(new Blob(pages, { type: 'text/csv' }))
  const link = document.createElement('a')
  link.href = url
  link.download = `${order.orderId}.csv`
  link.click()
  URL.revokeObjectURL(url)
}
