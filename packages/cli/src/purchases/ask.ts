import { setTimeout as sleep } from 'node:timers/promises'
import { agentCall, type AgentRemote } from '../command/agent.ts'
import { UsageError } from '../command/errors.ts'
import { exitCodes } from '../command/exit-codes.ts'
import { readText } from '../command/files.ts'
import { printAnswer } from '../command/output.ts'

const pollMs = 2_000

type Question = {
  readonly questionId: string
  readonly status: string
  readonly priceUsd: number
  readonly checkoutUrl: string | null
  readonly deadline: string
  readonly expectedSeconds: number | null
  readonly answer: unknown
  readonly credential: { readonly credentialId: string } | null
}
type AskOptions = AgentRemote & {
  readonly budget: string
  readonly schema?: string
  readonly deadline?: string
  readonly simulate?: true
  readonly wait?: true
  readonly pay?: string
  readonly keyFile?: string
  readonly network?: string
  readonly payTo?: string
  readonly idempotencyKey?: string
}

const parseSchema = (file: string): unknown => {
  try {
    return JSON.parse(readText(file))
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error
    throw new UsageError('The schema is no JSON.', `Correct ${file}.`)
  }
}
const budgetOf = (text: string): number => {
  const value = text.trim() === '' ? Number.NaN : Number(text)
  if (Number.isNaN(value)) throw new UsageError('--budget must be a number.', 'Correct --budget.')
  return value
}

const isWaiting = ({ status }: Question): boolean => ['unpaid', 'queued', 'claimed'].includes(status)

const print = (options: AgentRemote, question: Question): void =>
  printAnswer(options, question, () => {
    console.log(`Question ${question.questionId}: ${question.status}, ${question.priceUsd} USD`)
    if (question.credential) {
      console.log(`  answer      ${JSON.stringify(question.answer)}`)
      console.log(`  credential  ${question.credential.credentialId}`)
      return
    }
    console.log(`  deadline    ${question.deadline}`)
    if (question.expectedSeconds !== null) console.log(`  usually     ${question.expectedSeconds} s`)
    if (question.checkoutUrl !== null) console.log(`\nA person must pay it:\n\n  ${question.checkoutUrl}`)
  })

const readQuestion = (remote: AgentRemote, questionId: string): Promise<Question> =>
  agentCall<Question>(remote, 'GET', `/api/agents/questions/${encodeURIComponent(questionId)}`)

/** Reads until there is an answer, or none can come any more: the deadline ends every question. */
const waitFor = async (remote: AgentRemote, asked: Question): Promise<Question> => {
  let question = asked
  while (isWaiting(question)) {
    await sleep(pollMs)
    question = await readQuestion(remote, asked.questionId)
  }
  return question
}

const checkPay = ({ pay, simulate }: AskOptions): void => {
  if (pay !== undefined && pay !== 'x402') throw new UsageError('--pay must be x402.', 'Correct --pay.')
  if (pay !== undefined && simulate)
    throw new UsageError('--simulate answers a question that nobody pays.', 'Leave --pay or --simulate out.')
}

/**
 * Pays a question that waits for its payment. It is read first: with an --idempotency-key the answer to the call that asks
 * is that of the first one, which was unpaid. False where the payment failed.
 */
const payUnpaid = async (options: AskOptions, questionId: string): Promise<boolean> => {
  const question = await readQuestion(options, questionId)
  if (question.status !== 'unpaid') return true
  const { payQuestion } = await import('./buy.ts')
  return payQuestion(question, options)
}

/** `pohf ask`. */
export const ask = async (text: string, options: AskOptions): Promise<void> => {
  const { idempotencyKey, schema, deadline, pay } = options
  checkPay(options)
  const asked = await agentCall<Question>(options, 'POST', '/api/agents/questions', {
    idempotencyKey,
    body: {
      question: text,
      budgetUsd: budgetOf(options.budget),
      ...(schema === undefined ? {} : { answerSchema: parseSchema(schema) }),
      ...(deadline === undefined ? {} : { deadline }),
      ...(options.simulate ? { simulate: true } : {}),
      ...(pay === undefined ? {} : { payWith: pay }),
    },
  })
  if (options.wait && asked.checkoutUrl !== null) console.error(`A person must pay: ${asked.checkoutUrl}`)
  if (pay !== undefined && !(await payUnpaid(options, asked.questionId))) return
  const question = options.wait
    ? await waitFor(options, asked)
    : pay === undefined
      ? asked
      : await readQuestion(options, asked.questionId)
  print(options, question)
  if (['expired', 'cancelled', 'refunded'].includes(question.status)) process.exitCode = exitCodes.refused
}

/** `pohf question`. */
export const read = async (questionId: string, remote: AgentRemote): Promise<void> =>
  print(remote, await readQuestion(remote, questionId))
