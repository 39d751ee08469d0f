import { readEnvelope, verifyApproval, type ActionType } from '@pohf/verify/approvals'
import { PohfError } from '../error.ts'
import { PohfUnreachable } from '../send.ts'
import { readAnswer, type ApprovalAnswer } from './answer.ts'
import {
  ApprovalDenied,
  ApprovalError,
  ApprovalExpired,
  ApprovalNotVerified,
  ApprovalUnavailable,
} from './errors.ts'
import { copyOf, requireGuardOptions, settingsOf, type Action, type GuardOptions } from './options.ts'

/** One call of a guarded tool. */
type Call = {
  readonly options: GuardOptions
  readonly action: Action
  readonly approvers: readonly string[]
  readonly requestId: string
  readonly deadline: number
}

const firstPollMs = 250
const lastPollMs = 10_000
const lastRequestMs = 1_000
const consumeMs = 30_000
/** The service gives people at least a minute; a caller with less time gives up before them. */
const decideMsMin = 90_000
/** How far the clock of the service may be behind. */
const leewayAttempts = 60

/** Ends a request when the caller gives up or its time is over. */
const within = (ms: number, { signal }: GuardOptions): { readonly signal: AbortSignal } => {
  const timeout = AbortSignal.timeout(Math.max(lastRequestMs, ms))
  return { signal: signal ? AbortSignal.any([signal, timeout]) : timeout }
}

const pause = (ms: number, signal: AbortSignal | undefined): Promise<void> =>
  new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', end)
      resolve()
    }
    const timer = setTimeout(end, ms)
    signal?.addEventListener('abort', end, { once: true })
    if (signal?.aborted) end()
  })

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))
/** A failure that may be over at the next attempt. */
const isTemporary = (error: unknown): boolean =>
  error instanceof PohfUnreachable || (error instanceof PohfError && error.retryable)

const approversOf = async (options: GuardOptions): Promise<readonly string[]> => {
  if (options.approvers !== undefined) return [...options.approvers]
  const answer: unknown = await options.client.approvals.groupsList({}, within(options.timeoutMs, options))
  const { groups } = (answer ?? {}) as { groups?: readonly { name: unknown; approvers: unknown }[] }
  const members = Array.isArray(groups)
    ? groups.find(({ name }) => name === options.group)?.approvers
    : undefined
  if (!Array.isArray(members) || new Set(members).size < options.quorum)
    throw new ApprovalUnavailable(`The group ${options.group} has too few people for the quorum.`)
  return members as string[]
}

const request = async ({
  options,
  action,
  approvers,
  requestId,
  deadline,
}: Call): Promise<ApprovalAnswer> => {
  const { client, type, audience, group, quorum, policy, words, timeoutMs } = options
  const raised = { ...policy, ...(quorum > 1 ? { quorum } : {}) }
  return readAnswer(
    await client.approvals.create(
      {
        type,
        action,
        requestId,
        // With a reference of the caller a repeat must be the same request, so the service sets the time.
        ...(options.requestId
          ? {}
          : { decideBy: new Date(Math.max(deadline, Date.now() + decideMsMin)).toISOString() }),
        ...(group === undefined ? { approvers: [...approvers] } : { group }),
        ...(audience === undefined ? {} : { audience }),
        ...(Object.keys(raised).length === 0 ? {} : { policy: raised }),
        ...words?.(action),
      },
      within(timeoutMs, options),
    ),
  )
}

const read = async ({ options, deadline }: Call, approvalId: string): Promise<ApprovalAnswer> => {
  const answer = readAnswer(
    await options.client.approvals.read({ approvalId }, within(deadline - Date.now(), options)),
  )
  if (answer.approvalId !== approvalId)
    throw new ApprovalNotVerified('wrong_answer', 'The service answered with another approval.', approvalId)
  return answer
}

/** When an approval can be consumed; never, while it is not approved. */
const consumableAtOf = ({ status, consumableAt }: ApprovalAnswer): number =>
  status === 'approved' ? Date.parse(consumableAt ?? '') || 0 : Infinity

/** Reads the approval until it is decided and its delay is over. */
const awaitDecision = async (call: Call, first: ApprovalAnswer): Promise<ApprovalAnswer> => {
  const { options, deadline } = call
  let answer = first
  for (let pollMs = firstPollMs; ; pollMs = Math.min(lastPollMs, pollMs * 1.5)) {
    const isPending = answer.status === 'pending'
    if (!isPending && answer.status !== 'approved') return answer
    const now = Date.now()
    const readyInMs = consumableAtOf(answer) - now
    if (readyInMs <= 0) return answer
    const isLast = isPending && now >= deadline
    await pause(
      Math.max(0, Math.min(pollMs, readyInMs, isPending ? deadline - now : Infinity)),
      options.signal,
    )
    options.signal?.throwIfAborted()
    try {
      answer = await read(call, first.approvalId)
    } catch (error) {
      // While time remains, a service that is away may come back. A delay that is over ends the loop.
      if (!isTemporary(error) || isLast) throw error
    }
    if (isLast && answer.status === 'pending')
      throw new ApprovalExpired('Nobody decided in time.', first.approvalId)
  }
}

const requireApproved = ({ status, decisions, approvalId }: ApprovalAnswer): void => {
  const denial = decisions.find(({ decision }) => decision !== 'approve')
  if (status === 'denied' || denial) throw new ApprovalDenied(denial?.words ?? null, approvalId)
  if (status === 'expired') throw new ApprovalExpired('The approval has expired.', approvalId)
  if (status !== 'approved')
    throw new ApprovalNotVerified('not_consumed', `The approval is ${status.slice(0, 32)}.`, approvalId)
}

/** Verifies the answer of the service against the requirements of the caller. Returns the hash of the approved envelope. */
const verify = async (call: Call, answer: ApprovalAnswer): Promise<string> => {
  const { options, action, approvers, requestId } = call
  const { approvalId } = answer
  const envelope = readEnvelope(answer.envelope)
  if (envelope?.requestId !== requestId)
    throw new ApprovalNotVerified('wrong_answer', 'The approval is of another request.', approvalId)
  const result = await verifyApproval(
    answer.decisions.flatMap(({ pohf_jwt }) => pohf_jwt ?? []),
    {
      issuer: options.issuer ?? options.client.baseUrl,
      jwks: options.jwks,
      status: 'require',
      envelope,
      definition: answer.definition as ActionType | null,
      // Without an audience of the caller it is the agent of the key: only that key can consume.
      audience: options.audience ?? envelope.audience,
      type: options.type,
      action,
      approvers,
      quorum: options.quorum,
      minAssurance: options.minAssurance,
      minQuality: options.minQuality,
      minKeyAgeSeconds: options.minKeyAgeSeconds,
      allowTest: options.allowTest,
    },
  )
  if (!result.ok) throw new ApprovalNotVerified(result.reason, result.message, approvalId)
  if (result.approvalId !== approvalId)
    throw new ApprovalNotVerified('wrong_approval', 'The credentials are of another approval.', approvalId)
  return result.envelopeHash
}

/** By the clock of the service the delay may end a little later than by ours. */
const consumeAfterDelay = async (
  options: GuardOptions,
  input: { readonly approvalId: string; readonly envelopeHash: string },
): Promise<unknown> => {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await options.client.approvals.consume(input, within(consumeMs, options))
    } catch (error) {
      const isEarly = error instanceof PohfError && error.details.some(({ code }) => code === 'delay')
      if (!isEarly || attempt >= leewayAttempts) throw error
      await pause(1_000, options.signal)
      options.signal?.throwIfAborted()
    }
  }
}

const consume = async (call: Call, approvalId: string, envelopeHash: string): Promise<void> => {
  const { options } = call
  let answer: ApprovalAnswer
  try {
    answer = readAnswer(await consumeAfterDelay(options, { approvalId, envelopeHash }))
  } catch (error) {
    if (!(error instanceof PohfError) || error.status !== 409) throw error
    // Somebody may have denied it in its delay, which is worth knowing.
    requireApproved(await read(call, approvalId))
    throw new ApprovalNotVerified('not_consumed', error.message, approvalId, { cause: error })
  }
  if (
    answer.approvalId !== approvalId ||
    answer.envelopeHash !== envelopeHash ||
    answer.status !== 'consumed'
  )
    throw new ApprovalNotVerified('not_consumed', 'The service did not consume this approval.', approvalId)
}

/** Asks, waits, verifies and consumes. Returns the arguments that were approved, or throws. */
export const obtainApproval = async (options: GuardOptions, input: unknown): Promise<Action> => {
  const action = copyOf(input)
  let approvalId: string | undefined
  try {
    options.signal?.throwIfAborted()
    const call: Call = {
      options,
      action,
      approvers: await approversOf(options),
      requestId: options.requestId?.(action) ?? crypto.randomUUID(),
      deadline: Date.now() + options.timeoutMs,
    }
    const first = await request(call)
    approvalId = first.approvalId
    const answer = await awaitDecision(call, first)
    requireApproved(answer)
    const envelopeHash = await verify(call, answer)
    options.signal?.throwIfAborted()
    await consume(call, approvalId, envelopeHash)
    return action
  } catch (error) {
    options.signal?.throwIfAborted()
    if (error instanceof ApprovalError) throw error
    throw new ApprovalUnavailable(`No approval could be obtained: ${messageOf(error)}`, approvalId, {
      cause: error,
    })
  }
}

/**
 * A tool that runs only after people approved exactly its arguments, once. The arguments are copied when the tool is called:
 * what is approved is what runs. Throws an ApprovalError where the tool must not run.
 */
export const guard = <Input extends object, Output>(
  run: (input: Input) => Output | Promise<Output>,
  options: GuardOptions,
): ((input: Input) => Promise<Output>) => {
  const settings = settingsOf(options)
  requireGuardOptions(settings)
  return async (input, ...more: readonly unknown[]) => {
    if (more.length > 0)
      throw new TypeError('A guarded tool takes one object: nobody would approve the rest.')
    return await run((await obtainApproval(settings, input)) as Input)
  }
}
