// What every client does: a scripted model calls the tool `pay` once, and then says something.
import { createClient } from '../../../packages/sdk/src/index.ts'

const { BASE_URL, API_KEY, APPROVER, TIMEOUT_MS = '60000' } = process.env
if (!BASE_URL || !API_KEY || !APPROVER) throw new Error('BASE_URL, API_KEY or APPROVER is not set')

export const input = { amount: '120.00', to: 'DE02120300000000202051' }
export const options = {
  client: createClient({ baseUrl: BASE_URL, apiKey: API_KEY }),
  type: 'test.invoice_pay',
  approvers: [APPROVER],
  quorum: 1,
  timeoutMs: Number(TIMEOUT_MS),
  allowTest: true,
}

const ran = []
/** The tool itself. It changes what it was given, where it can. */
export const pay = (payment) => {
  ran.push({ ...payment })
  return `paid ${payment.amount}`
}

/** What the model was told about its call, for the runner. */
export const report = (told) => console.log(JSON.stringify({ ran, told: String(told) }))
