import { randomUUID } from 'node:crypto'
import type { Approval } from '@pohf/protocol'
import { jsonTextFault } from '@pohf/verify/approvals'
import { agentCall, type AgentRemote } from '../command/agent.ts'
import { UsageError } from '../command/errors.ts'
import { exitCodes } from '../command/exit-codes.ts'
import { readText } from '../command/files.ts'
import { printAnswer, tableOf } from '../command/output.ts'
import { withProgress } from '../command/progress.ts'
import { decisionLines, viewLines, viewOf } from './view.ts'

const pathOf = (approvalId: string, rest = '') =>
  `/api/agents/approvals/${encodeURIComponent(approvalId)}${rest}`

/** The text of an action. It is sent as it was written, so that a key that is there twice or a number that is rounded is refused and not lost. */
export const readAction = (file: string): unknown => {
  const text = readText(file)
  let action: unknown
  try {
    action = JSON.parse(text)
  } catch (error) {
    throw new UsageError(`${file} is not JSON.`, 'Check the file with: jq . FILE', error)
  }
  const fault = jsonTextFault(text)
  if (fault)
    throw new UsageError(`${file} ${fault.message}.`, 'Correct the file: programs read it differently.')
  return action
}

export const numberOf = (text: string, name: string): number => {
  const value = text.trim() === '' ? Number.NaN : Number(text)
  if (!Number.isSafeInteger(value) || value < 1)
    throw new UsageError(`${name} must be a whole number of 1 or more.`, `Correct ${name}.`)
  return value
}

const print = (remote: AgentRemote, approval: Approval): void =>
  printAnswer(remote, approval, () => {
    const view = viewOf(approval)
    console.log(`${approval.approvalId}  ${approval.status}${approval.mode === 'test' ? '  test' : ''}\n`)
    console.log(view ? viewLines(view).join('\n') : 'The envelope is not readable.')
    if (approval.decisions.length > 0) console.log(`Decisions:\n${decisionLines(approval).join('\n')}`)
    console.log(`\nEnvelope hash: ${approval.envelopeHash}`)
  })

type RequestOptions = AgentRemote & {
  readonly action: string
  readonly approvers?: string
  readonly group?: string
  readonly quorum?: string
  readonly audience?: string
  readonly requestId?: string
  readonly decideBy?: string
  readonly title?: string
  readonly summary?: string
}

/** `pohf approvals request`. */
export const request = async (type: string, options: RequestOptions): Promise<void> => {
  const { approvers, group, quorum, audience, decideBy, title, summary } = options
  if ((approvers === undefined) === (group === undefined))
    throw new UsageError(
      'Give --approvers or --group, and not both.',
      'List them: GET /api/agents/approvers.',
    )
  const body = {
    type,
    action: readAction(options.action),
    requestId: options.requestId ?? randomUUID(),
    ...(approvers === undefined ? { group } : { approvers: approvers.split(',') }),
    ...(quorum === undefined ? {} : { policy: { quorum: numberOf(quorum, '--quorum') } }),
    audience,
    decideBy,
    title,
    summary,
  }
  const approval = await agentCall<Approval>(options, 'POST', '/api/agents/approvals', { body })
  print(options, approval)
  if (!options.json && approval.status === 'pending')
    console.log(`Wait: pohf approve ${approval.approvalId} --wait 600`)
}

type ListedApproval = {
  readonly approvalId: string
  readonly status: string
  readonly type: string
  readonly requestId: string
  readonly createdAt: string
  readonly decideBy: string
  readonly approved: number
  readonly quorum: number
}
type ListOptions = AgentRemote & {
  readonly status?: string
  readonly type?: string
  readonly limit: string
  readonly cursor?: string
}

/** `pohf approvals list`. */
export const list = async (options: ListOptions): Promise<void> => {
  const { status, type, limit, cursor } = options
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries({ status, type, limit, cursor }))
    if (value !== undefined) query.set(name, value)
  const answer = await agentCall<{ approvals: ListedApproval[]; nextCursor: string | null }>(
    options,
    'GET',
    `/api/agents/approvals?${query.toString()}`,
  )
  printAnswer(options, answer, () => {
    if (answer.approvals.length === 0) console.log('No approval. Ask for one: pohf approvals request --help')
    else
      console.log(
        tableOf(
          ['CREATED', 'APPROVAL', 'STATUS', 'APPROVED', 'TYPE', 'REQUEST', 'DECIDE BY'],
          answer.approvals.map((row) => [
            row.createdAt,
            row.approvalId,
            row.status,
            `${row.approved} of ${row.quorum}`,
            row.type,
            row.requestId,
            row.decideBy,
          ]),
        ),
      )
    if (answer.nextCursor !== null) console.log(`\nThere are more: --cursor ${answer.nextCursor}`)
  })
}

const read = (remote: AgentRemote, approvalId: string): Promise<Approval> =>
  agentCall<Approval>(remote, 'GET', pathOf(approvalId))

/** `pohf approvals show`. */
export const show = async (approvalId: string, remote: AgentRemote): Promise<void> =>
  print(remote, await read(remote, approvalId))

/** `pohf approvals consume`. */
export const consume = async (
  approvalId: string,
  options: AgentRemote & { readonly envelopeHash: string },
): Promise<void> => {
  const body = { envelopeHash: options.envelopeHash }
  const approval = await agentCall<Approval>(options, 'POST', pathOf(approvalId, '/consume'), { body })
  printAnswer(options, approval, () => console.log(`Consumed: ${approval.approvalId}. Act now, once.`))
}

const pollMs = 2_000

const awaitDecision = async (remote: AgentRemote, approvalId: string, seconds: number): Promise<Approval> => {
  const deadline = performance.now() + seconds * 1_000
  for (;;) {
    const approval = await read(remote, approvalId)
    const restMs = deadline - performance.now()
    if (approval.status !== 'pending' || restMs <= 0) return approval
    await new Promise((resolve) => setTimeout(resolve, Math.min(pollMs, restMs)))
  }
}

const exitCodeOf = (status: Approval['status']): number => {
  if (status === 'approved' || status === 'consumed') return exitCodes.done
  return status === 'pending' ? exitCodes.open : exitCodes.refused
}

/** `pohf approve`: shows and waits. Only the page has the passkey and the recording that a decision needs. */
export const approve = async (
  approvalId: string,
  options: AgentRemote & { readonly wait?: string },
): Promise<void> => {
  const seconds = options.wait === undefined ? 0 : numberOf(options.wait, '--wait')
  let approval = await read(options, approvalId)
  const url = new URL(`/approve/${encodeURIComponent(approvalId)}`, options.url).href
  if (approval.status === 'pending' && !options.json) {
    print(options, approval)
    console.log(
      `\nA terminal cannot decide: a decision needs the passkey of the approver and a recording of the page.\nDecide here:\n\n  ${url}\n`,
    )
  }
  if (seconds > 0)
    approval = await withProgress('waiting for the decision', () =>
      awaitDecision(options, approvalId, seconds),
    )
  if (approval.status !== 'pending' || options.json) print(options, approval)
  process.exitCode = exitCodeOf(approval.status)
}
