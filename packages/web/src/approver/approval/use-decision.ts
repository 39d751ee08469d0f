import { decisionChallenge } from '@pohf/verify/approvals'
import { useRef, useState } from 'preact/hooks'
import { assertPasskey } from '../../shared/api/passkey.ts'
import { ApiError, toApiError } from '../../shared/person/api.ts'
import { approvalPath, call } from '../api.ts'
import type { Approval, DecisionOptions, DecisionResult } from '../wire.ts'

/** Scoring takes a second or two; a busy service gets a minute before the person is asked. */
const attemptsMax = 40
const retryDelayMs = 1_500
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

export type Decision = 'approve' | 'deny'
export type Step = 'finish' | 'options' | 'passkey' | 'decide'
type Statement = {
  readonly decision: Decision
  readonly viewHash: string
  readonly sessionId: string | undefined
}

/** Retries until the recording has been scored. */
const fetchOptions = async (approval: Approval, statement: Statement): Promise<DecisionOptions> => {
  for (let tries = 1; ; tries += 1)
    try {
      return await call<DecisionOptions>('POST', `${approvalPath(approval.approvalId)}/options`, statement)
    } catch (error) {
      const { code } = toApiError(error)
      if ((code !== 'session_not_ready' && code !== 'rate_limited') || tries >= attemptsMax) throw error
      await pause(code === 'rate_limited' ? 4 * retryDelayMs : retryDelayMs)
    }
}

/** The device signs only what this page computes from what it shows. */
const requireOwnChallenge = async (
  { envelopeHash, approver }: Approval,
  { decision, viewHash }: Statement,
  { publicKey, nonce, telemetryLink }: DecisionOptions,
): Promise<void> => {
  const challenge = await decisionChallenge({
    envelopeHash,
    viewHash,
    decision,
    approver,
    nonce,
    telemetryLink,
  })
  if (publicKey['challenge'] !== challenge) throw new ApiError('challenge_mismatch', '')
}

const sign = (publicKey: DecisionOptions['publicKey']) => {
  if (!('PublicKeyCredential' in globalThis)) throw new ApiError('unsupported', '')
  return assertPasskey(publicKey).catch(() => {
    throw new ApiError('cancelled', '')
  })
}

/** The recording was finished and cannot be used: another one is needed. */
const isSpentBy = ({ code, details }: ApiError): boolean =>
  code === 'session_rejected' ||
  code === 'session_expired' ||
  details.some((one) => ['too_fast', 'recording_of_other_act', 'recording_too_old'].includes(one.code ?? ''))

/** What another attempt without the recording would meet again. */
const finalCodes = ['approval_conflict', 'cancelled', 'challenge_mismatch', 'sign_in_required', 'unsupported']

type DecisionProps = {
  readonly approval: Approval
  readonly viewHash: string
  /** Ends the recording; undefined where there is none. */
  readonly finish: () => Promise<{ readonly sessionId: string }> | undefined
  readonly onDecided: () => void
  /** The finished recording cannot be used. */
  readonly onSpent: () => void
}

/** From the press of a button to the decision. A finished recording is kept until a decision has used it. */
export const useDecision = ({ approval, viewHash, finish, onDecided, onSpent }: DecisionProps) => {
  const [step, setStep] = useState<Step>()
  const [failed, setFailed] = useState<ApiError>()
  const [sessionId, setSessionId] = useState<string>()
  const kept = useRef<string>(undefined)
  const keep = (id: string | undefined) => {
    kept.current = id
    setSessionId(id)
  }

  const send = async (decision: Decision, words: string, recording: string | undefined): Promise<void> => {
    const statement = { decision, viewHash, sessionId: recording }
    setStep('options')
    const options = await fetchOptions(approval, statement)
    await requireOwnChallenge(approval, statement, options)
    setStep('passkey')
    const credential = await sign(options.publicKey)
    setStep('decide')
    await call<DecisionResult>('POST', `${approvalPath(approval.approvalId)}/decide`, {
      nonce: options.nonce,
      credential,
      ...(words === '' ? {} : { words }),
    })
  }
  const decide = async (decision: Decision, words = '', usesRecording = true): Promise<void> => {
    setFailed(undefined)
    try {
      if (usesRecording && kept.current === undefined) {
        setStep('finish')
        keep((await finish())?.sessionId)
      }
      await send(decision, words, usesRecording ? kept.current : undefined)
      onDecided()
    } catch (error) {
      const failure = toApiError(error)
      const isSpent = kept.current !== undefined && isSpentBy(failure)
      if (isSpent) keep(undefined)
      // No attention is needed to deny.
      if (decision === 'deny' && usesRecording && !finalCodes.includes(failure.code))
        return decide(decision, words, false)
      // The request has changed its state meanwhile: its own page shows the new one.
      if (failure.code === 'approval_conflict') onDecided()
      if (isSpent) onSpent()
      setFailed(failure)
    } finally {
      setStep(undefined)
    }
  }
  return { step, failed, isRecorded: sessionId !== undefined, decide }
}
