import type { Api } from '../../shared/api/client.ts'
import type { ApprovalReport } from '../wire.ts'

/** Saves the evidence pack of the period that is shown. */
export const downloadPack = async (
  api: Pick<Api, 'text'>,
  { from, to }: Pick<ApprovalReport, 'from' | 'to'>,
  format: 'json' | 'html',
): Promise<void> => {
  const query = new URLSearchParams({ from, to, format })
  const text = await api.text(`/api/agents/approval-report/pack?${query.toString()}`)
  const type = format === 'json' ? 'application/json' : 'text/html'
  const url = URL.createObjectURL(new Blob([text], { type }))
  const link = document.createElement('a')
  link.href = url
  link.download = `approvals.${format}`
  link.click()
  URL.revokeObjectURL(url)
}
