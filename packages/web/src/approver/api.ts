import { callService } from '../shared/person/api.ts'

/** A call of the approver's part of the service. */
export const call = <T>(method: 'GET' | 'POST', path: string, body?: unknown): Promise<T> =>
  callService<T>(method, `/api/approve/${path}`, body)

export const approvalPath = (approvalId: string): string => `approvals/${encodeURIComponent(approvalId)}`
